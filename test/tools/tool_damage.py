"""Claims about h5bucket: verify finds and names any damage; nothing crashes on it.  Run by tool.py.

Each damage is done to a copy of one domain.  Then verify must find a problem of the right kind that names the
right object (with --deep if only a chunk's bytes show it).  All other programs must end as expected: with an
error, or without."""
import json, os, shutil, struct, subprocess, sys

import sample
from sandbox import dir_only, fails, ok, own_bucket, s3_only


def edit(path, change):
    """The JSON at path, changed in place by a function."""
    doc = json.load(open(path))
    new = change(doc)
    json.dump(doc if new is None else new, open(path, "w"))


def cut(path, n=None):
    data = open(path, "rb").read()
    open(path, "wb").write(data[:len(data) // 2 if n is None else n])


class Victim:
    """A copy of a sample domain, with ways into its objects."""

    def __init__(self, b, sample):
        self.b, self.name = b, b.copy(sample)

    def key(self, path="/"):
        return self.b.object_of(self.name, path)

    def id(self, path):
        return self.b.json("stat", self.name, path)["id"]

    def chunk(self, path):
        folder = os.path.dirname(self.key(path))
        return os.path.join(folder, next(f for f in sorted(os.listdir(folder)) if not f.startswith(".")))

    def table(self, path):
        """The JSON of a dataset's chunk table."""
        return self.key(json.load(open(self.key(path)))["creationProperties"]["layout"]["chunk_table"])

    def doc(self):
        return self.name + "/.domain.json"

    def link(self, path, **members):
        """Change one link: members of None are taken out."""
        parent, name = os.path.split(path)
        def change(doc):
            for k, v in members.items():
                doc["links"][name].pop(k, None) if v is None else doc["links"][name].update({k: v})
        edit(self.key(parent), change)

    def object(self, path, **members):
        edit(self.key(path), lambda doc: doc.update(members))

    def layout(self, path, which="layout", **members):
        def change(doc):
            at = doc["creationProperties"] if which == "creation" else doc
            at["layout"].update(members)
        edit(self.key(path), change)


def swap(v, one, other):
    a, b = v.key(one), v.key(other)
    x, y = open(a).read(), open(b).read()
    open(a, "w").write(y)
    open(b, "w").write(x)


def flip(path, at):
    data = bytearray(open(path, "rb").read())
    data[at] ^= 0x5a
    open(path, "wb").write(data)


def set_attribute(v, path, **members):
    def change(doc):
        next(iter(doc["attributes"].values())).update(members)
    edit(v.key(path), change)


def table_row(v, path, offset, size):
    """Write one row of a chunk table over."""
    chunk = os.path.join(os.path.dirname(v.table(path)), "0_0")
    data = open(chunk, "rb").read()
    open(chunk, "wb").write(struct.pack("<qi", offset, size) + data[12:])


OTHER_ROOT = "g-00000000-00000000-8888-888888-888888"
# the damage, its sample, how it is made; then the kind of problem, words of its message or path, and whether
# it takes --deep
DAMAGES = [
    ("a raw chunk cut short", "groups.h5", lambda v: cut(v.chunk("/a/b/ds2")), "chunk", ["bytes"], False),
    ("a raw chunk too long", "groups.h5", lambda v: open(v.chunk("/a/b/ds2"), "ab").write(b"more"), "chunk", ["bytes instead of"], False),
    ("an empty chunk", "filters.h5", lambda v: cut(v.chunk("/gzip9"), 0), "chunk", ["empty"], False),
    ("a compressed chunk cut short", "filters.h5", lambda v: cut(v.chunk("/gzip9")), "chunk", ["/gzip9"], True),
    ("a compressed chunk overwritten", "filters.h5", lambda v: open(v.chunk("/gzip9"), "wb").write(b"\x02" * 64), "chunk",
     ["/gzip9"], True),
    ("a list's chunk cut short", "strings.h5", lambda v: cut(v.chunk("/vlen_1d")), "chunk", ["/vlen_1d"], True),
    ("a dataset dropped", "groups.h5", lambda v: os.remove(v.key("/a/b/ds2")), "missing", ["/a/b/ds2"], False),
    ("a group dropped", "groups.h5", lambda v: os.remove(v.key("/a/b")), "missing", ["/a/b", "needed by"], False),
    ("a committed type dropped", "types.h5", lambda v: os.remove(v.key("/color")), "missing", ["/color"], False),
    ("JSON cut short", "groups.h5", lambda v: cut(v.key("/a/b")), "malformed", ["/a/b"], False),
    ("JSON empty", "groups.h5", lambda v: cut(v.key("/a/b"), 0), "malformed", ["/a/b"], False),
    ("JSON of another kind", "groups.h5", lambda v: open(v.key("/a/b"), "w").write("[1, 2]"), "malformed", ["/a/b"], False),
    ("the JSON of two datasets swapped", "groups.h5", lambda v: swap(v, "/a/b/ds2", "/a/ds1"), "malformed", ["id"], False),
    ("a group's JSON in a dataset's place", "groups.h5", lambda v: shutil.copy(v.key("/a"), v.key("/a/b/ds2")), "malformed",
     ["/a/b/ds2"], False),
    ("a link to an id that is malformed", "groups.h5", lambda v: v.link("/a/b", id="g-nonsense"), "malformed", ["/a"], False),
    ("a link to an object that never was", "groups.h5", lambda v: v.link("/a/b", id=v.id("/a/b")[:-6] + "ffffff"), "missing",
     ["/a/b"], False),
    ("a link to another domain's object", "groups.h5", lambda v: v.link("/a/b", id=OTHER_ROOT), "missing", ["/a/b"], False),
    ("a link of no class", "groups.h5", lambda v: v.link("/a/b", **{"class": "H5L_TYPE_NONE", "id": None}), "malformed", ["/a"], False),
    ("a shape that is not a list", "groups.h5", lambda v: v.object("/a/b/ds2", shape={"class": "H5S_SIMPLE", "dims": 3}), "malformed",
     ["/a/b/ds2"], False),
    ("a negative extent", "groups.h5", lambda v: v.object("/a/b/ds2", shape={"class": "H5S_SIMPLE", "dims": [-2, 3]}), "malformed",
     ["/a/b/ds2"], False),
    ("chunks of another rank", "groups.h5", lambda v: v.layout("/a/b/ds2", dims=[2]), "malformed", ["/a/b/ds2"], False),
    ("chunks of no extent", "groups.h5", lambda v: v.layout("/a/b/ds2", dims=[0, 3]), "chunk", ["bytes instead of"], False),
    ("a type of no class", "groups.h5", lambda v: v.object("/a/b/ds2", type={"class": "H5T_NONSENSE"}), "malformed", ["/a/b/ds2"],
     False),
    ("an attribute without type", "attrs.h5", lambda v: set_attribute(v, "/", type={}), "malformed", ["attribute"], False),
    ("an attribute with too few values", "attrs.h5",
     lambda v: set_attribute(v, "/", shape={"class": "H5S_SIMPLE", "dims": [7]}, value=[1, 2],
                             type={"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}), "malformed", ["attribute"], False),
    ("a chunk table dropped", "linked.h5", lambda v: os.remove(v.table("/many_chunks")), "missing", ["needed by"], False),
    ("a chunk table that is its own", "linked.h5",
     lambda v: v.layout("/many_chunks", "creation", chunk_table=v.id("/many_chunks")), "reference", ["chunk table"], False),
    ("a chunk table that is a group", "linked.h5", lambda v: v.layout("/many_chunks", "creation", chunk_table=v.id("/g")),
     "malformed", ["/many_chunks"], False),
    ("a chunk table too small", "linked.h5",
     lambda v: edit(v.table("/many_chunks"), lambda d: d["shape"].update(dims=[4, 4])), "reference", ["fill values"], False),
    ("a chunk table with a row past the file's end", "linked.h5", lambda v: table_row(v, "/many_chunks", 1 << 40, 100), "reference",
     ["reach to byte"], False),
    ("a chunk table with a negative row", "linked.h5", lambda v: table_row(v, "/many_chunks", -5, 100), "reference", ["chunk 0_0"],
     False),
    ("a reference of the wrong size", "linked.h5",
     lambda v: edit(v.key("/few_chunks"), lambda d: d["creationProperties"]["layout"]["chunks"].update({"0_0": [4016, 12]})),
     "reference", ["chunk 0_0"], False),
    ("a reference to a file that isn't there", "linked.h5",
     lambda v: v.layout("/few_chunks", "creation", file_uri="hsopen/ext/nothing.h5"), "reference", ["nothing.h5"], False),
    ("contiguous data of another size", "linked.h5", lambda v: v.layout("/contig", "creation", size=77), "reference", ["77"], False),
]


@dir_only
def test_each_damage_is_found_and_named(b):
    bad, others = [], 0
    for what, source, damage, kind, words, deep in DAMAGES:
        v = Victim(b, source)
        damage(v)
        r = b.run("verify", "--json", *(["--deep"] if deep else []), v.name)
        try:
            found = [p for p in json.loads(r.stdout)[0]["problems"] if p["kind"] == kind]
            texts = [p["path"] + " " + p["id"] + " " + p["message"] for p in found]
            assert r.returncode == 1 and any(all(w in t for w in words) for t in texts), (r.returncode, r.stdout[:600], r.stderr[:300])
        except (AssertionError, ValueError, KeyError) as e:
            bad.append((what, str(e)))
        # no other program crashes on it, or ignores it
        if not sample.takes(what, 3):
            b.run("rm", "-f", v.name)
            continue
        others += 1
        for argv in (["ls", "-rv", "--showattrs", v.name], ["info", v.name], ["stat", v.name, "/"], ["catalog", "-o", b.tmp, v.name],
                     ["verify", "--deep", v.name], ["cp", v.name, v.name + ".copy"], ["get", "-f", v.name, b.tmp + "/x.h5"],
                     ["diff", "-q", v.name, b.fx(source)], ["export", "--kerchunk", "-f", v.name, b.tmp + "/x.json"]):
            r = b.run(*argv)
            assert r.returncode in ((0, 1, 2) if argv[0] == "diff" else (0, 1)), (what, argv, r.returncode, r.stderr)
            assert r.returncode != 1 or argv[0] in ("verify", "diff") or r.stderr, (what, argv)
        b.run("rm", "-f", v.name, v.name + ".copy")
    print(f"{len(DAMAGES)} damages, {others} of them tried with the other verbs, too{sample.note()}")
    assert not bad, "\n".join(f"{what}: {why}" for what, why in bad)


@dir_only
def test_odd_but_sound_domains_pass(b):
    """Circles of links, links to nothing, external links to nothing, objects with many names."""
    v = Victim(b, "groups.h5")
    links = {"round": {"class": "H5L_TYPE_HARD", "id": v.id("/"), "created": 1},
             "nowhere": {"class": "H5L_TYPE_SOFT", "h5path": "/no/such", "created": 2},
             "itself": {"class": "H5L_TYPE_SOFT", "h5path": "itself", "created": 3},
             "outside": {"class": "H5L_TYPE_EXTERNAL", "h5path": "/x", "h5domain": "no-such.h5", "created": 4},
             "again": {"class": "H5L_TYPE_HARD", "id": v.id("/a/ds1"), "created": 5}}
    edit(v.key("/a/b"), lambda d: d["links"].update(links))
    got = b.json("verify", "--deep", "--min-age=0", v.name)[0]
    assert got["n_problems"] == got["n_orphans"] == 0, got


@dir_only
def test_a_document_that_leads_nowhere_is_named(b):
    for root in (OTHER_ROOT, "d" + OTHER_ROOT[1:], 5, None):
        d = b.copy("acl.h5")
        edit(d + "/.domain.json", lambda doc: doc.update(root=root))
        r = b.run("verify", "--json", d)
        assert r.returncode in (1, 2) and d.rsplit("/", 1)[1] in r.stderr, (root, r.returncode, r.stderr)
        assert "error" in json.loads(r.stdout)[0], r.stdout
    d = b.copy("acl.h5")
    os.remove(b.object_of(d))
    r = b.run("verify", "--json", d)
    assert "root group" in fails(r, "root group") and "root group" in json.loads(r.stdout)[0]["error"]


@own_bucket
def test_files_that_changed_are_named_each(b):
    """Links into several files of this machine, which have a stamp: each that changed is reported, not only
    the first."""
    folder = b.path("src")
    os.makedirs(folder)
    names = []
    for i in range(3):
        names.append(f"{folder}/f{i}.h5")
        shutil.copy(b.path("ext/linksrc.h5"), names[-1])
        os.utime(names[-1], (1e9, 1e9))
    d = b.new("_link.h5")
    ok(b.run("load", "--link", names[0], d))
    assert b.json("verify", "--deep", d)[0]["n_problems"] == 0
    os.utime(names[0], (1e9 + 5, 1e9 + 5))
    got = b.json("verify", d, rc=1)[0]["problems"]
    assert got and {p["kind"] for p in got} == {"changed"} and all("link it again" in p["message"] for p in got), got
    assert {p["path"] for p in got} >= {"/contig", "/few_chunks", "/many_chunks"}, got
    assert b.run("verify", "--deep", d).returncode == 1
    os.utime(names[0], (1e9, 1e9))
    cut(names[0], 3000)
    kinds = {p["kind"] for p in b.json("verify", d, rc=1)[0]["problems"]}
    assert kinds >= {"reference"}, kinds
    os.remove(names[0])
    got = b.json("verify", d, rc=1)[0]["problems"]
    assert {p["kind"] for p in got} == {"reference"} and "f0.h5" in got[0]["message"], got


@own_bucket
def test_a_folder_of_domains_is_verified(b):
    f = b.mine + "/many"
    ok(b.run("touch", f))
    for i in range(3):
        ok(b.run("cp", b.fx("acl.h5"), f"{f}/{i}.h5"))
    fails(b.run("verify", f), "-r")
    got = b.json("verify", "-r", f)
    assert [g["n_problems"] for g in got] == [0, 0, 0] and got[1]["name"].endswith("/1.h5"), got
    cut(b.object_of(f"{f}/1.h5"))
    got = b.json("verify", "-r", f, rc=1)
    assert len(got) == 3 and got[0]["n_problems"] == got[2]["n_problems"] == 0 and got[1].get("n_problems", 1), got
    ok(b.run("rm", "-r", "--yes", f))
    names = [g["name"] for g in b.json("verify", "-r", "--min-age=0", b.bucket, rc=1)]
    assert len(names) > 20 and names[-1] == b.bucket, names


def test_a_domain_is_verified_while_it_is_written(b):
    """cp into a folder that is verified again and again: never a problem, for a domain appears when it is whole."""
    f = b.new()
    ok(b.run("touch", f))
    p = subprocess.Popen([b.tool, "cp", b.fx("filters.h5"), f + "/x.h5"], stderr=subprocess.DEVNULL)
    rounds = 0
    while True:
        done = p.poll() is not None
        for got in b.json("verify", "-r", f):
            assert got["n_problems"] == 0, got
        rounds += 1
        if done:
            break
    assert p.returncode == 0 and rounds > 0 and len(b.json("verify", "-r", f)) == 1


@s3_only
def test_an_object_with_another_etag_is_named(b):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "s3"))
    from upload import put
    data = open(os.path.join(b.fixtures, "hsopen/ext/linksrc.h5"), "rb").read()
    file = b.new("_src.h5")
    put(file[len("s3:/"):], data)
    d = b.new("_link.h5")
    ok(b.run("load", "--link", file, d))
    assert b.json("verify", "--deep", d)[0]["n_problems"] == 0
    put(file[len("s3:/"):], data[:-1] + b"x")
    got = b.json("verify", d, rc=1)[0]["problems"]
    assert got and {p["kind"] for p in got} == {"changed"} and file in got[0]["message"], got
    put(file[len("s3:/"):], data)
    assert b.json("verify", "--deep", d)[0]["n_problems"] == 0


def flip_a_bit(b, key):
    """One bit of a stored object, in the middle, without a trace: the file's time, or the object's metadata, stay."""
    if b.store == "dir":
        path, before = b.path(key), os.stat(b.path(key))
        data = bytearray(open(path, "rb").read())
        data[len(data) // 2] ^= 4
        with open(path, "r+b") as f:
            f.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "s3"))
    from upload import get, put
    data, headers = get("/hsopen/" + key)
    data, kept = bytearray(data), {k: v for k, v in headers.items() if k.startswith("x-amz-meta-")}
    assert "x-amz-meta-h5bucket-crc32c" in kept, headers
    data[len(data) // 2] ^= 4
    put("/hsopen/" + key, bytes(data), kept)


def has_sums(b):
    if b.store == "s3":
        return True
    probe = os.path.join(b.tmp, "probe")
    open(probe, "w").close()
    try:
        os.setxattr(probe, "user.probe", b"1")
        return True
    except OSError:
        return False


def test_a_flipped_bit_is_named(b):
    """In a chunk and in an object's JSON: verify --deep names each key on a line of its own, and no program
    gets the value."""
    if not has_sums(b):
        return
    d = b.copy("groups.h5")
    whole = b.json("verify", "--deep", d)[0]
    assert whole["n_problems"] == 0, whole
    stat = b.json("stat", d, "/a/b/ds2")
    chunk = os.path.dirname(stat["key"]) + "/0_0"
    flip_a_bit(b, chunk)
    got = b.json("verify", "--deep", d, rc=1)[0]["problems"]
    assert len(got) == 1 and got[0]["kind"] == "chunk" and chunk in got[0]["message"] and "CRC-32C" in got[0]["message"], got
    if b.bin:  # not beside a sanitizer
        r = b.hdf5("h5dump", "-d", "/a/b/ds2", d, user="")
        assert r.returncode != 0 and "(0,0):" not in r.stdout, r.stdout
    fails(b.run("get", "-f", d, b.tmp + "/x.h5"))
    fails(b.run("cp", d, d + ".copy"), chunk)
    flip_a_bit(b, chunk)
    flip_a_bit(b, stat["key"])
    got = b.json("verify", "--deep", d, rc=1)[0]["problems"]
    assert len(got) == 1 and got[0]["path"] == "/a/b/ds2" and stat["key"] in got[0]["message"] and "CRC-32C" in got[0]["message"], got
    assert not b.bin or b.hdf5("h5dump", "-d", "/a/b/ds2", d, user="").returncode != 0
    flip_a_bit(b, stat["key"])
    assert b.json("verify", "--deep", d)[0] == whole
    ok(b.run("rm", "-f", d))
