"""Claims about h5bucket: load.  Run by tool.py; forms of files and --extend have tests of their own in test/h5tests."""
import array, json, math, os, re, shutil, subprocess

from sandbox import dir_only, fails, ok

DEFAULT = {"HDF5_USE_FILE_LOCKING": ""}  # as HDF5 was built


def held(b, name):
    """A program that has the file open for writing, and the file."""
    f = os.path.join(b.tmp, name)
    p = subprocess.Popen([b.odd, "held", f], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ready\n"
    return f, p


def end(p):
    p.stdin.close()
    p.wait()


def nothing_at(b, d):
    fails(b.run("stat", d), rc=1)


@dir_only
def test_a_file_that_is_being_written_is_refused_as_by_hdf5(b):
    if not b.odd:
        return
    f, p = held(b, "held.h5")
    ours = {"HDF5_PLUGIN_PATH": b.plugin}
    try:
        for options in ([], ["--link"], ["--link", "--extend", "0"]):
            for name in (f, "file://" + f):
                d = b.new()
                fails(b.run("load", *options, name, d, env=DEFAULT), f, "unable to lock file", "HDF5_USE_FILE_LOCKING")
                nothing_at(b, d)
        fails(b.run("chunks", f, env=DEFAULT), "unable to lock file")
        fails(b.run("diff", f, f, env=DEFAULT), "unable to lock file", rc=2)
        assert "10" not in b.run_any(os.path.join(b.bin, "h5dump"), "-d", "x", f, env=DEFAULT).stdout  # as HDF5 itself
        # without locks HDF5 still refuses a file that is marked as open, if the file has the mark
        fails(b.run("load", f, b.new(), env={"HDF5_USE_FILE_LOCKING": "FALSE"}), "open for writing")
    finally:
        end(p)
    d = b.new()
    fails(b.run("load", f, d, env=DEFAULT), f, "marked as open for writing", "h5clear")
    ok(b.run_any(os.path.join(b.bin, "h5clear"), "-s", f, env=ours))
    ok(b.run("load", f, d, env=DEFAULT))
    assert b.json("diff", f, d) == []


@dir_only
def test_locks_follow_the_environment(b):
    import fcntl
    if not b.odd:
        return
    f = os.path.join(b.tmp, "locked.h5")
    ok(b.run_any(b.odd, "small", f))
    with open(f, "rb") as h:
        fcntl.flock(h, fcntl.LOCK_EX)
        for value, refused in (("TRUE", True), ("BEST_EFFORT", True), ("1", True), ("FALSE", False), ("0", False)):
            env = {"HDF5_USE_FILE_LOCKING": value}
            native_refuses = b.run_any(os.path.join(b.bin, "h5dump"), "-H", f, env=env).returncode != 0
            got = b.run("load", f, b.new(), env=env)
            assert native_refuses == refused == (got.returncode != 0), (value, native_refuses, got.stderr)
        fcntl.flock(h, fcntl.LOCK_SH)  # another reader
        ok(b.run("load", f, b.new(), env=DEFAULT))


def values(b, name, dset, domain=True):
    """A dataset's 4-byte integers, as h5dump reads them."""
    out = os.path.join(b.tmp, "values")
    env = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"} if domain else {}
    ok(b.run_any(os.path.join(b.bin, "h5dump"), "-b", "LE", "-o", out, "-d", dset, name, env={**env, "H5BUCKET_ALLOW": "file://" + b.tmp}))
    return array.array("i", open(out, "rb").read()).tolist()


def document(b, d, path):
    return json.load(open(b.object_of(d, path)))


def test_a_domain_is_replaced_only_with_force(b):
    if not b.odd:
        return
    f, g, d = os.path.join(b.tmp, "first.h5"), os.path.join(b.tmp, "second.h5"), b.new()
    ok(b.run_any(b.odd, "small", f))
    ok(b.run_any(b.odd, "step", g, "0"))
    ok(b.run("load", f, d))
    for options in ([], ["-n"], ["--nodata"], ["--extend", "0"]):
        fails(b.run("load", *options, g, d), f"{d} exists; --force replaces it, --append adds to it")
        assert b.json("diff", f, d) == [], options
    ok(b.run("load", "--force", g, d))
    assert b.json("diff", g, d) == []
    ok(b.run("load", "--append", f, d))
    assert "/v " in ok(b.run("ls", d)) and "/tiles " in ok(b.run("ls", d))
    many = b.new() + "/"
    ok(b.run("touch", many[:-1]))
    ok(b.run("load", f, g, many))
    assert fails(b.run("load", f, g, many)).count("--force replaces it") == 2
    ok(b.run("load", "--force", f, g, many))
    ok(b.run("load", "--force", f, b.new()))  # nothing is there


@dir_only
def test_the_scheme_of_a_local_file_is_in_any_case(b):
    if not b.odd:
        return
    f, allow = os.path.join(b.tmp, "scheme.h5"), {"H5BUCKET_ALLOW": "file://" + b.tmp}
    ok(b.run_any(b.odd, "small", f))
    for name in ("file://" + f, "FILE://" + f):
        for options in ([], ["--link"]):
            d = b.new()
            ok(b.run("load", *options, name, d, env=allow))
            ok(b.run("diff", d, f, env=allow))
            assert b.json("verify", "--deep", d, env=allow)[0]["n_problems"] == 0
        ok(b.run("chunks", name))


@dir_only
def test_messages_of_extend_name_what_they_are_about(b):
    if not b.odd:
        return
    one, two, small = (os.path.join(b.tmp, n) for n in ("one.h5", "two.h5", "tiny.h5"))
    for f, n in ((one, "0"), (two, "1")):
        ok(b.run_any(b.odd, "step", f, n))
    ok(b.run_any(b.odd, "small", small))
    d, more, third = b.new(), os.path.join(b.tmp, "more.h5"), os.path.join(b.tmp, "third.h5")
    shutil.copy(two, more)
    shutil.copy(two, third)
    for dset in "line", "time":
        ok(b.run_any(os.path.join(b.bin, "h5copy"), "-i", small, "-o", more, "-s", dset, "-d", f"in/{dset}", "-p"))
    ok(b.run("load", "--link", "--extend", "0", one, d))
    fails(b.run("load", "--link", "-a", "--extend", "0", two, more, d), "more.h5: refused: /in/line and 1 more datasets are not in the domain, "
          "which has 1")
    ok(b.run_any(os.path.join(b.bin, "h5copy"), "-i", small, "-o", third, "-s", "time", "-d", "eighth"))
    fails(b.run("load", "--link", "-a", "--extend", "0", two, third, d), "third.h5: refused: /eighth is not in the domain, which has 1")
    none = b.run("load", "--link", "--extend", "0", small, b.new())
    assert none.returncode == 0 and "nothing is linked, all values are copied" in none.stderr, none.stderr
    assert "nothing is linked" not in b.run("load", "--extend", "0", small, b.new()).stderr
    assert "nothing is linked" not in b.run("load", "--link", "--extend", "0", one, b.new()).stderr


@dir_only
def test_a_changed_file_is_one_line_however_many_references(b):
    if not b.odd:
        return
    f, d, allow = os.path.join(b.tmp, "changes.h5"), b.new(), {"H5BUCKET_ALLOW": "file://" + b.tmp}
    ok(b.run_any(b.odd, "small", f))
    ok(b.run("load", "--link", f, d))
    os.utime(f, (1e9, 1e9))
    for options in ([], ["--deep"]):
        got = b.json("verify", *options, d, rc=1, env=allow)[0]["problems"]
        assert [(p["path"], p["kind"]) for p in got] == [(p, "changed") for p in ("/line", "/tiles", "/time")], got
        for p, n in zip(got, (1250, 38 * 63, 3000)):
            assert "changes.h5 changed since it was linked" in p["message"] and f" has {n} references into it; link it again" in p["message"], p
        out = b.run("verify", *options, d, env=allow).stdout
        assert out.count("changes.h5") == 3, out


@dir_only
def test_rows_that_name_files_are_hdf5_chunks_to_hsds(b):
    """HSDS takes one file for all HDF5 chunks of one of its chunks, so each of its chunks must be one of
    them."""
    if not b.odd:
        return
    f, d = [os.path.join(b.tmp, f"step{i}.h5") for i in range(4)], b.new()
    for i in range(4):
        ok(b.run_any(b.odd, "step", f[i], str(i)))
    want = [v for i in range(4) for v in range(100000 * i, 100000 * i + 24000)]
    ok(b.run("load", "--link", "--extend", "0", *f[:2], d))
    doc = document(b, d, "/v")
    layout = doc["creationProperties"]["layout"]
    assert layout["class"] == "H5D_CHUNKED_REF_INDIRECT" and "file_uri" not in layout and "hyper_dims" not in layout, layout
    assert layout["dims"] == doc["layout"]["dims"] == [1, 6000], doc
    assert values(b, d, "/v") == want[:48000]
    # a domain of an older version, whose rows name files in spite of hyper_dims
    layout["dims"] = doc["layout"]["dims"] = [8, 6000]
    layout["hyper_dims"] = [1, 6000]
    json.dump(doc, open(b.object_of(d, "/v"), "w"))
    assert values(b, d, "/v") == want[:48000]
    ok(b.run("load", "--link", "-a", "--extend", "0", *f[2:], d))
    assert values(b, d, "/v") == want
    assert b.json("verify", "--deep", d, env={"H5BUCKET_ALLOW": "file://" + b.tmp})[0]["problems"] == []


@dir_only
def test_small_chunks_are_few_in_a_chunk_of_hsds(b):
    """Their offsets go through one URL."""
    if not b.odd:
        return
    f, d = os.path.join(b.tmp, "small.h5"), b.new()
    ok(b.run_any(b.odd, "small", f))
    ok(b.run("load", "--link", f, d))
    for path, chunk in (("/line", [16]), ("/tiles", [8, 8]), ("/time", [1])):
        doc = document(b, d, path)
        layout = doc["creationProperties"]["layout"]
        assert layout["hyper_dims"] == chunk and layout["dims"] == doc["layout"]["dims"], doc
        assert all(a % c == 0 for a, c in zip(layout["dims"], chunk)), layout
        assert math.prod(layout["dims"]) == 256 * math.prod(chunk), layout
        assert values(b, d, path) == values(b, f, path, domain=False), path


def texts(b, name, dset, *part, domain=True):
    env = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"} if domain else {}
    out = ok(b.run_any(os.path.join(b.bin, "h5dump"), "-d", dset, *part, name, env=env)).split("DATA {")[1]
    return re.findall(r'"([^"]*)"', out.split("}")[0])


@dir_only
def test_strings_that_hdf5_reads_in_part_only_are_loaded_whole(b):
    """HDF5 can't fill the chunks that a program has not stored, of variable length, in a file that is open for reading."""
    if not b.odd:
        return
    f = shutil.copy(os.path.join(b.cases, "nc_string_partly_written.nc"), b.tmp)
    assert b.run_any(os.path.join(b.bin, "h5dump"), "-d", "s", f).returncode != 0  # so it still is
    for options in ([], ["--link"]):
        d = b.new()
        ok(b.run("load", *options, f, d))
        for dset, fill in (("s", ""), ("w", "dflt")):
            stored = texts(b, f, dset, "-s", "4", "-c", "2", domain=False)
            assert len(stored) == 2 and stored[1] in ("x", "y"), stored
            assert texts(b, d, dset) == 4 * [fill] + stored, dset
        assert values(b, d, "n") == values(b, f, "n", domain=False)


@dir_only
def test_what_cant_be_read_is_left_out_when_asked_for(b):
    if not b.odd:
        return
    f, d = os.path.join(b.tmp, "broken.nc"), b.new()
    whole = open(os.path.join(b.cases, "nc_string_partly_written.nc"), "rb").read()
    open(f, "wb").write(whole.replace(b"GCOL", b"XCOL"))  # the heap of all that has a variable length
    for options in ([], ["--link"]):
        fails(b.run("load", *options, f, d), "broken.nc", "/s: ", "heap collection")
        nothing_at(b, d)
    for options in ([], ["--link"]):
        d = b.new()
        said = fails(b.run("load", "--ignore-errors", *options, f, d), "/s: left out: ", "/w: left out: ",
                     "/n: attribute DIMENSION_LIST: left out: ", "without 3 unreadable parts")
        assert said.count("left out") == 3, said
        assert re.findall(r"^/(\w+) ", ok(b.run("ls", d)), re.M) == ["n", "t"], b.run("ls", d)
        assert values(b, d, "n") == values(b, f, "n", domain=False)
        assert b.json("verify", "--deep", "--min-age", "0", d, env={"H5BUCKET_ALLOW": "file://" + b.tmp})[0]["problems"] == []
    ok(b.run("load", "--ignore-errors", os.path.join(b.cases, "nc_string_partly_written.nc"), b.new()))
    fails(b.run("load", "--ignore-errors", "--extend", "0", f, d), "--extend", rc=2)


@dir_only
def test_a_group_or_dataset_whose_header_is_broken_is_left_out_alone(b):
    if not b.odd:
        return
    f, d = os.path.join(b.tmp, "header.h5"), b.new()
    ok(b.run_any(b.odd, "small", f))
    listed = ok(b.run_any(os.path.join(b.bin, "h5ls"), "-v", "-a", f + "/tiles"))
    at, data = int(re.search(r"Location: *1:(\d+)", listed).group(1)), bytearray(open(f, "rb").read())
    data[at] = 99  # the version of its header
    open(f, "wb").write(data)
    fails(b.run("load", f, d), "/tiles")
    nothing_at(b, d)
    fails(b.run("load", "--ignore-errors", f, d), "/tiles: left out: ", "without 1 unreadable parts")
    assert values(b, d, "line") == list(range(20000)) and values(b, d, "time") == list(range(3000))
    assert "tiles" not in ok(b.run("ls", d))
    many = b.new()
    ok(b.run("touch", many))
    fails(b.run("load", "--ignore-errors", "-j", "2", f, os.path.join(b.tmp, "absent.h5"), many + "/"),
          "2 of 2 files are not loaded, or only in part")
    assert values(b, many + "/header.h5", "time") == list(range(3000))


@dir_only
def test_a_group_that_cant_be_listed_to_its_end_stays_empty(b):
    if not b.odd:
        return
    f, d = os.path.join(b.tmp, "many.h5"), b.new()
    ok(b.run_any(b.odd, "many", f))
    data = bytearray(open(f, "rb").read())
    nodes = [m.start() for m in re.finditer(b"SNOD", data)]
    assert len(nodes) > 3, nodes  # one of / and of /h each, and those of /g
    last = max(nodes, key=lambda at: heap_offset(data, at))
    data[last] = ord("X")
    open(f, "wb").write(data)
    fails(b.run("load", f, d), "/g", "symbol table node")
    nothing_at(b, d)
    fails(b.run("load", "--ignore-errors", f, d), "/g: left out: ", "without 1 unreadable parts")
    listed = ok(b.run("ls", "-r", d))
    assert "/h/l" in listed and "/g" in listed and "/g/l" not in listed, listed


def heap_offset(data, node):
    """Of the first name in a node of a group: names that were added later lie behind."""
    return int.from_bytes(data[node + 8:node + 16], "little")


@dir_only
def test_messages_name_files_datasets_and_keys(b):
    """The innermost one too, which is all that h5py shows."""
    if not b.odd:
        return
    f, d = os.path.join(b.tmp, "named.h5"), b.new()
    ok(b.run_any(b.odd, "small", f))
    ok(b.run("load", "--link", f, d))
    env = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_ALLOW": "file://" + b.tmp}
    dump, repack = os.path.join(b.bin, "h5dump"), os.path.join(b.bin, "h5repack")
    os.rename(f, f + ".away")
    said = innermost(b.run_any(dump, "--enable-error-stack", "-d", "/line", d, env=env))
    assert f"HEAD file://{f}: No such file" in said, said
    os.rename(f + ".away", f)
    packed = b.new()
    ok(b.run_any(repack, "-l", "tiles:CHUNK=100x100", "-f", "tiles:GZIP=4", d, packed, env=env))
    chunk = os.path.join(os.path.dirname(b.object_of(packed, "/tiles")), "0_0")
    data = open(chunk, "rb").read()
    open(chunk, "wb").write(data[:2] + b"\xff" * (len(data) - 2))
    said = innermost(b.run_any(dump, "--enable-error-stack", "-d", "/tiles", packed, env=env))
    key = chunk[len(b.bucket) + 1:]
    assert "dataset /tiles (d-" in said and "chunk 0_0" in said and key in said and "deflate" in said, said
    r = b.run_any(b.odd, "write", d, "/tiles", env=env)
    said = innermost(r)
    assert r.returncode == 1 and "dataset /tiles (d-" in said and "can't be written: its data are in other files" in said, said


def innermost(r):
    """On HDF5's stack, not on that of its tools."""
    return r.stderr.split("H5tools-DIAG")[0].split("\n  #")[-1]


@dir_only
def test_numbers_in_the_order_of_creation_are_kept(b):
    if not b.odd:
        return
    f, d = os.path.join(b.tmp, "gaps.h5"), b.new()
    ok(b.run_any(b.odd, "gaps", f))
    ok(b.run("load", f, d))
    with open(b.object_of(d, "/g")) as doc:
        group = json.load(doc)
    for held in (group["links"], group["attributes"]):
        assert set(held) == {"c", "a"} and held["a"].get("h5order") == 2, held
