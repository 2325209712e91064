#!/usr/bin/env python3
"""tool.py --tool H5BUCKET --store dir|s3 [--only NAME]: every verb of h5bucket but load, chunks and get.

Each test_* function is a claim.  In a folder it works on a copy of the sample buckets, in S3 on copies of sample domains below
a folder of its own in the shared bucket.  What is printed as JSON is parsed."""
import argparse, functools, http.server, json, os, shutil, subprocess, sys, tempfile, threading, time

FX = "home/test_user1/fx"


class Bed:
    """Where the tests work: names of sample domains, and a folder to write into."""

    def __init__(self, args):
        self.tool, self.store, self.bin, self.plugin = args.tool, args.store, args.bin, args.plugin
        self.tmp = tempfile.mkdtemp(prefix="tool-")
        self.fixtures = os.environ["BKT_FIXTURES"]
        if self.store == "dir":
            self.bucket = os.path.join(self.tmp, "hsopen")
            shutil.copytree(os.path.join(self.fixtures, "hsopen"), self.bucket)
        else:
            self.bucket = "s3://hsopen"
        self.mine = f"{self.bucket}/home/tool-{os.getpid()}"
        ok(self.run("touch", self.mine))
        self.count = 0

    def fx(self, name):
        return f"{self.bucket}/{FX}/{name}"

    def new(self, name=""):
        self.count += 1
        return f"{self.mine}/n{self.count}{name}"

    def copy(self, name):
        to = self.new("_" + name)
        ok(self.run("cp", self.fx(name), to))
        return to

    def run(self, *argv, env=None):
        return self.run_any(self.tool, *argv, env=env)

    def run_any(self, *argv, env=None):
        r = subprocess.run(argv, capture_output=True, text=True, timeout=300,
                           env={**os.environ, **(env or {})}, errors="surrogateescape")
        assert r.returncode >= 0 and "Sanitizer" not in r.stderr and "runtime error:" not in r.stderr, (argv, r.returncode, r.stderr)
        return r

    def hdf5(self, program, *argv, user):
        """One of HDF5's own tools on a domain, as that user."""
        return self.run_any(os.path.join(self.bin, program), *argv,
                            env={"HDF5_PLUGIN_PATH": self.plugin, "HDF5_VOL_CONNECTOR": "bucket", "HS_USERNAME": user})

    def json(self, *argv, rc=0, env=None):
        r = self.run(*argv, "--json", env=env)
        assert r.returncode == rc, (argv, r.returncode, r.stderr)
        return json.loads(r.stdout)

    def end(self):
        self.run("rm", "-r", "--yes", self.mine)
        shutil.rmtree(self.tmp, ignore_errors=True)

    # ---- the store itself, past the tool ----
    def path(self, key):
        assert self.store == "dir"
        return os.path.join(self.bucket, key)

    def object_of(self, domain, path="/"):
        return self.path(self.json("stat", domain, path)["key"])


def ok(r):
    assert r.returncode == 0, (r.args, r.returncode, r.stdout, r.stderr)
    return r.stdout


def fails(r, *words, rc=1):
    assert r.returncode == rc, (r.args, r.returncode, r.stdout, r.stderr)
    for w in words:
        assert w in r.stderr, (r.args, w, r.stderr)
    return r.stderr


def fails_without(r, *words):
    for w in words:
        assert w not in r.stderr and w not in r.stdout, (r.args, w, r.stderr)


def dir_only(f):
    f.dir_only = True
    return f


def own_bucket(f):
    """It changes the sample domains themselves, or looks at the bucket as a whole."""
    f.own_bucket = f.dir_only = True
    return f


# ---- ls, info, stat ----

def test_ls_lists_a_folder(b):
    got = {e["name"].rsplit("/", 1)[1]: e for e in b.json("ls", f"{b.bucket}/{FX}")[0]["entries"]}
    assert got["groups.h5"]["kind"] == "domain" and got["groups.h5"]["owner"] == "test_user1"
    assert got["groups.h5"]["root"].startswith("g-1eba0da4")
    assert got["hsload"]["kind"] == "folder"
    assert "db" not in {e["path"] for e in b.json("ls", b.bucket)[0]["entries"]}
    text = ok(b.run("ls", f"{b.bucket}/{FX}"))
    assert f"{FX}/groups.h5\n" in text and f"{FX}/hsload/\n" in text


def test_ls_goes_into_folders(b):
    names = [e["name"] for e in b.json("ls", "-r", f"{b.bucket}/home/test_user1")[0]["entries"]]
    assert b.fx("hsload/charsets.h5") in [n.replace("file://", "") for n in names]
    assert not [n for n in names if "/db/" in n]


def test_ls_pattern(b):
    got = b.json("ls", "--pattern", "g*.h5", f"{b.bucket}/{FX}")[0]["entries"]
    assert [e["path"] for e in got] == [f"{FX}/groups.h5"], got


def test_ls_shows_every_link_once_and_ends(b):
    got = b.json("ls", "-r", b.fx("groups.h5"))[0]["objects"]
    paths = [o["path"] for o in got]
    assert len(paths) == len(set(paths))
    by = {o["path"]: o for o in got}
    assert by["/a/b/c/up"]["same_as"] == "/a" and by["/links/root_again"]["same_as"] == "/"
    assert by["/links/s_abs"] | {"link": "soft", "target": "/a/ds1"} == by["/links/s_abs"]
    assert by["/links/e_rel"] | {"link": "external", "file": "numeric.h5", "target": "/float"} == by["/links/e_rel"]
    assert by["/a/b/ds2"]["shape"]["dims"] == [2, 3] and by["/a/b/ds2"]["type"] == "H5T_STD_I32LE"
    assert len(b.json("ls", b.fx("groups.h5"))[0]["objects"]) < len(got)


def test_ls_of_an_object_in_a_domain(b):
    assert [o["path"] for o in b.json("ls", b.fx("groups.h5") + "/a/b")[0]["objects"]] == ["/a/b", "/a/b/c", "/a/b/ds2"]
    fails(b.run("ls", b.fx("groups.h5") + "/a/nothing"), "nothing")


def test_ls_tells_where_chunks_lie(b):
    by = {o["path"]: o for o in b.json("ls", "-rv", b.fx("linked.h5"))[0]["objects"]}
    few, small = by["/few_chunks"], by["/small"]
    assert few["layout"] == "H5D_CHUNKED_REF" and few["chunk"] == [30, 40]
    assert few["storage"]["where"] == "files" and few["storage"]["chunks"] == 2
    assert few["storage"]["files"] == [{"uri": "hsopen/ext/linksrc.h5", "chunks": 2, "bytes": few["storage"]["bytes"]}]
    assert by["/many_chunks"]["filters"] == [{"id": 2, "name": "shuffle"}, {"id": 1, "name": "gzip", "level": 4}]
    assert by["/many_chunks"]["storage"]["chunks"] == 32
    assert small["storage"] == {"where": "objects", "chunks": 1, "bytes": 160}
    text = ok(b.run("ls", "-v", b.fx("linked.h5")))
    assert "H5D_CHUNKED_REF_INDIRECT [8,16] shuffle, gzip 4" in text and "2 chunks" in text and "in hsopen/ext/linksrc.h5" in text


def test_ls_human_sizes(b):
    assert "K" in ok(b.run("ls", "-rvH", b.fx("linked.h5"))) and "bytes" not in ok(b.run("ls", "-rvH", b.fx("linked.h5")))


def test_ls_shows_attributes_and_access_lists(b):
    by = {o["path"]: o for o in b.json("ls", "--showattrs", b.fx("linked.h5"))[0]["objects"]}
    assert {"name": "kind", "type": "string utf-8", "shape": {"class": "H5S_SCALAR"}, "value": "link source"} in by["/"]["attributes"]
    assert '@kind: string utf-8 scalar = "link source"' in ok(b.run("ls", "--showattrs", b.fx("linked.h5")))
    got = b.json("ls", "--showacls", b.fx("acl.h5"))[0]
    assert got["acls"]["test_user1"]["updateACL"] is True
    assert "crudep  test_user1" in ok(b.run("ls", "--showacls", b.fx("acl.h5")))


def test_every_sample_domain_is_listed_with_all_options(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        got = b.json("ls", "-rv", "--showattrs", "--showacls", b.bucket + d["domain"])[0]
        assert got["objects"][0]["path"] == "/" and got["objects"][0]["id"] == d["root"]
        assert not ok(b.run("ls", "-rvH", "--showattrs", b.bucket + d["domain"])) == ""


def test_info_counts(b):
    got = b.json("info", b.fx("filters.h5"), b.fx("schema1.h5"))
    assert (got[0]["num_datasets"], got[0]["num_chunks"], got[0]["allocated_bytes"]) == (41, 239, 148797)
    assert got[1]["schema"] == "v1" and got[1]["num_chunks"] == 13 and got[1]["num_datatypes"] == 1
    assert "chunk objects    239" in ok(b.run("info", "-H", b.fx("filters.h5")))


def test_stat_of_objects(b):
    got = b.json("stat", "-l", b.fx("groups.h5"), "/a/ds1")
    assert got["hard_links"] == 3 and got["kind"] == "dataset" and got["storage"]["chunks"] == 1
    assert b.json("stat", b.fx("groups.h5"), got["id"])["id"] == got["id"]
    assert b.json("stat", b.fx("groups.h5") + "/links/s_via")["shape"]["dims"] == [2, 3]
    assert b.json("stat", b.fx("groups.h5"))["kind"] == "group"
    fails(b.run("stat", b.fx("groups.h5"), "/links/s_self"), "circle")
    fails(b.run("stat", b.fx("groups.h5"), "/links/e_rel/x"), "out of the domain")
    fails(b.run("stat", b.mine), "folder")


# ---- folders and access lists ----

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


# ---- rm, cp, mv ----

def test_rm_removes_domains_and_folders(b):
    d, f = b.copy("groups.h5"), b.new()
    assert "would remove domain" in ok(b.run("rm", "-n", d)) and b.json("info", d)
    assert "removed domain" in ok(b.run("rm", "-v", d))
    fails(b.run("ls", d), "no such")
    fails(b.run("rm", d), "no such")
    ok(b.run("touch", f))
    ok(b.run("touch", f + "/sub"))
    ok(b.run("cp", b.fx("acl.h5"), f + "/sub/"))
    ok(b.run("cp", b.fx("schema1.h5"), f + "/sub"))
    fails(b.run("rm", f), "not empty")
    fails(b.run("rm", "-r", f), "--yes")
    assert "/sub/acl.h5" in ok(b.run("rm", "-rn", f))
    ok(b.run("rm", "-r", "--yes", f))
    fails(b.run("ls", f), "no such")
    fails(b.run("rm", "-r", "--yes", b.bucket), "whole bucket")
    fails(b.run("rm", f"{b.bucket}/db"), "objects of all")


def test_rm_leaves_nothing(b):
    d = b.copy("partition.h5")
    root = b.json("info", d)[0]["root"]
    ok(b.run("catalog", d))
    ok(b.run("rm", d))
    if b.store == "dir":
        assert not os.path.exists(b.path(f"db/{root[2:19]}")) and not os.path.exists(d)


@own_bucket
def test_rm_of_version_1_leaves_nothing(b):
    keys = set(os.listdir(b.bucket))
    ok(b.run("rm", b.fx("schema1.h5")))
    left = [k for k in os.listdir(b.bucket) if k[5:6] == "-"]
    assert len(left) <= 1, left  # the root is another's too, in this sample
    assert not keys <= set(os.listdir(b.bucket))


def test_cp_within_a_bucket_and_into_another(b):
    other = os.path.join(b.tmp, "other")
    os.makedirs(other, exist_ok=True)
    for name in ("attrs.h5", "groups.h5", "types.h5", "special.h5", "highlevel.h5", "partition.h5", "strings.h5", "schema1.h5", "linked.h5"):
        a = b.copy(name)
        c = f"{other}/{name}"
        ok(b.run("cp", b.fx(name), c))
        want, got = b.json("info", b.fx(name))[0], b.json("info", a)[0]
        for key in ("num_groups", "num_datasets", "num_datatypes", "num_links", "num_attributes", "num_linked_chunks"):
            assert got[key] == want[key], (name, key)
        assert got["root"] != want["root"] and b.json("info", c)[0]["num_links"] == want["num_links"]
        old, new = want["root"][2:19], got["root"][2:19]
        text = json.dumps(b.json("ls", "-r", "--showattrs", a))
        assert old not in text or want["schema"] == "v1", name
        assert b.json("verify", "--deep", "--min-age", "0", a, rc=1 if name == "special.h5" else 0)[0]["n_problems"] == 0
        assert new in text
        fails(b.run("cp", b.fx(name), a), "--force")
    ok(b.run("cp", "--force", b.fx("attrs.h5"), a))
    assert b.json("info", a)[0]["num_attributes"] == b.json("info", b.fx("attrs.h5"))[0]["num_attributes"]
    fails(b.run("cp", a, a), "same")
    fails(b.run("cp", b.fx("nothing.h5"), b.new()), "nothing.h5")


def test_cp_follows_references(b):
    d = b.copy("highlevel.h5")
    old, new = b.json("info", b.fx("highlevel.h5"))[0]["root"][2:19], b.json("info", d)[0]["root"][2:19]

    def named(domain):
        return [a["value"] for o in b.json("ls", "-r", "--showattrs", domain)[0]["objects"] for a in o.get("attributes", [])
                if "reference" in a["type"]]
    want, got = json.dumps(named(b.fx("highlevel.h5"))), json.dumps(named(d))
    assert old in want and want.replace(old, new) == got


def test_mv_renames_and_moves(b):
    d, to = b.copy("groups.h5"), b.new()
    root = b.json("info", d)[0]["root"]
    ok(b.run("mv", d, to))
    fails(b.run("ls", d), "no such")
    assert b.json("info", to)[0]["root"] == root
    ok(b.run("touch", b.mine + "/into"))
    ok(b.run("mv", to, b.mine + "/into"))
    name = to.rsplit("/", 1)[1]
    assert b.json("info", f"{b.mine}/into/{name}")[0]["root"] == root
    away = os.path.join(b.tmp, "away")
    os.makedirs(away)
    ok(b.run("mv", f"{b.mine}/into/{name}", away + "/x.h5"))
    fails(b.run("ls", f"{b.mine}/into/{name}"), "no such")
    assert b.json("verify", "--deep", away + "/x.h5")[0]["n_problems"] == 0
    fails(b.run("mv", away + "/x.h5", b.fx("acl.h5")), "exists")


# ---- catalog ----

@own_bucket
def test_catalog_counts_as_hsds_does(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        info = b.path(d["root_key"].replace(".group.json", ".info.json"))
        if "schema1" in d["domain"] or not os.path.exists(info) or "fastlinked" in d["domain"]:
            continue
        want = json.load(open(info))
        ok(b.run("catalog", b.bucket + d["domain"]))
        got = json.load(open(info))
        for k in ("num_groups", "num_datatypes", "num_chunks", "allocated_bytes", "metadata_bytes", "logical_bytes", "md5_sum"):
            assert got[k] == want[k], (d["domain"], k, got[k], want[k])
        for i, w in want["datasets"].items():
            for k in ("num_chunks", "allocated_bytes", "logical_bytes"):
                assert got["datasets"][i][k] == w[k], (d["domain"], i, k)
        lines = open(b.bucket + d["domain"] + "/.datasets.txt").read().splitlines()
        assert [len(x.split()) for x in lines] == [6] * len(want["datasets"])
        for line in lines:
            i, etag, when, size, n, total = line.split()
            chunks = b.bucket + d["domain"] + f"/.{i}.chunks.txt"
            rows = open(chunks).read().splitlines() if os.path.exists(chunks) else []
            assert len(rows) == int(n) and sum(int(r.split()[3]) for r in rows) == int(total) and len(etag) == 32


def test_catalog_into_a_folder(b):
    out = os.path.join(b.tmp, "cat")
    os.makedirs(out)
    ok(b.run("catalog", "-o", out, b.fx("groups.h5")))
    assert {".groups.txt", ".datasets.txt", ".datatypes.txt", ".info.json"} <= set(os.listdir(out))
    assert json.load(open(out + "/.info.json"))["num_groups"] == b.json("info", b.fx("groups.h5"))[0]["num_groups"]
    fails(b.run("catalog", "-o", out, b.fx("schema1.h5")), "version 1")


# ---- verify ----

def test_verify_finds_sample_domains_whole(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        got = b.json("verify", "--deep", b.bucket + d["domain"], rc=1 if "special" in d["domain"] and b.store == "dir" else 0)[0]
        assert got["n_problems"] == 0 and got["objects"] > 0, (d["domain"], got)


@dir_only
def test_verify_names_what_is_wrong(b):
    d = b.copy("groups.h5")
    os.remove(b.object_of(d, "/a/b/ds2"))
    got = b.json("verify", d, rc=1)[0]
    assert [(p["kind"], p["path"]) for p in got["problems"]] == [("missing", "/a/b/ds2")], got
    open(b.object_of(d, "/empty"), "w").write('{"id": 7}')
    kinds = {p["path"]: p["kind"] for p in b.json("verify", d, rc=1)[0]["problems"]}
    assert kinds == {"/a/b/ds2": "missing", "/empty": "malformed"}, kinds
    fails(b.run("verify", "--repair", "--min-age=0", d), "nothing is removed")
    assert "problem: /empty" in b.run("verify", d).stdout
    # ls goes on past them and says so
    r = b.run("ls", "-r", d, "--json")
    assert r.returncode == 1 and "/many" in r.stdout and "/a/b/ds2" in r.stderr and json.loads(r.stdout)


@dir_only
def test_verify_finds_broken_chunks(b):
    d = b.copy("filters.h5")
    o = next(o for o in b.json("ls", "-rv", d)[0]["objects"] if any(f["name"] in ("gzip", "deflate") for f in o.get("filters", []))
             and o["storage"]["chunks"])
    folder = os.path.dirname(b.path(b.json("stat", d, o["path"])["key"]))
    chunk = next(os.path.join(folder, f) for f in sorted(os.listdir(folder)) if not f.startswith("."))
    data = open(chunk, "rb").read()
    open(chunk, "wb").write(data[:len(data) // 2])
    assert b.json("verify", d)[0]["n_problems"] == 0
    got = b.json("verify", "--deep", d, rc=1)[0]
    assert [p["path"] for p in got["problems"]] == [o["path"]] and got["problems"][0]["kind"] == "chunk", got


@own_bucket
def test_verify_checks_references(b):
    ext = b.path("ext/linksrc.h5")
    data = open(ext, "rb").read()
    open(ext, "wb").write(data[:5000])
    got = b.json("verify", b.fx("linked.h5"), rc=1)[0]
    assert {p["kind"] for p in got["problems"]} == {"reference"} and "has 5000" in got["problems"][0]["message"], got
    os.rename(ext, ext + ".away")
    assert b.json("verify", b.fx("linked.h5"), rc=1)[0]["n_problems"] > 0
    os.rename(ext + ".away", ext)
    open(ext, "wb").write(data)
    assert b.json("verify", b.fx("linked.h5"))[0]["n_problems"] == 0


def test_verify_repairs_orphans_that_are_old_enough(b):
    d = b.copy("groups.h5")
    assert b.json("verify", "--min-age=0", d)[0]["n_orphans"] == 0
    s = b.copy("special.h5")
    got = b.json("verify", s)[0]
    assert got["n_fresh"] == 2 and got["n_orphans"] == 0
    got = b.json("verify", "--repair", s)[0]
    assert got["n_removed"] == 0 and got["n_fresh"] == 2
    assert b.json("verify", "--min-age=0", s, rc=1)[0]["n_orphans"] == 2
    assert b.json("verify", "--min-age=0", "--repair", s)[0]["n_removed"] == 2
    assert b.json("verify", "--min-age=0", s)[0]["n_orphans"] == 0


@own_bucket
def test_verify_finds_chunks_outside_and_trees_without_domain(b):
    d = b.copy("groups.h5")
    folder = os.path.dirname(b.object_of(d, "/a/ds1"))
    open(folder + "/7", "wb").write(b"x")
    got = b.json("verify", "--min-age=0", "--repair", d)[0]
    assert [o.get("chunk") for o in got["orphans"]] == ["7"] and not os.path.exists(folder + "/7")
    ok(b.run("rm", "--keep-objects", d))
    trees = b.json("verify", "--min-age=0", b.bucket, rc=1)[0]["orphans"]
    assert len(trees) == 1 and trees[0]["tree"].startswith("db/")
    assert b.json("verify", "--min-age=0", "--repair", b.bucket)[0]["n_removed"] == 1
    assert b.json("verify", "--min-age=0", b.bucket)[0]["n_orphans"] == 0


# ---- diff ----

def test_diff_finds_sample_domains_equal_to_their_twins(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        name = os.path.basename(d["domain"])
        if not d.get("native") or name in ("big.h5", "sparse.h5"):  # extents that nobody reads whole
            continue
        r = b.run("diff", "--json", b.bucket + d["domain"], os.path.join(b.fixtures, d["native"]))
        # hsload lets extents grow otherwise, and changes some types
        other = {x["what"] for x in json.loads(r.stdout)} - {"maxdims"} - ({"type", "attribute"} if "hsload" in d["domain"] or d.get("type_differences") else set())
        assert r.returncode < 2 and not other, (d["domain"], r.stdout[:500], r.stderr)


@dir_only
def test_diff_tells_what_differs(b):
    a, d = b.fx("groups.h5"), b.copy("groups.h5")
    assert b.json("diff", a, d) == [], b.json("diff", a, d)
    key = b.object_of(d, "/a")
    doc = json.load(open(key))
    doc["links"]["more"] = {"class": "H5L_TYPE_SOFT", "h5path": "/x", "created": 9}
    doc["links"].pop("ds1")
    doc["attributes"]["new"] = {"type": {"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}, "shape": {"class": "H5S_SCALAR"},
                                "value": 5, "created": 9}
    json.dump(doc, open(key, "w"))
    chunk = os.path.dirname(b.object_of(d, "/a/b/ds2")) + "/0_0"
    data = bytearray(open(chunk, "rb").read())
    data[4] ^= 1
    open(chunk, "wb").write(data)
    got = {(x["path"], x["what"]): x["text"] for x in b.json("diff", a, d, rc=1)}
    assert got == {("/a", "attribute"): "attribute new only in the second", ("/a", "link"): got[("/a", "link")],
                   ("/a/b/ds2", "data"): "1 of 6 elements differ, first at (0, 1)"}, got
    r = b.run("diff", "-q", a, d)
    assert r.returncode == 1 and r.stdout == ""
    assert b.run("diff", a, d, "/a/b/ds2").stdout == "/a/b/ds2: 1 of 6 elements differ, first at (0, 1)\n"
    assert b.run("diff", "-n", a, d, "/a/b/ds2").returncode == 0
    fails(b.run("diff", a, b.fx("nothing.h5")), "nothing.h5", rc=2)


# ---- a plain web server ----

@dir_only
def test_domains_on_a_plain_web_server_are_read_and_not_written(b):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *a):
            pass
    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

        def handle_error(self, *a):  # the client hangs up when it has its bytes: ranges aren't known here
            pass
    Quiet.protocol_version = "HTTP/1.1"
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=b.bucket))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        web = f"http://127.0.0.1:{server.server_port}"
        of = lambda n: f"{web}/{FX}/{n}"
        assert b.json("ls", "-rv", of("groups.h5"))[0]["objects"] == b.json("ls", "-rv", b.fx("groups.h5"))[0]["objects"]
        assert b.json("info", of("types.h5"))[0]["num_chunks"] == b.json("info", b.fx("types.h5"))[0]["num_chunks"]
        assert b.json("stat", of("groups.h5"), "/a/ds1")["storage"]["chunks"] == 1
        got = b.json("verify", "--deep", of("types.h5"))[0]
        assert got["n_problems"] == 0 and got["chunks_decoded"] == 30 and got["problems"][0]["kind"] == "unchecked"
        assert "owner" in b.json("acl", of("acl.h5"))
        d = b.new()
        ok(b.run("cp", of("highlevel.h5"), d))
        assert b.json("diff", of("highlevel.h5"), d) == []
        fails(b.run("ls", f"{web}/home"), "can't be listed")
        fails(b.run("catalog", of("types.h5")), "can't be written to")
        for argv in (["rm", of("acl.h5")], ["touch", f"{web}/home/x"], ["acl", of("acl.h5"), "+r", "ted"],
                     ["cp", b.fx("acl.h5"), f"{web}/home/x.h5"], ["mv", of("acl.h5"), d + "x"], ["verify", "--repair", of("acl.h5")]):
            assert b.run(*argv).returncode == 1, argv
    finally:
        server.shutdown()


# ---- bad input ----

@dir_only
def test_hostile_metadata_is_an_error_and_no_more(b):
    root = b.path("home/bad")
    hostile = ['{"root": "../../etc"}', "[]", "{" * 100000, '{"root": 7}', "", '{"acls": 5, "owner": "x"}',
               '{"root": "g-00000000-00000000-8888-888888-888888", "acls": {"\\u0000": {}}}', '{"acls": {"a": {"read": "yes"}}}']
    for i, text in enumerate(hostile):
        os.makedirs(f"{root}/{i}")
        open(f"{root}/{i}/.domain.json", "w").write(text)
        for argv in (["ls"], ["info"], ["stat"], ["verify"], ["acl"], ["catalog"], ["rm", "-n"], ["cp", f"{root}/{i}", b.new()]):
            r = b.run(argv[0], *argv[1:], *([] if argv[0] == "cp" else [f"{root}/{i}"]))
            assert r.returncode in (0, 1), (text[:40], argv, r.returncode, r.stderr)
    r = b.run("ls", root, "--json")
    assert r.returncode == 1 and len(json.loads(r.stdout)[0]["entries"]) >= 1
    assert b.run("rm", "-r", "--yes", root).returncode in (0, 1)


@dir_only
def test_deep_and_cyclic_links_end(b):
    d = b.copy("acl.h5")
    key = b.object_of(d)
    doc = json.load(open(key))
    gid = doc["id"]
    doc["links"]["me"] = {"class": "H5L_TYPE_HARD", "id": gid, "created": 1}
    doc["links"]["\x1b[31m\n"] = {"class": "H5L_TYPE_SOFT", "h5path": "/me/me", "created": 2}
    base, last = gid[2:19], doc
    for i in range(1500):  # deeper than anybody's stack likes
        new = f"g-{base}-{i:04x}-000000-000001"
        last["links"]["n"] = {"class": "H5L_TYPE_HARD", "id": new, "created": 3}
        path = os.path.dirname(key) + f"/g/{i:04x}-000000-000001"
        if last is not doc:
            os.makedirs(folder)
            json.dump(last, open(folder + "/.group.json", "w"))
        folder, last = path, {"id": new, "root": gid, "created": 1, "lastModified": 1, "links": {}, "attributes": {}}
    os.makedirs(folder)
    json.dump(last, open(folder + "/.group.json", "w"))
    json.dump(doc, open(key, "w"))
    r = b.run("ls", "-r", d)
    fails(r, "nested deeper")
    assert "\x1b" not in r.stdout and "\\x1b[31m\\x0a" in r.stdout
    assert json.loads(b.run("ls", "-r", d, "--json").stdout)
    assert b.json("info", d)[0]["num_groups"] == 1501
    assert b.json("verify", d)[0]["n_problems"] == 0


def test_wrong_usage_says_so(b):
    for argv in (["ls", "--nonsense"], ["info"], ["stat"], ["stat", "a", "b", "c"], ["cp", "a"], ["rm"], ["touch"], ["acl"],
                 ["verify", "--min-age=soon", b.fx("acl.h5")], ["ls", "--set", "nonsense"], ["ls", "--set", "nonsense=1"],
                 ["help", "nonsense"], ["nonsense"], ["ls", "--pattern"]):
        r = b.run(*argv)
        assert r.returncode == 2 and "h5bucket" in r.stderr, (argv, r.returncode, r.stderr)
    fails(b.run("ls", f"{b.bucket}/nothing/here"), "no such")
    assert b.run().returncode == 2 and b.run("--help").returncode == 0
    assert "connections = 5" in ok(b.run("settings", "--set", "connections=5"))
    assert "bucket = x" in ok(b.run("settings", "-b", "x"))


def test_default_bucket_names_folders_and_domains(b):
    for name in ("hdf5:/" + "/" + FX, "/" + FX, FX):
        assert b.json("ls", "-b", b.bucket, name)[0]["folder"].strip("/") == FX
    assert b.json("info", "-b", b.bucket, f"hdf5://{FX}/acl.h5")[0]["num_datasets"] == 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--store", choices=["dir", "s3"], default="dir")
    p.add_argument("--only")
    p.add_argument("--bin", help="where HDF5's tools are, to try the connector too")
    p.add_argument("--plugin")
    args = p.parse_args()
    bad = n = 0
    shared = None
    for name, f in list(globals().items()):
        if not name.startswith("test_") or (args.only and args.only not in name) or (args.store == "s3" and hasattr(f, "dir_only")):
            continue
        own = hasattr(f, "own_bucket")
        shared = shared or Bed(args)
        b = Bed(args) if own else shared
        n += 1
        begin = time.time()
        try:
            f(b)
            print(f"ok {name} {time.time() - begin:.1f} s", flush=True)
        except (AssertionError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError, OSError, StopIteration) as e:
            bad += 1
            print(f"NOT OK {name}: {type(e).__name__} {str(e)[:1500]}", flush=True)
        if own:
            b.end()
    if shared:
        shared.end()
    print(f"{n - bad} of {n} claims hold")
    sys.exit(bad > 0 or n == 0)


main()
