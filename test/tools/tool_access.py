"""Claims about h5bucket: touch and acl; actions that access lists deny.  Run by tool.py."""
import json, os, time

import sample
from sandbox import fails, fails_without, ok


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
    fails(b.run("acl", d, "--grant", "r"), "USER is missing", rc=2)
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


READ = {"open", "read"}
CREATE = {"make-group", "make-dataset", "make-attribute", "make-link", "copy"}
UPDATE = {"write", "resize", "write-attribute", "comment", "rename-attribute"}
DELETE = {"delete-attribute", "delete-link", "replace", "remove"}
BOTH = {"rename-link"}  # a new link, and the old one gone
WRITES = {"open-to-write", "flush"}
GRANTED = [("r", READ), ("rc", READ | WRITES | CREATE), ("ru", READ | WRITES | UPDATE), ("rd", READ | WRITES | DELETE),
           ("rcd", READ | WRITES | CREATE | DELETE | BOTH), ("crud", READ | WRITES | CREATE | UPDATE | DELETE | BOTH),
           ("cud", {"replace", "remove"}), ("ep", set()), ("", set())]


def test_each_right_lets_a_program_do_its_part_and_no_more(b):
    if not b.bin:
        print("without HDF5's library beside a sanitizer: not tried")
        return
    for entry in ("ann", "default"):  # the user's own entry, and the default if it is missing
        granted = GRANTED[::sample.step(3)] if entry == "default" else GRANTED
        print(f"{entry}: {len(granted)} of {len(GRANTED)} sets of rights{sample.note()}")
        for rights, want in granted:
            f = b.new()
            ok(b.run("touch", f))
            ok(b.run("acl", f, "+c", "ann"))
            ok(b.hdf5(b.rights, "make", f + "/x.h5", user=""))
            ok(b.run("acl", f + "/x.h5", "--remove", "default") if entry == "default" and
               "default" in b.json("acl", f + "/x.h5")["acls"] else b.run("acl", f + "/x.h5"))
            ok(b.run("acl", f + "/x.h5", "--revoke=crudep", entry, "eve"))
            if rights:
                ok(b.run("acl", f + "/x.h5", "+" + rights, entry))
            if entry == "default" and "ann" in b.json("acl", f + "/x.h5")["acls"]:
                ok(b.run("acl", f + "/x.h5", "--remove", "ann"))
            lines = ok(b.hdf5(b.rights, f + "/x.h5", user="ann")).splitlines()
            did = {x.split()[0] for x in lines if x.split()[1] == "yes"}
            if "replace" in did:  # then it is her own, to be removed
                want = want | {"remove"}
            assert did == want, (entry, rights, "too much", did - want, "too little", want - did, lines)
            for x in lines:
                what, how = x.split(" ", 1)
                assert how == "yes" or what == "read" or "ann" in how, x


def test_each_right_lets_the_tool_do_its_part_and_no_more(b):
    needs = {  # verb -> rights
        ("ls",): "r", ("info",): "r", ("stat",): "r", ("verify",): "r", ("ls", "--showacls"): "re", ("acl",): "e",
        ("acl", "+r", "bob"): "p", ("catalog",): "ru", ("verify", "--repair"): "rd", ("cp",): "r", ("mv",): "rd", ("get",): "r",
        ("diff",): "r", ("rm",): "d"}
    changes = ("mv", "rm", "acl +r bob", "verify --repair", "catalog")  # all others share a domain
    f = b.new()
    ok(b.run("touch", f))
    ok(b.run("acl", f, "+c", "ann"))

    def domain(name, rights):
        d = f"{f}/{name}.h5"
        ok(b.run("cp", b.fx("acl.h5"), d))
        ok(b.run("acl", d, "--revoke=crudep", "default", "ann"))
        if rights:
            ok(b.run("acl", d, "+" + rights, "ann"))
        return d

    sets = ["", "r", "re", "rd", "crudep"]
    if not sample.sampled():
        sets += ["e", "p", "ru", "d"]
    print(f"{len(sets)} of 9 sets of rights{sample.note()}")
    for i, rights in enumerate(sets):
        shared = domain(f"{i}", rights)
        for k, (verb, need) in enumerate(needs.items()):
            d = domain(f"{i}-{k}", rights) if " ".join(verb) in changes else shared
            more = {"cp": [d + ".copy"], "mv": [d + ".moved"], "get": [f"{b.tmp}/{i}-{k}.h5"], "diff": [d]}.get(verb[0], [])
            r = b.run(verb[0], "-u", "ann", *([d] if verb[0] != "acl" else [d, *verb[1:]]), *more, *(verb[1:] if verb[0] != "acl" else []))
            may = set(need) <= set(rights)
            assert (r.returncode == 0) == may, (rights, verb, r.returncode, r.stdout[:300], r.stderr)
            assert may or "ann" in r.stderr, (rights, verb, r.stderr)


def test_a_user_sees_her_own_entry(b):
    d = b.copy("acl.h5")
    ok(b.run("acl", d, "--revoke=crudep", "default"))
    ok(b.run("acl", d, "--revoke=crudep", "ann"))
    ok(b.run("acl", d, "+r", "ann"))
    assert ok(b.run("acl", "-u", "ann", d, "ann")) == "-r----  ann\n"
    assert list(b.json("acl", d, "ann", "-u", "ann")["acls"]) == ["ann"]
    fails(b.run("acl", "-u", "ann", d), "ann")
    fails(b.run("acl", "-u", "ann", d, "test_user1"), "ann")
    fails(b.run("acl", d, "nobody"), "no entry")


def test_acl_takes_what_hsacl_takes(b):
    d = b.copy("acl.h5")
    ok(b.run("acl", d, "+crud", "ted"))
    ok(b.run("acl", d, "-ud", "ted"))
    assert ok(b.run("acl", d, "ted")) == "cr----  ted\n"
    ok(b.run("acl", d, "+e", "-c", "ted"))
    assert ok(b.run("acl", d, "ted")) == "-r--e-  ted\n"
    assert b.json("acl", d, "+u", "ted")["acls"]["ted"]["update"]


def test_new_things_inherit_from_the_nearest_folder(b):
    """HSDS's rules: users whom the folder grants something keep that; default and the new owner have their
    own."""
    f = b.new()
    ok(b.run("touch", "-o", "joe", f))
    ok(b.run("acl", f, "+cr", "ann"))
    ok(b.run("acl", f, "--revoke", "crudep", "eve"))
    ok(b.run("touch", "-u", "ann", f + "/sub"))
    acls = b.json("acl", f + "/sub")["acls"]
    assert acls["ann"]["updateACL"] and acls["joe"]["delete"] and "eve" not in acls and acls["default"]["read"], acls
    fails(b.run("touch", "-u", "eve", f + "/other"), "eve")
    fails(b.run("touch", "-p", "-u", "eve", f + "/other/deep"), "eve")
    fails(b.run("touch", "-u", "bob", f + "/other"), "bob")
    if b.bin:
        if b.store == "dir":  # HDF5 makes no directories
            os.makedirs(f + "/p/q")
        ok(b.hdf5(b.rights, "make", f + "/p/q/x.h5", user="ann"))
        acls = b.json("acl", f + "/p/q/x.h5")["acls"]
        assert acls["ann"]["delete"] and acls["joe"]["delete"] and "eve" not in acls and "default" not in acls, acls
        acls = b.json("acl", f + "/p/q")["acls"]
        assert acls["ann"]["delete"] and acls["joe"]["delete"] and acls["default"]["read"], acls
        assert b.hdf5(b.rights, "make", f + "/y.h5", user="eve").returncode != 0
        assert b.hdf5(b.rights, "make", f + "/y.h5", user="bob").returncode != 0


def test_load_asks_the_access_list_too(b):
    if not b.bin:
        print("without HDF5's library beside a sanitizer: not tried")
        return
    d = b.copy("acl.h5")
    src = os.path.join(b.fixtures, "native", "groups.h5")
    ok(b.run("acl", d, "--revoke=crudep", "default"))
    fails(b.run("load", "--force", "-u", "eve", src, d), "eve")
    fails(b.run("load", "-u", "eve", src, d))
    assert b.json("info", d)[0]["num_datasets"] == 1
    f = b.new()
    ok(b.run("touch", "-o", "joe", f))
    fails(b.run("load", "-u", "eve", src, f + "/x.h5"), "eve")
    fails(b.run("ls", f + "/x.h5"), "no such")
