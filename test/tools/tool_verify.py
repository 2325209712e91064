"""Claims about h5bucket: verify.  Run by tool.py."""
import json, os, re, sys, time

from sandbox import dir_only, fails, ok, own_bucket, s3_only
from web_folder import WebFolder


def test_verify_finds_sample_domains_whole(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        late = "fastlinked" in d["domain"]  # HSDS has yet to find the places of its chunks, so verify can't check them
        got = b.json("verify", "--deep", b.bucket + d["domain"], rc=int(late))[0]
        assert {p["kind"] for p in got["problems"]} <= {"unchecked"} and got["objects"] > 0, (d["domain"], got)
        assert (got["n_problems"] > 0) == late and b.json("verify", b.bucket + d["domain"], rc=None)[0]["n_problems"] == 0


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
    # ls goes on past them and reports them
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


def etag_of(b, d, path, change):
    """The ETag in a dataset's layout, changed in place."""
    key = b.object_of(d, path)
    doc = json.load(open(key))
    layout = doc["creationProperties"]["layout"]
    layout["file_etag"] = change(layout["file_etag"])
    json.dump(doc, open(key, "w"))
    return layout["file_etag"]


@dir_only
def test_quotes_of_an_etag_name_no_other_version(b):
    """S3's lists and other programs leave out the quotes of an ETag."""
    if not b.odd:
        return
    folder = f"{b.tmp}/etags"
    os.makedirs(folder)
    ok(b.run_any(b.odd, "small", f"{folder}/small.h5"))
    with WebFolder(folder) as web:
        d, allow = b.new(), {"H5BUCKET_ALLOW": web.url}
        ok(b.run("load", "--link", f"{web.url}/small.h5", d, env=allow))
        bare = etag_of(b, d, "/line", lambda etag: etag.strip('"'))
        assert bare == web.etag("small.h5").strip('"')
        assert b.json("verify", "--deep", d, env=allow)[0]["n_problems"] == 0
        etag_of(b, d, "/line", lambda etag: etag + "0")
        got = b.json("verify", d, rc=1, env=allow)[0]["problems"]
        assert [(p["kind"], p["path"]) for p in got] == [("changed", "/line")], got


@dir_only
def test_raw_files_are_looked_for_and_not_copied(b):
    """The files that H5Pset_external() names: HDF5's own code reads them, wherever the domain is copied to."""
    if not b.sparse:
        return
    d, to, raw = b.new(), b.new(), os.path.join(b.tmp, "raw.bin")
    ok(b.run_any(b.sparse, "raw", d, raw, env={"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"}))
    assert b.json("verify", d)[0]["references"] == 1
    r = b.run("cp", d, to, "--json")
    assert json.loads(ok(r))["datasets_in_raw_files"] == 1 and "data of 1 datasets stay in raw files" in r.stderr, r.stderr
    assert b.json("diff", d, to) == []
    os.truncate(raw, 100)
    for name in d, to:
        got = b.json("verify", name)[0]["problems"]
        assert [(p["kind"], p["path"]) for p in got] == [("raw", "/raw")] and "has 100 bytes" in got[0]["message"], got
    os.remove(raw)
    got = b.json("verify", d)[0]["problems"]
    assert [p["kind"] for p in got] == ["raw"] and raw in got[0]["message"], got


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


@dir_only
def test_an_object_that_a_program_keeps_without_a_link_is_not_an_orphan(b):
    d = b.copy("groups.h5")
    group, kept = b.object_of(d, "/"), b.object_of(d, "/ordered")
    objects = b.json("verify", d)[0]["objects"]
    doc = json.load(open(group))
    del doc["links"]["ordered"]
    json.dump(doc, open(group, "w"))
    orphans = b.json("verify", "--min-age=0", d, rc=1)[0]["n_orphans"]
    doc = json.load(open(kept))
    json.dump({**doc, "h5refcount": 1}, open(kept, "w")) # H5Oincr_refcount
    got = b.json("verify", "--min-age=0", "--repair", d)[0]
    assert orphans == 6 and got["n_removed"] == got["n_orphans"] == 0 and got["objects"] == objects, got


def test_verify_goes_by_the_store_s_clock(b):
    if not b.clock_ahead:
        return
    s = b.copy("special.h5")
    for days in "2", "-2":
        got = b.json("verify", "--repair", s, env={"LD_PRELOAD": b.clock_ahead, "BKT_TEST_DAYS": days})[0]
        assert got["n_removed"] == 0 and got["n_fresh"] == 2, (days, got)
        got = b.json("verify", "--min-age=0", s, rc=1, env={"LD_PRELOAD": b.clock_ahead, "BKT_TEST_DAYS": days})[0]
        assert got["n_orphans"] == 2, (days, got)


@dir_only
def test_verify_leaves_what_a_writer_with_a_clock_behind_stores(b):
    """Times of files are by the clocks of the machines that wrote them."""
    s = b.copy("special.h5")
    tree = os.path.dirname(b.object_of(s))
    for folder, _, names in os.walk(tree):
        for name in names:
            os.utime(os.path.join(folder, name), (time.time() - 172800,) * 2)
    got = b.json("verify", "--repair", s)[0]
    assert got["n_removed"] == 0 and got["n_fresh"] == 2, got


@own_bucket
def test_verify_finds_chunks_outside_and_trees_without_domain(b):
    d = b.copy("groups.h5")
    folder = os.path.dirname(b.object_of(d, "/a/ds1"))
    open(folder + "/7", "wb").write(b"x")
    got = b.json("verify", "--min-age=0", "--repair", d)[0]
    assert [o.get("chunk") for o in got["orphans"]] == ["7"] and not os.path.exists(folder + "/7")
    ok(b.run("rm", "--keep-objects", d))
    others = os.path.join(b.bucket, "db/my-backup-of-2024/x") # as long as a tree's name, but none
    os.makedirs(os.path.dirname(others))
    open(others, "w").close()
    trees = b.json("verify", "--min-age=0", b.bucket, rc=1)[0]["orphans"]
    assert len(trees) == 1 and trees[0]["tree"].startswith("db/")
    assert b.json("verify", "--min-age=0", "--repair", b.bucket)[0]["n_removed"] == 1
    os.makedirs(os.path.join(b.bucket, "db/01234567-89abcdef/g/0123-456789-abcdef")) # of a writer killed before its first rename
    assert b.json("verify", "--min-age=0", b.bucket)[0]["n_orphans"] == 0 and os.path.exists(others)


@own_bucket
def test_no_domain_is_made_among_the_objects(b):
    native = os.path.join(b.fixtures, "native", "groups.h5")
    fails(b.run("load", native, b.path("db")), "a folder with this name exists")
    fails(b.run("load", native, b.path("db/x.h5")), "db/x.h5: the folder db of a bucket holds the objects of all domains")
    for name in ("db/x.h5", "db/a/x.h5"):
        fails(b.run("touch", f"{b.bucket}/{name}"), "holds the objects of all domains")
        fails(b.run("cp", b.fx("groups.h5"), f"{b.bucket}/{name}"), "holds the objects of all domains")


@own_bucket
def test_a_domain_among_the_objects_keeps_its_own(b):
    domains = {name: b.copy("groups.h5") for name in ("inside", "below", "itself")}
    for name, to in (("inside", "db/a/inside.h5"), ("below", "db/below.h5"), ("itself", "db")):
        os.makedirs(b.path(to), exist_ok=True) # as another program may do it
        os.rename(domains[name] + "/.domain.json", b.path(to) + "/.domain.json")
    got = b.json("verify", "--min-age=0", "--repair", b.bucket)[0]
    assert got["n_orphans"] == 0 and got["n_removed"] == 0, got
    ok(b.run("verify", b.path("db/below.h5")))


@own_bucket
def test_nothing_is_removed_behind_a_link(b):
    os.makedirs(b.path("there"))
    d = f"{b.bucket}/there/x.h5"
    ok(b.run("cp", b.fx("groups.h5"), d))
    os.rename(b.path("there"), b.path("../there-x"))
    os.symlink(os.path.realpath(b.path("../there-x")), b.path("there"))
    got = b.json("verify", "--min-age=0", "--repair", b.bucket, rc=1)[0]
    assert got["n_orphans"] == 1 and got["n_removed"] == 0 and "there" in [o.get("path") for o in got["orphans"]], got
    got = b.json("verify", "--min-age=0", "--repair", b.bucket, env={"H5BUCKET_LINKS": "follow"})[0]
    assert got["n_orphans"] == 0, got
    ok(b.run("verify", d, env={"H5BUCKET_LINKS": "follow"}))


def test_verify_refuses_a_malformed_age(b):
    for age in ("yesterday", "-1", "1.5", "", "1h", "99999999999999999999"):
        for where in ((b.bucket,), ("-r", b.bucket), ("-r", b.mine), ("-r", b.fx("groups.h5")), (b.fx("groups.h5"), "--json")):
            r = b.run("verify", f"--min-age={age}", *where)
            fails(r, "--min-age=", "a whole number", rc=2)
            assert r.stdout == "" and r.stderr.count("a whole number") == 1, r


def uploads_of(b, name, *options, rc=0):
    got = b.json("verify", *options, name, rc=rc)[0]
    return [o for o in got["orphans"] if "upload" in o], got


@s3_only
def test_verify_gives_up_uploads_that_nobody_ended(b):
    sys.path.insert(0, os.path.join(os.environ["BKT_SOURCE"], "test/s3"))
    import upload as s3

    def begin(bucket, key):
        return re.search("<UploadId>(.*?)</UploadId>", s3.send("POST", f"/{bucket}/{key}", query="uploads="))[1]

    d = b.copy("groups.h5")
    key = os.path.dirname(b.json("stat", d, "/a/ds1")["key"]) + "/9"
    one, two = begin("hsopen", key), begin("hsopen", key)
    up, got = uploads_of(b, d)
    assert {o["upload_id"] for o in up} == {one, two} and {o["upload"] for o in up} == {key} and got["n_fresh"] == 2, got
    assert abs(up[0]["modified"] - up[1]["modified"]) < 600 and up[0]["modified"] > 1e9, up
    up, got = uploads_of(b, d, "--repair")
    assert [o["fresh"] for o in up] == [True, True] and got["n_removed"] == 0, got
    up, got = uploads_of(b, d, "--min-age=0", rc=1)
    assert got["n_orphans"] == 2 and got["n_removed"] == 0, got
    assert f"orphan: upload of {key} was never completed" in b.run("verify", "--min-age=0", d).stdout
    up, got = uploads_of(b, d, "--min-age=0", "--repair")
    assert got["n_removed"] == 2 and uploads_of(b, d, "--min-age=0")[0] == [], got
    # of a bucket: trees without a domain
    bucket = f"tool-uploads-{os.getpid()}"
    s3.put(f"/{bucket}", b"")
    ok(b.run("cp", b.fx("groups.h5"), f"s3://{bucket}/x.h5"))
    key = os.path.dirname(b.json("stat", f"s3://{bucket}/x.h5", "/a/ds1")["key"]) + "/9"
    begin(bucket, key)
    lost = "db/00000000-00000000/d/0000-000000-000000/7"
    begin(bucket, lost)
    others = "db/my-backup-of-2024/x", begin(bucket, "db/my-backup-of-2024/x")
    up, got = uploads_of(b, f"s3://{bucket}", "--min-age=0", "--repair")
    assert [o["upload"] for o in up] == [lost] and got["n_removed"] == 1, got
    up, got = uploads_of(b, f"s3://{bucket}/x.h5", "--min-age=0", "--repair")
    assert [o["upload"] for o in up] == [key] and uploads_of(b, f"s3://{bucket}")[0] == [], got
    ok(b.run("rm", "--yes", f"s3://{bucket}/x.h5"))
    s3.send("DELETE", f"/{bucket}/{others[0]}", query=f"uploadId={others[1]}") # it was left alone
    s3.send("DELETE", f"/{bucket}")
