"""Claims about h5bucket: sample, and load of a column.  Run by tool.py, with the repositories of make_repository.py."""
import ast, json, os, re, shutil, struct, subprocess, sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "s3"))
from sandbox import dir_only, fails, ok

ALL = ["types", "filters", "shapes", "places", "branches", "v04", "v02", "cast", "killed", "flipped", "truncated", "missing"]


def made(name):
    """The folder of a repository; without the packages that make it, the test is skipped."""
    path = os.path.join(os.environ["BKT_SAMPLES"], name)
    if not os.path.exists(os.path.join(path, "complete")):
        print("skipped: the sample repositories were not made (packages of config/packages/test.txt)")
        sys.exit(77)
    return path


def put_there(b, name):
    """A repository as a test sees it: the folder itself, or a copy in the bucket."""
    if b.store == "dir":
        return made(name)
    b.there = getattr(b, "there", {})
    if name not in b.there:
        to = b.there[name] = b.new("_" + name)
        top = made(name)
        jobs = []
        for folder, _, files in os.walk(top):
            for f in files:
                if f.endswith((".hdf5", ".lmdb")) and "store_data" not in folder:
                    path = os.path.join(folder, f)
                    jobs.append((path, to[len("s3://hsopen/"):] + "/" + os.path.relpath(path, top)))
        upload_all(jobs)
    return b.there[name]


def upload_all(jobs):
    import upload  # needs the environment of a server
    for path, key in jobs:
        with open(path, "rb") as f:
            upload.put("/hsopen/" + key, f.read())


class Line:
    def __init__(self, text, values):
        self.branch, self.column, self.sample, self.state, self.type, shape, self.record, offset, size = text.rstrip("\n").split("\t")
        self.shape = tuple(map(int, shape.split()))
        self.bytes = values[int(offset):int(offset) + int(size)]
        self.name = f"{self.branch}:{self.column}/{self.sample.replace(':', '/')}"


def lines(name):
    values = open(os.path.join(made(name), "values.bin"), "rb").read()
    return [Line(t, values) for t in open(os.path.join(made(name), "records.tsv"))]


def raw(b, *args):
    r = subprocess.run([b.tool, "sample", "cat", *args, "-f", "raw"], capture_output=True, timeout=300)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def npy(data):
    """Type, shape and bytes of an .npy file's arrays."""
    out = []
    while data:
        assert data[:8] == b"\x93NUMPY\x01\x00" and (10 + struct.unpack("<H", data[8:10])[0]) % 64 == 0, data[:16]
        begin = 10 + struct.unpack("<H", data[8:10])[0]
        head = ast.literal_eval(data[10:begin].decode())
        size = int(re.search(r"\d+$", head["descr"])[0])
        for d in head["shape"]:
            size *= d
        out.append((head["descr"], head["shape"], data[begin:begin + size]))
        data = data[begin + size:]
    return out


def write_npy(path, descr, shape, data, fortran=False):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
    return path


def test_ls_prints_branches_columns_and_files(b):
    there = put_there(b, "branches")
    got = b.json("sample", "ls", there)
    assert got["head"] == "side/more" and [x["name"] for x in got["branches"]] == ["empty", "master", "none", "side/more"], got
    columns = {x["name"]: {c["name"]: c for c in x["columns"]} for x in got["branches"]}
    assert columns["empty"] == columns["none"] == {} and sorted(columns["master"]) == ["frames", "images", "labels"], columns
    assert columns["master"]["images"]["samples"] == 11 and columns["side/more"]["images"]["samples"] == 14, columns
    assert columns["master"]["frames"]["nested"] and columns["master"]["frames"]["shape"] == [4, 6], columns
    names = sorted(l.record[:11].replace(":", "/", 1) for l in lines("branches") if l.state == "ok")
    assert [f["name"] for f in got["files"]] == sorted(set(names)), (got["files"], names)
    assert {f["rows"] for f in got["files"]} == {25000, 10000} and all(f["used_rows"] == f["records"] for f in got["files"]), got
    text = ok(b.run("sample", "ls", there))
    assert "branch side/more (head)" in text and re.search(r"images +14 samples, flat, uint8 \(8, 8\), backend 00", text), text
    assert re.search(r"labels +10 samples, flat, int64 \(\), backend 00", text) and "of 25000 rows" in text, text


def test_ls_reports_missing_files(b):
    r = b.run("sample", "ls", put_there(b, "missing"))
    assert r.returncode == 1 and "2 files can't be opened" in r.stderr and r.stdout.count("can't be opened") == 2, (r.stdout, r.stderr)
    for absent in b.new(), "absent/here":
        fails(b.run("sample", "ls", absent), "repository: it has neither LMDB files nor files of samples")


@dir_only
def test_cat_prints_every_sample_by_record_and_by_name(b):
    for name in ALL:
        there = made(name)
        whole = [l for l in lines(name) if l.state == "ok"]
        listed = os.path.join(b.tmp, "records")
        with open(listed, "w") as f:
            f.writelines(l.record + "\n" for l in whole)
        if name == "cast":  # the bytes are those of the type that is stored
            assert len(raw(b, there, "--records", listed)) == 2 * 100 + 24
            continue
        assert raw(b, there, "--records", listed) == b"".join(l.bytes for l in whole), name
        assert raw(b, there, *(l.name for l in whole)) == b"".join(l.bytes for l in whole), name


def test_cat_finds_names(b):
    there = put_there(b, "branches")
    images = {l.sample: l.bytes for l in lines("branches") if l.column == "images" and l.state == "ok"}
    assert raw(b, there, "images/10") == images["10"] and raw(b, there, "images/#3") == images["3"] == raw(b, there, "master:images/3")
    fails(b.run("sample", "cat", there, "master:images/10"), "no such sample")
    frames = [l for l in lines("branches") if l.column == "frames" and l.sample.startswith("film-1")]
    assert raw(b, there, "master:frames/film-1") == b"".join(l.bytes for l in frames)
    assert raw(b, there, "frames/film-1/1") == frames[1].bytes
    assert raw(b, there, "master:labels") == b"".join(struct.pack("<q", i % 3) for i in range(10))
    assert ok(b.run("sample", "cat", there, "master:labels/2")) == "# labels/#2 int64 ()\n2\n"
    fails(b.run("sample", "cat", there, "nothing/1"), "branch side/more has no column nothing")
    fails(b.run("sample", "cat", there, "gone:images/1"), "branch gone: the repository lacks it")
    fails(b.run("sample", "cat", there, "none:images/1"), "no column images")
    fails(b.run("sample", "cat", there, "images/11"), "images/#11", "format code 00 or 01")


def test_cat_prints_text_and_npy(b):
    there = put_there(b, "types")
    wanted = {l.column: l for l in lines("types") if l.sample == "s0"}
    for column, l in wanted.items():
        if not column.endswith("_00"):
            continue
        out = os.path.join(b.tmp, "out.npy")
        ok(b.run("sample", "cat", there, column + "/s0", "-f", "npy", "-o", out))
        [(descr, shape, data)] = npy(open(out, "rb").read())
        assert shape == l.shape == (7, 9) and data == l.bytes, (column, descr, shape)
        letter = {"bool": "|b1", "int8": "|i1", "uint8": "|u1", "longdouble": "<f16"}
        assert descr == letter.get(l.type, f"<{l.type[0]}{len(l.bytes) // 63}"), (column, descr)
    for column, form in ("int16_00", "h"), ("uint64_00", "Q"), ("float32_00", "f"), ("float16_01", "e"), ("bool_01", "?"), ("float64_01", "d"):
        text = ok(b.run("sample", "cat", there, column + "/s0")).split("\n")
        assert re.match(rf"# {column}/s0 \w+ \(7, 9\)$", text[0]) and len(text) == 9, text
        values = [float(x) for t in text[1:] for x in t.split()]
        assert values == [float(x) for x in struct.unpack(f"<63{form}", wanted[column].bytes)], column
    shapes = put_there(b, "shapes")
    assert npy(subprocess.run([b.tool, "sample", "cat", shapes, "variable_00", "-f", "npy"], capture_output=True, check=True).stdout) == \
        [("<i2", l.shape, l.bytes) for l in lines("shapes") if l.column == "variable_00"]


def test_verify_lists_damaged_samples(b):
    for name in ALL if b.store == "dir" else ["branches", "flipped", "truncated", "missing"]:
        there, all_lines = put_there(b, name), lines(name)
        bad = {l.record: l.name for l in all_lines if l.state not in ("ok", "foreign")}
        got = b.json("sample", "verify", there, rc=1 if bad else 0)
        assert {d["record"]: d["names"] for d in got["damaged"]} == {k: [v] for k, v in bad.items()}, (name, got, bad)
        assert got["samples"] == len({l.record for l in all_lines if l.state != "foreign"}) and got["foreign"] == (3 if name == "branches" else 0), got
        assert got["whole"] == got["samples"] - len(bad), got
    r = b.run("sample", "verify", put_there(b, "flipped"))
    record = next(l.record for l in lines("flipped") if l.state == "damaged")
    assert r.returncode == 1 and f"master:hit/s2: record '{record}'" in r.stdout and record.split(":")[2] in r.stdout, r.stdout
    assert "28 samples: 26 whole, 2 damaged" in r.stdout, r.stdout
    there = put_there(b, "plain")
    fails(b.run("sample", "verify", there), "give records by --records")
    listed = os.path.join(b.tmp, "records")
    with open(listed, "w") as f:
        f.writelines(l.record + "\n" for l in lines("plain"))
    assert "30 samples: 30 whole, 0 damaged" in ok(b.run("sample", "verify", there, "--records", listed))
    with open(listed, "a") as f:
        f.write("00:no\n" + lines("plain")[0].record.replace("00:", "00:x", 1) + "\n")
    assert b.json("sample", "verify", there, "--records", listed, rc=1)["whole"] == 30


@dir_only
def test_damaged_names_are_reported(b):
    """Whatever the bytes of an LMDB file: an error or other names, no crash."""
    to = os.path.join(b.tmp, "lmdb")
    shutil.copytree(made("branches"), to)
    for name in "branch.lmdb", "ref.lmdb", "hash.lmdb":
        path = os.path.join(to, ".hangar", name)
        whole = open(path, "rb").read()
        for at in range(0, len(whole), 97):
            with open(path, "wb") as f:
                f.write(whole[:at] + b"\xff\xff" + whole[at + 2:])
            if at % 970 == 0:
                b.run("sample", "cat", to, "images/1")
        open(path, "wb").write(whole[:9000])
        fails(b.run("sample", "cat", to, "images/1"), "LMDB page" if name != "branch.lmdb" else "LMDB")
        os.remove(path)
        fails(b.run("sample", "cat", to, "images/1"), "no LMDB files" if name == "branch.lmdb" else name)
        open(path, "wb").write(whole)
    ok(b.run("sample", "cat", to, "images/1"))


def test_put_appends_and_prints_records(b):
    there = b.new()
    arrays = [("<f4", (3, 5), struct.pack("<15f", *range(i, i + 15))) for i in range(3)]
    files = [write_npy(os.path.join(b.tmp, f"a{i}.npy"), *a) for i, a in enumerate(arrays)]
    shown = ok(b.run("sample", "put", there, *files)).splitlines()
    assert all(re.fullmatch(rf"00:\w+:[0-9a-f]{{16}}:0:{i}:3 5", r) for i, r in enumerate(shown)), shown
    assert npy(subprocess.run([b.tool, "sample", "cat", "-f", "npy", there, *shown], capture_output=True, check=True).stdout) == arrays
    rows = write_npy(os.path.join(b.tmp, "rows.npy"), ">i2", (4, 2), struct.pack(">8h", *range(8)))
    for more in ["--backend=01"], ["--complib=gzip", "--complevel=9", "--shuffle=byte"], ["--complib=none"], ["--complib=lzf"]:
        shown = ok(b.run("sample", "put", "--rows", *more, there, rows)).splitlines()
        assert len(shown) == 4 and raw(b, there, *shown) == struct.pack("<8h", *range(8)), (more, shown)
    raw_file = os.path.join(b.tmp, "raw")
    open(raw_file, "wb").write(bytes(range(24)))
    shown = ok(b.run("sample", "put", "--type=u1", "--shape=3,4", "--rows", there, raw_file)).splitlines()
    assert len(shown) == 2 and ok(b.run("sample", "cat", there, shown[1])).split("\n")[1:4] == ["12 13 14 15", "16 17 18 19", "20 21 22 23"]
    small = write_npy(os.path.join(b.tmp, "small.npy"), "<f4", (2, 4), struct.pack("<8f", *range(8)))
    fails(b.run("sample", "put", there, files[0], small), "small.npy", "another shape", "--variable")
    shown = ok(b.run("sample", "put", "--variable", there, small, files[0])).splitlines()
    assert shown[0].endswith(":2 4") and raw(b, there, *shown) == struct.pack("<8f", *range(8)) + arrays[0][2], shown
    fails(b.run("sample", "put", there, write_npy(os.path.join(b.tmp, "f.npy"), "<f4", (2, 4), bytes(32), fortran=True)), "Fortran order")
    fails(b.run("sample", "put", there, write_npy(os.path.join(b.tmp, "s.npy"), "<U4", (2,), bytes(32))), "<U4")
    fails(b.run("sample", "put", there, raw_file), "not an .npy file")
    assert b.run("sample", "put", there).returncode == b.run("sample", "sing", there).returncode == 2
    files_there = b.json("sample", "ls", there)["files"]
    assert sum(f["used_rows"] for f in files_there) == 3 + 16 + 2 + 2, files_there


def in_order(line):
    """Numbers before other names."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in line.sample.split(":")]


def as_domains(b, name):
    """A repository whose files are domains."""
    top, there, jobs = made(name), b.new("_domains"), []
    for folder, _, files in os.walk(top):
        for f in files:
            path = os.path.join(folder, f)
            at = os.path.relpath(path, top)
            if b.store == "dir":
                os.makedirs(os.path.dirname(os.path.join(there, at)), exist_ok=True)
            if f.endswith(".hdf5") and "_data" not in folder:
                ok(b.run("load", path, f"{there}/{at}"))
            elif f.endswith(".lmdb") and b.store == "dir":
                shutil.copy(path, os.path.join(there, at))
            elif f.endswith(".lmdb"):
                jobs.append((path, f"{there[len('s3://hsopen/'):]}/{at}"))
    if jobs:
        upload_all(jobs)
    return there


def test_a_column_in_domains_is_read_by_record_and_not_loaded(b):
    """A chunk object holds several samples."""
    there = as_domains(b, "v02")
    first = next(l for l in lines("v02") if l.column == "fixed" and l.state == "ok")
    assert raw(b, there, first.name.split(":", 1)[1]) == first.bytes
    fails(column_of(b, there, "fixed", b.new()), "column fixed", "is a domain", "h5bucket get")


def column_of(b, there, column, domain):
    return b.run("load", "--column", column, there, domain, env={"H5BUCKET_ALLOW": "file://"})


def test_load_makes_a_domain_of_a_column(b):
    """The values that the connector reads from the domain are the samples, one after the other."""
    if not b.bin:
        return
    cases = [("types", ["int16_00", "float64_01", "int8_00"]), ("places", ["many", "sessions", "far", "end"]), ("branches", ["master:frames", "images"]),
             ("shapes", ["scalar_00", "image_00", "padded_01", "variable_01", "variable_00", "five_01"]), ("v02", ["fixed", "variable"]),
             ("filters", ["c00_0_blosc_blosclz", "c01_8_blosc_lz4hc", "c00_20_lzf", "c00_25_gzip", "c01_fletcher32"])]
    for name, columns in cases if b.store == "dir" else cases[1:3]:
        there = put_there(b, name)
        for column in columns:
            wanted = sorted((l for l in lines(name) if l.column == column.split(":")[-1] and l.state == "ok"), key=in_order)
            domain, out = b.new(), os.path.join(b.tmp, "column.bin")
            r = column_of(b, there, column, domain)
            if column == "images":
                fails(r, "column images", "lies in no HDF5 file", "50:")
                continue
            ok(r)
            ok(b.run_any(os.path.join(b.bin, "h5dump"), "-d", "/samples", "-b", "LE", "-o", out, re.sub("^s3:", "hsds+s3:", domain),
                         env={"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_ALLOW": "file://"}))
            data = open(out, "rb").read()
            objects = {o["path"]: o for o in b.json("ls", "-rv", domain)[0]["objects"]}
            shape = objects["/samples"]["shape"]["dims"]
            assert shape[0] == len(wanted), (column, shape)
            if "/shapes" not in objects:
                assert tuple(shape[1:]) == wanted[0].shape and data == b"".join(l.bytes for l in wanted), (column, shape)
                continue
            each, at = len(data) // len(wanted), 0
            if len(shape) == 2 and len(wanted[0].shape) > 1:  # flat
                assert all(data[i * each:][:len(l.bytes)] == l.bytes for i, l in enumerate(wanted)), column
    fails(column_of(b, put_there(b, "places"), "many/3", b.new()), "a whole column is loaded")
    fails(column_of(b, put_there(b, "places"), "none", b.new()), "has no column none")
    fails(column_of(b, put_there(b, "missing"), "hit", b.new()), "column hit")
