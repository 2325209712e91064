"""Claims about h5bucket and plain HDF5 files by name: ls, info, stat, get, and refusals.  Run by tool.py.

In a folder the files are those beside the sample domains, and the same behind a web server; in S3 they are objects."""
import glob, json, os, random, re, signal, subprocess, sys, time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path += [os.path.join(TESTS, "s3"), os.path.join(TESTS, "h5tests", "helpers")]
from sandbox import FX, dir_only, fails, ok, s3_only
from web_folder import WebFolder

NATIVE = "native"
EACH = ("groups.h5", "attrs.h5", "linked.h5", "strings.h5", "shapes.h5")


def native(b, name):
    return os.path.join(b.fixtures, NATIVE, name)


def objects(b, *argv):
    return {o["path"]: o for o in b.json("ls", "-r", *argv)[0]["objects"]}


def same_objects(b, name, file):
    """Paths, kinds, links, types and extents are those of the domain with the same content."""
    ours, domain = objects(b, file), objects(b, f"{b.fixtures}/hsopen/{FX}/{name}")
    assert ours.keys() == domain.keys() and len(ours) > 1, (name, ours.keys() ^ domain.keys())
    for path, o in ours.items():
        for key in ("kind", "link", "file", "target", "shape", "type", "same_as"):
            assert o.get(key) == domain[path].get(key), (name, path, key, o, domain[path])


def counts(b, path):
    """HDF5's own tool counts the file's objects."""
    text = ok(b.run_any(os.path.join(b.bin, "h5stat"), path))
    found = {key: int(re.search(rf"# of unique {words}: (\d+)", text)[1])
             for key, words in (("num_groups", "groups"), ("num_datasets", "datasets"), ("num_datatypes", "named datatypes"))}
    found["allocated_bytes"] = int(re.search(r"Total raw data size: (\d+)", text)[1])
    return found


@dir_only
def test_files_have_what_their_domains_have(b):
    with WebFolder(os.path.join(b.fixtures, NATIVE)) as web:
        for name in EACH:
            same_objects(b, name, native(b, name))
            same_objects(b, name, f"{web.url}/{name}")
        assert web.requests


@dir_only
def test_info_of_files_agrees_with_h5stat(b):
    with WebFolder(os.path.join(b.fixtures, NATIVE)) as web:
        for name in EACH:
            path = native(b, name)
            here, there = b.json("info", path)[0], b.json("info", f"{web.url}/{name}")[0]
            assert here["kind"] == there["kind"] == "file" and there["file"] == f"{web.url}/{name}"
            assert here["size"] == there["size"] == os.path.getsize(path)
            assert there["etag"] == web.etag(name) and there["lastModified"] == int(os.path.getmtime(path))
            want = counts(b, path)
            for key, value in want.items():
                assert here[key] == there[key] == value, (name, key, here, want)
            with open(path, "rb") as f:
                assert here["superblock"] == f.read(9)[8]
    text = ok(b.run("info", native(b, "groups.h5")))
    assert "kind             file" in text and "groups           84" in text, text


@dir_only
def test_both_kinds_of_name_are_asked_for_at_once(b):
    with WebFolder(os.path.join(b.fixtures, NATIVE), wait=0.3) as web:
        for verb in ("info", "stat", "ls"):
            del web.requests[:]
            ok(b.run(verb, f"{web.url}/groups.h5"))
            begun = {path: when for when, path, _ in web.requests}
            assert set(begun) == {"/groups.h5", "/groups.h5/.domain.json"}, begun
            assert abs(begun["/groups.h5"] - begun["/groups.h5/.domain.json"]) < 0.25, begun
            assert len(web.requests) == 2, web.requests


@dir_only
def test_names_go_on_inside_files(b):
    with WebFolder(os.path.join(b.fixtures, NATIVE)) as web:
        for base in (native(b, "groups.h5"), f"{web.url}/groups.h5"):
            assert [o["path"] for o in b.json("ls", base + "/a/b")[0]["objects"]] == ["/a/b", "/a/b/c", "/a/b/ds2"]
            got = b.json("stat", base + "/a/b/ds2")
            assert got == b.json("stat", base, "/a/b/ds2") and got["file"] == base
            assert got["shape"]["dims"] == [2, 3] and got["hard_links"] == 1 and got["storage"]["bytes"] == 24
            fails(b.run("ls", base + "/a/nothing"), "nothing")
            fails(b.run("stat", base, "/a/nothing"), "nothing")


@dir_only
def test_stat_shows_filters_chunks_and_attributes(b):
    path = native(b, "linked.h5")
    got = b.json("stat", path, "/many_chunks")
    assert got["layout"] == "H5D_CHUNKED" and got["chunk"] == [8, 16], got
    assert got["filters"] == [{"id": 2, "name": "shuffle"}, {"id": 1, "name": "deflate", "level": 4}], got
    assert got["storage"]["where"] == "files" and got["storage"]["chunks"] == 32, got
    ours, domain = (b.json("stat", f, "/g1")["attributes"] for f in (native(b, "attrs.h5"), f"{b.fixtures}/hsopen/{FX}/attrs.h5"))
    assert [a["name"] for a in ours] == [a["name"] for a in domain]
    pairs = [(x["value"], y["value"]) for x, y in zip(ours, domain) if "reference" not in x["type"]]
    assert len(pairs) > 10 and sum(x == y for x, y in pairs) >= len(pairs) - 3, [p for p in pairs if p[0] != p[1]]


@dir_only
def test_attributes_with_references_are_shown_without_values(b):
    """Ids of a domain, which a shown reference names, don't exist for a file."""
    if not b.odd:
        return
    path = f"{b.tmp}/leads.h5"
    ok(b.run_any(b.odd, "leads", path))
    shown = {a["name"]: a for a in b.json("stat", path, "/d")["attributes"]}
    assert shown["integer"]["value"] == 7, shown
    assert {name for name, a in shown.items() if a.get("value") is None} == {"new", "object", "region"}, shown
    listed = ok(b.run("ls", "-r", "--showattrs", path))
    assert all(name in listed for name in shown), listed


class Uploaded:
    """A plain file as an object of the bucket."""

    def __init__(self, b, name):
        import upload
        self.send, self.name = upload.send, f"{b.mine}/{os.path.basename(name)}"
        self.path = "/" + self.name.removeprefix("s3://")
        with open(native(b, name), "rb") as f:
            self.send("PUT", self.path, f.read())

    def __enter__(self):
        return self.name

    def __exit__(self, *_):
        self.send("DELETE", self.path)


@s3_only
def test_verbs_show_files_in_s3(b):
    with Uploaded(b, "groups.h5") as name:
        same_objects(b, "groups.h5", name)
        got = b.json("info", name)[0]
        assert got["kind"] == "file" and got["size"] == os.path.getsize(native(b, "groups.h5")) and len(got["etag"]) == 34, got
        assert got["num_groups"] == 84 and got["num_datasets"] == 3, got
        assert b.json("stat", name + "/a/b/ds2")["shape"]["dims"] == [2, 3]
        for verb in (["acl"], ["snapshot"], ["rm", "--yes"], ["verify"], ["catalog"]):
            fails(b.run(*verb, name), "is a plain HDF5 file in a store, not a domain", "h5bucket load --link")
        for verb in ("cp", "mv"):
            fails(b.run(verb, name, b.new()), "is a plain HDF5 file in a store, not a domain", "h5bucket load --link")
        for argv in ([name], ["-p", name], ["-p", name + "/deep/er"]):
            fails(b.run("touch", *argv), os.path.basename(name) + " is a plain HDF5 file in a store, not a folder")
        fails(b.run("touch", name + "/deep"), ": not a folder; -p makes")
        assert b.json("info", name)[0]["kind"] == "file"


BIG = 21 << 20


def big_file(b, folder, seed):
    """An HDF5 file with more bytes behind it, as a large one is."""
    os.makedirs(folder, exist_ok=True)
    with open(native(b, "groups.h5"), "rb") as f:
        data = f.read()
    data += random.Random(seed).randbytes(BIG - len(data))
    with open(os.path.join(folder, "new"), "wb") as f:
        f.write(data)
    os.replace(os.path.join(folder, "new"), os.path.join(folder, "big.h5"))
    return data


def content(path):
    with open(path, "rb") as f:
        return f.read()


@dir_only
def test_get_downloads_a_file(b):
    data, out = big_file(b, f"{b.tmp}/web", 1), f"{b.tmp}/down.h5"
    with WebFolder(f"{b.tmp}/web") as web:
        got = b.json("get", f"{web.url}/big.h5?sig=a/b", out, env={"H5BUCKET_TEST": "hedge=0"})
        assert got == {"file": out, "kind": "file", "bytes": BIG, "resumed_bytes": 0}, got
        assert content(out) == data and not glob.glob(out + ".*")
        assert web.sent == BIG and max(end - begin for begin, end in ranges(web)) <= 4 << 20
        fails(b.run("get", f"{web.url}/big.h5", out), "exists; --force replaces it")
        data = big_file(b, f"{b.tmp}/web", 2)
        ok(b.run("get", "-f", f"{web.url}/big.h5", out))
        assert content(out) == data
        here = f"{b.tmp}/here"
        os.makedirs(here)
        r = subprocess.run([b.tool, "get", "-v", f"{web.url}/big.h5?sig=a/b"], cwd=here, capture_output=True, text=True)
        assert r.returncode == 0 and os.listdir(here) == ["big.h5"] and f"{BIG} bytes" in r.stdout, r
        fails(b.run("get", f"{web.url}/absent.h5", f"{b.tmp}/none.h5"), "absent.h5")
        assert not glob.glob(f"{b.tmp}/none.h5*")


def ranges(web):
    return [(int(first), int(last) + 1) for first, last in
            (r.removeprefix("bytes=").split("-") for _, path, r in web.requests if r and "domain.json" not in path)]


def cut(b, web, out, after):
    """A download of which the server sends that many bytes."""
    web.cut_after = web.sent + after
    r = b.run("get", f"{web.url}/big.h5", out, env={"H5BUCKET_RETRIES": "1", "H5BUCKET_TEST": "hedge=0"})
    web.cut_after = None
    return r


@dir_only
def test_get_goes_on_where_it_was_cut_off(b):
    data, out = big_file(b, f"{b.tmp}/web", 3), f"{b.tmp}/cut.h5"
    with WebFolder(f"{b.tmp}/web") as web:
        text = fails(cut(b, web, out, 13 << 20), "bytes are kept in", ".h5bucket-part", "goes on with them")
        kept = int(re.search(r"(\d+) of \d+ bytes are kept", text)[1])
        assert kept >= 4 << 20 and not os.path.exists(out), text
        before = web.sent
        got = b.json("get", f"{web.url}/big.h5", out, env={"H5BUCKET_TEST": "hedge=0"})
        assert got["resumed_bytes"] == kept, (got, kept)
        assert web.sent - before <= BIG - kept + (1 << 20), (web.sent - before, kept)
        assert content(out) == data and not glob.glob(out + ".*")


@dir_only
def test_get_begins_anew_with_another_version(b):
    for etags in (True, False):
        big_file(b, f"{b.tmp}/web", 4)
        out = f"{b.tmp}/again{etags}.h5"
        with WebFolder(f"{b.tmp}/web", etags=etags) as web:
            fails(cut(b, web, out, 13 << 20), "bytes are kept in")
            data = big_file(b, f"{b.tmp}/web", 5)
            os.utime(f"{b.tmp}/web/big.h5", (1e9, 1e9))
            got = b.json("get", f"{web.url}/big.h5", out)
            assert got["resumed_bytes"] == 0 and content(out) == data and not glob.glob(out + ".*")


@dir_only
def test_get_of_a_file_replaced_meanwhile_fails(b):
    big_file(b, f"{b.tmp}/web", 6)
    out = f"{b.tmp}/mixed.h5"
    with WebFolder(f"{b.tmp}/web") as web:
        web.after = (3, lambda: big_file(b, f"{b.tmp}/web", 7))
        fails(b.run("get", f"{web.url}/big.h5", out), "replaced")
        assert not glob.glob(out + "*")


@dir_only
def test_get_that_is_stopped_keeps_its_bytes(b):
    data, out = big_file(b, f"{b.tmp}/web", 8), f"{b.tmp}/stopped.h5"
    with WebFolder(f"{b.tmp}/web") as web:
        for how in (signal.SIGINT, signal.SIGKILL):
            web.wait = 0.0
            web.stuck_from = 12 << 20
            p = subprocess.Popen([b.tool, "get", f"{web.url}/big.h5", out], stderr=subprocess.PIPE, text=True)
            until = time.monotonic() + 60
            while web.sent < 8 << 20 and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(3)  # the marks are stored every two seconds
            p.send_signal(how)
            p.communicate(timeout=60)
            assert p.returncode not in (0, None) and not os.path.exists(out)
        web.stuck_from = None
        got = b.json("get", f"{web.url}/big.h5", out)
        assert got["resumed_bytes"] >= 4 << 20 and content(out) == data, got


@dir_only
def test_get_with_options_of_copies_copies(b):
    """Everything, also groups of so many links that HDF5 indexes them, and the root group's order of creation."""
    with WebFolder(os.path.join(b.fixtures, NATIVE)) as web:
        for option, name in ("-n", "shapes.h5"), ("-l", "groups.h5"), ("-l", "numeric.h5"), ("-l", "tree.h5"), ("-l", "tracked.h5"):
            out = f"{b.tmp}/copied-{name}"
            got = b.json("get", option, f"{web.url}/{name}", out)
            assert got["objects"] > 5 and content(out) != content(native(b, name)), got
            assert b.json("diff", *(["-n"] if option == "-n" else []), native(b, name), out) == [], name
        dump = [ok(b.run_any(os.path.join(b.bin, "h5dump"), "-n", "-q", "creation_order", f)).split("\n", 1)[1]
                for f in (out, native(b, "tracked.h5"))]
        assert dump[0] == dump[1] and "/zz" in dump[0], dump


@dir_only
def test_files_are_loaded_and_exported_through_pointers(b):
    file, pointer, d = native(b, "linked.h5"), f"{b.tmp}/to-linked.h5", b.new()
    ok(b.run("pointer", file, pointer))
    chunks = [json.loads(ok(b.run("chunks", f))) for f in (file, pointer)]
    assert chunks[0] == chunks[1], chunks
    ok(b.run("load", "--link", pointer, d))
    assert b.json("diff", d, file, env={"H5BUCKET_ALLOW": "file://" + os.path.dirname(file)}) == []
    files = b.json("stat", d, "/contig")["storage"]["files"]
    assert [f["uri"] for f in files] == ["file://" + file], files
    ok(b.run("export", "--kerchunk", pointer, f"{b.tmp}/set.json"))
    ok(b.run("pointer", f"{b.tmp}/absent.h5", f"{b.tmp}/to-absent.h5"))
    fails(b.run("load", f"{b.tmp}/to-absent.h5", b.new()), "No such file")


@dir_only
def test_an_export_to_a_full_disk_says_why(b):
    out = f"{b.tmp}/full.json"
    for limit in (0, 64):  # the file can't be finished, whatever fits into it
        r = b.run_any("sh", "-c", f'trap "" XFSZ; exec prlimit --fsize={limit} "$@"', "sh", b.tool, "export", "--kerchunk", native(b, "linked.h5"), out)
        fails(r, "full.json can't be written: File too large")
        assert glob.glob(out + "*") == [], limit


@s3_only
def test_a_domain_hides_a_file_only_by_force(b):
    sources = (("load", native(b, "groups.h5")), ("cp", b.copy("groups.h5")), ("mv", b.copy("groups.h5")))
    for verb, source in sources:
        with Uploaded(b, "strings.h5") as name:
            fails(b.run(verb, source, name), "a file with this name exists, and it is not a domain")
            assert b.json("info", name)[0]["kind"] == "file"
            ok(b.run(verb, "--force", source, name))
            assert b.json("info", name)[0]["num_groups"] == 84, verb
            ok(b.run("rm", "--yes", name))
            got = b.json("info", name)[0]
            assert got["kind"] == "file" and got["size"] == os.path.getsize(native(b, "strings.h5")), verb


@dir_only
def test_a_domain_never_takes_a_files_place_in_a_folder(b):
    there, text = b.new(), "not HDF5"
    os.makedirs(os.path.dirname(there), exist_ok=True)
    with open(there, "w") as f:
        f.write(text)
    for verb, source, word in (("load", native(b, "groups.h5"), "a file with this name exists, and it is not a domain"),
                               ("cp", b.copy("groups.h5"), "is a plain file"), ("mv", b.copy("groups.h5"), "is a plain file")):
        for options in ([], ["--force"]):
            fails(b.run(verb, *options, source, there), word)
    with open(there) as f:
        assert f.read() == text


@s3_only
def test_get_downloads_a_file_from_s3(b):
    data, out = big_file(b, f"{b.tmp}/big", 9), f"{b.tmp}/s3.h5"
    with Uploaded(b, f"{b.tmp}/big/big.h5") as name:
        got = b.json("get", name, out)
        assert got["bytes"] == BIG and content(out) == data
    ok(b.run("get", b.fx("groups.h5"), f"{b.tmp}/domain.h5"))
    assert b.json("info", f"{b.tmp}/domain.h5")[0]["num_groups"] == 84
