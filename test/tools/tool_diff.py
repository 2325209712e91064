"""Claims about h5bucket: diff.  Run by tool.py."""
import json, os, re

import sample
from sandbox import dir_only, fails, ok


def test_diff_finds_sample_domains_equal_to_their_twins(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        name = os.path.basename(d["domain"])
        if b.store == "s3" and not sample.takes(d["domain"], 3):  # a sample takes all in folders
            continue
        if not d.get("native") or name in ("big.h5", "sparse.h5"):  # extents that no program reads whole
            continue
        r = b.run("diff", "--json", b.bucket + d["domain"], os.path.join(b.fixtures, d["native"]))
        # hsload lets extents grow otherwise, and changes some types
        other = {x["what"] for x in json.loads(r.stdout)} - {"maxdims"} - ({"type", "attribute"} if "hsload" in d["domain"] or d.get("type_differences") else set())
        assert r.returncode < 2 and not other, (d["domain"], r.stdout[:500], r.stderr)


@dir_only
def test_diff_prints_what_differs(b):
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


def test_diff_looks_at_what_references_select(b):
    if not b.refs:
        return
    f, g, d = os.path.join(b.tmp, "refs1.h5"), os.path.join(b.tmp, "refs2.h5"), b.new()
    ok(b.run_any(b.refs, f, "1"))
    ok(b.run_any(b.refs, g, "2"))
    ok(b.run("load", f, d))
    assert b.json("diff", d, f) == []
    assert [x["path"] for x in b.json("diff", d, g, rc=1)] == ["/ref0", "/ref1", "/ref2", "/ref3"]


def test_diff_finds_the_first_difference_of_long_rows(b):
    if not b.sparse:
        return
    f, g, d = os.path.join(b.tmp, "wide1.h5"), os.path.join(b.tmp, "wide2.h5"), b.new()
    ok(b.run_any(b.sparse, "wide", f, "0"))
    ok(b.run_any(b.sparse, "wide", g, "1"))
    ok(b.run("load", f, d))
    assert b.json("diff", d, f) == []
    assert [x["text"] for x in b.json("diff", d, g, rc=1)] == [f"2 of {6 << 20} elements differ, first at (0, {(3 << 20) - 7})"]


def test_a_compound_of_many_fields_keeps_its_reference_and_a_long_comment(b):
    if not b.sparse:
        return
    f, g, d = os.path.join(b.tmp, "fields.h5"), os.path.join(b.tmp, "fields2.h5"), b.new()
    ok(b.run_any(b.sparse, "fields", f))
    ok(b.run("load", f, d))
    assert b.json("diff", f, d) == []
    ok(b.run("get", d, g))
    assert b.json("diff", g, d) == [] and b.json("diff", g, f) == []
    for h5 in f, g:
        assert 10000 * b"c" in open(h5, "rb").read(), h5


def test_a_grid_of_2_to_the_46_is_never_gone_through(b):
    """A chunk table, and version 1, whose chunks can't be listed by themselves."""
    if not b.sparse:
        return
    f, g = os.path.join(b.tmp, "far.h5"), os.path.join(b.tmp, "far2.h5")
    allow = {"H5BUCKET_ALLOW": "file://" + b.tmp}
    ok(b.run_any(b.sparse, "far", f))
    forms = [((), None)]  # a domain in S3 can't refer to a file here, and version 1 lists the bucket, which others share
    if b.store == "dir":
        forms = [(("--link",), allow), ((), {"H5BUCKET_SCHEMA": "v1"})]
    for options, env in forms:
        d = b.new()
        ok(b.run("load", *options, f, d, env=env))
        assert "{1099511627776/Inf, 4194304}" in ok(b.run("ls", "-v", d + "/far", env=allow))
        assert b.json("verify", "--deep", d, env=allow)[0]["chunks_decoded"] >= 12
        assert b.json("diff", f, d, env=allow) == []
        ok(b.run("get", "--force", d, g, env=allow))
        assert b.json("diff", g, d, env=allow) == []
        ok(b.run("rm", d))


def test_what_was_never_written_is_neither_copied_nor_compared(b):
    """Extents of 10^12 lists, texts and references: a program that goes through all of it never ends."""
    if not b.sparse:
        return
    ours = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"}
    f, g, d = os.path.join(b.tmp, "sparse1.h5"), os.path.join(b.tmp, "sparse2.h5"), b.new()
    ok(b.run_any(b.sparse, "make", f))
    ok(b.run_any(b.sparse, "check", f))
    ok(b.run("load", f, d))
    ok(b.run_any(b.sparse, "check", d, env=ours))
    ok(b.run("get", d, g))
    ok(b.run_any(b.sparse, "check", g))
    assert b.json("diff", d, f) == [] and b.json("diff", g, d) == []
    # a fill value of variable length lies in the heap of an HDF5 file, where it can't be found in a file open
    # for reading only
    d, g = b.new(), os.path.join(b.tmp, "sparse3.h5")
    ok(b.run_any(b.sparse, "make-filled", d, env=ours))
    ok(b.run("get", d, g))
    ok(b.run_any(b.sparse, "check-filled", g))


def test_what_neither_side_has_stored_is_equal(b):
    """2^45 bytes, contiguous and in chunks of several shapes; one element of them shows a fill value."""
    if not b.odd:
        return
    n1, n2, n3 = (os.path.join(b.tmp, f"never{i}.h5") for i in (1, 2, 3))
    for f, side, fill in ((n1, 100, 0), (n2, 70, 0), (n3, 100, 7)):
        ok(b.run_any(b.odd, "never", f, str(side), str(fill)))
    d1, d2, back = b.new(), b.new(), os.path.join(b.tmp, "never4.h5")
    ok(b.run("load", n1, d1))
    ok(b.run("load", n2, d2))
    for x, y in ((n1, d1), (n1, n2), (d1, n2), (d1, d2))[::sample.step(3)]:
        assert b.json("diff", x, y) == [], (x, y)
    ok(b.run("get", d2, back))
    assert b.json("diff", back, n1) == []
    for x in (d1, n1, d2)[::sample.step(2)]:
        all = 1 << 45
        assert {r["path"]: r["text"] for r in b.json("diff", x, n3, rc=1)} == {
            "/contiguous": f"{all} of {all} elements differ, first at (0, 0)", "/none": f"{all} of {all} elements differ, first at (0, 0)",
            "/few": f"{all - 2} of {all} elements differ, first at (0, 0)"}, x
    assert b.json("stat", d1, "/contiguous")["kind"] == "dataset"


def test_bytes_behind_the_nul_of_strings_are_not_compared(b):
    """They are not part of the value, and a domain has zeros there.  In padded strings they are compared, and
    kept."""
    if not b.odd:
        return
    f, g, d, back = os.path.join(b.tmp, "tails1.h5"), os.path.join(b.tmp, "tails2.h5"), b.new(), os.path.join(b.tmp, "tails3.h5")
    ok(b.run_any(b.odd, "tails", f, "0"))
    ok(b.run_any(b.odd, "tails", g, "1"))
    ok(b.run("load", f, d))
    ok(b.run("get", d, back))
    for x in f, d, back:
        assert b.json("diff", x, f) == [], x
        assert [(r["path"], r["text"]) for r in b.json("diff", x, g, rc=1)] == [("/padded", "2 of 2 elements differ, first at (0)")], x
    stored = open(back, "rb").read()
    assert stored.count(b"ab\0\0\0\0\0\0") == 2 and stored.count(b"ab\0xxxxx") == 1


@dir_only
def test_what_no_source_or_raw_file_holds_is_equal(b):
    """2^45 bytes each, of which only a source of ten, or a raw file of three or four, exists."""
    if not b.odd:
        return
    f, g = os.path.join(b.tmp, "else1.h5"), os.path.join(b.tmp, "else2.h5")
    ok(b.run_any(b.odd, "elsewhere", f, "3"))
    ok(b.run_any(b.odd, "elsewhere", g, "4"))
    d = b.new()
    ok(b.run("load", f, d))
    all = 1 << 45
    for x in f, d:
        assert b.json("diff", x, f) == [], x
        assert {r["path"]: r["text"] for r in b.json("diff", x, g, rc=1)} == {
            "/source": "10 of 10 elements differ, first at (0, 0)", "/virtual": f"10 of {all} elements differ, first at ({(1 << 25) - 2}, 5)",
            "/raw": f"1 of {all} elements differ, first at (0, 3)"}, x


@dir_only
def test_sources_that_nobody_wrote_are_equal(b):
    """2^45 bytes, mapped from the same file and from another one.  Their fill value counts if it isn't the
    virtual dataset's."""
    if not b.odd:
        return
    f, g, odd = (os.path.join(b.tmp, f"blank{i}.h5") for i in (1, 2, 3))
    for x in f, g:
        ok(b.run_any(b.odd, "blank", x, "7"))
    d, back = os.path.join(b.tmp, "blank4.h5"), os.path.join(b.tmp, "blank5.h5")
    ok(b.run("load", f, d))
    ok(b.run("get", d, back))
    for x, y in ((f, g), (f, d), (d, g), (d, d), (back, d)):
        assert b.json("diff", x, y) == [], (x, y)
    for name in "/x", "/here", "/there":
        assert b.json("stat", d, name)["kind"] == "dataset"
    ok(b.run("verify", "--deep", d))
    copy = os.path.join(b.tmp, "blank6.h5")
    ok(b.run("cp", d, copy))
    assert b.json("diff", d, copy) == []
    ok(b.run_any(b.odd, "blank", odd, "9"))
    odd_domain = os.path.join(b.tmp, "blank7.h5")
    ok(b.run("load", odd, odd_domain))
    for x, y in ((f, odd), (f, odd_domain), (d, odd), (d, odd_domain)):
        assert {r["path"]: r["text"] for r in b.json("diff", x, y, rc=1)}["/few"] == f"10 of {1 << 45} elements differ, first at (5, 6)", (x, y)


@dir_only
def test_raw_files_that_neither_side_has_are_equal(b):
    """HDF5 can't read any of it.  It is an error where one side has something."""
    if not b.odd:
        return
    ours = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"}
    f, g, d, raw = (os.path.join(b.tmp, f"raw{i}") for i in (1, 2, 3, 4))
    ok(b.run_any(b.odd, "raw", f, raw))
    ok(b.run_any(b.odd, "raw", g, raw + "-other"))
    ok(b.run_any(b.odd, "raw", d, raw + "-domain", env=ours))
    assert os.path.isdir(d)
    for x, y in ((f, g), (f, d), (d, g)):
        assert b.json("diff", x, y) == [], (x, y)
    with open(raw, "wb") as w:
        w.write(b"abcdef")
    for x in g, d:
        for name in "/small", "/large":
            r = b.run("diff", f, x, name)
            assert r.returncode == 2 and re.search("no such file|raw data file", r.stderr, re.I), (name, r.returncode, r.stderr)
