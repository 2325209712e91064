"""Claims about h5bucket and plain HDF5 files by name: ls, info, stat, get, and refusals.  Run by tool.py.

In a folder the files are those beside the sample domains, and the same behind a web server; in S3 they are objects."""
import os, re, sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "s3"))
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


class Uploaded:
    """A plain file as an object of the bucket."""

    def __init__(self, b, name):
        import upload
        self.send, self.name = upload.send, f"{b.mine}/{name}"
        self.path = "/" + self.name.removeprefix("s3://")
        self.replace(native(b, name))

    def replace(self, path):
        with open(path, "rb") as f:
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
