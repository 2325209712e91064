"""Claims about h5bucket: touch and acl; what access lists deny.  Run by tool.py."""
import json, time

from bed import fails, fails_without, ok


def test_touch_makes_folders(b):
    a = b.new()
    fails(b.run("touch", a + "/b/c"), "-p")
    ok(b.run("touch", "-p", "-o", "joe", a + "/b/c"))
    got = b.json("acl", a + "/b/c")
    assert got["owner"] == "joe" and all(got["acls"]["joe"].values())
    assert [k for k, v in got["acls"]["default"].items() if v] == ["read"]
    before = b.json("ls", a + "/b")[0]["entries"][0]["modified"]
    time.sleep(0.01)
    ok(b.run("touch", a + "/b/c"))
    after = b.json("ls", a + "/b")[0]["entries"][0]
    assert after["modified"] > before and after["owner"] == "joe"
    fails(b.run("touch", b.fx("acl.h5")), "is a domain")
    fails(b.run("touch", f"{b.bucket}/db/x"), "objects of all domains")


def test_acl_is_changed_and_unknown_keys_stay(b):
    d = b.copy("acl.h5")
    before = b.json("acl", d)["acls"]
    ok(b.run("acl", d, "+cr", "ted", "g:staff"))
    ok(b.run("acl", d, "--revoke", "c", "ted"))
    got = b.json("acl", d)["acls"]
    assert [k for k, v in got["ted"].items() if v] == ["read"] and got["g:staff"]["create"]
    assert {k: v for k, v in got.items() if k in before} == before
    ok(b.run("acl", d, "--", "-r", "ted"))
    assert ok(b.run("acl", d, "ted")) == "------  ted\n"
    ok(b.run("acl", d, "--remove", "ted", "g:staff"))
    assert b.json("acl", d)["acls"] == before
    fails(b.run("acl", d, "--remove", "ted"), "ted")
    fails(b.run("acl", d, "--grant", "x", "ted"), "crudep", rc=2)
    fails(b.run("acl", d, "--grant", "r"), "whose", rc=2)
    fails(b.run("acl", d, "--grant", "r", "--revoke", "r", "ted"), rc=2)
    if b.store == "dir":
        path = b.path(d[len(b.bucket) + 1:] + "/.domain.json")
        doc = json.load(open(path))
        doc["acls"]["ann"] = {"read": True, "domain": "x"}
        doc["ours"] = {"n": [1.5, "\udc80é"]}
        json.dump(doc, open(path, "w"))
        ok(b.run("acl", d, "+u", "ann"))
        new = json.load(open(path))
        assert new["acls"]["ann"] == {"read": True, "domain": "x", "update": True} and new["ours"] == doc["ours"]


def test_access_lists_bind_the_named_user(b):
    d = b.copy("acl.h5")
    ok(b.run("acl", d, "--revoke", "crudep", "default", "eve"))
    ok(b.run("acl", d, "-g", "r", "bob"))
    for argv in (["ls", d], ["info", d], ["stat", d], ["verify", d], ["cp", d, b.new()], ["acl", d], ["catalog", d], ["rm", d],
                 ["mv", d, b.new()], ["acl", d, "+r", "eve"]):
        fails_without(b.run("--version"), "denies")
        r = b.run(*argv, "--user", "eve")
        assert r.returncode == 1 and "eve" in r.stderr, (argv, r.returncode, r.stderr)
        assert b.run(*argv, env={"HS_USERNAME": "eve"}).returncode == 1, argv
    for argv in (["ls", d], ["info", d], ["stat", d], ["verify", d]):
        ok(b.run(*argv, "-u", "bob"))
    for argv in (["rm", d], ["mv", d, b.new()], ["catalog", d], ["acl", d], ["verify", "--repair", d]):
        assert b.run(*argv, "-u", "bob").returncode == 1, argv
    for verb in ("cp", "mv"):
        to = b.new()
        ok(b.run(verb, d, to))
        assert b.json("acl", to)["acls"]["bob"]["read"] and not b.json("acl", to)["acls"]["eve"]["read"], verb
    fails(b.run("touch", b.mine + "/x", "-u", "eve"), "eve")
    fails(b.run("cp", b.fx("linked.h5"), b.mine + "/x", "-u", "eve"), "eve")


def test_access_lists_bind_the_connector(b):
    if not b.bin:
        return
    d = b.copy("acl.h5")
    ok(b.run("acl", d, "--revoke", "crudep", "default"))
    ok(b.run("acl", d, "+r", "bob"))
    ok(b.run("acl", d, "+crud", "ann"))
    before = b.json("acl", d)["acls"]
    assert b.hdf5("h5ls", d, user="eve").returncode != 0
    r = b.hdf5("h5ls", d, user="bob")
    assert r.returncode == 0 and "Dataset" in r.stdout, (r.stdout, r.stderr)
    assert b.hdf5("h5mkgrp", d, "/new", user="bob").returncode != 0
    assert b.hdf5("h5mkgrp", d, "/new", user="eve").returncode != 0
    assert "/new" not in ok(b.run("ls", d))
    r = b.hdf5("h5mkgrp", d, "/new", user="ann")
    assert r.returncode == 0, (r.stdout, r.stderr)
    assert "/new" in ok(b.run("ls", d)) and b.json("acl", d)["acls"] == before
