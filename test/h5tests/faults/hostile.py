"""hostile.py --bin HDF5/bin --plugin FOLDER --tool H5BUCKET --make MAKE_DOMAIN: a domain with planted
encodings that crash HDF5's own decoders.

Each encoding is an error that names the fault.  No program may be ended by a signal, and other objects stay
readable.  `h5bucket verify --deep` reports the object in one line.
"""
import argparse, base64, json, os, shutil, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import sample  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("--bin", "--plugin", "--tool", "--make"):
    parser.add_argument(option, required=True)
args = parser.parse_args()
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "AWS_", "HS_"))},
       "HDF5_PLUGIN_PATH": args.plugin, "HDF5_VOL_CONNECTOR": "bucket", "LC_ALL": "C.UTF-8"}
preload = {"LD_PRELOAD": ENV["BKT_PRELOAD"]} if ENV.get("BKT_PRELOAD") else {}
problems = []


def run(argv, cwd):
    env = {**ENV, **preload} if not argv[0].startswith(args.tool) else ENV
    r = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, timeout=600)
    said = (r.stdout + r.stderr).decode(errors="replace")
    if r.returncode < 0 or "AddressSanitizer" in said or "stack smashing" in said or "runtime error:" in said:
        problems.append(f"{argv} is ended by {r.returncode}: {said[-3000:]}")
    return r.returncode, said


def text(data):
    return base64.b64encode(data).decode()


def prop(name, value):
    return name.encode() + b"\0" + value


def dcpl(*props):
    return text(b"\0\x05" + b"".join(props) + b"\0")


CHUNKS = prop("layout", b"\x02\xff" + bytes(range(1, 256)) * 4)
FILTERS = prop("pline", b"\x04\x01\x21" + struct.pack("<iIBBB", 1, 1, 0, 1, 0) * 33)
FILES = prop("efl", b"\x06" + struct.pack("<Q", 2**40)[:6] + b"\x01\x02a\0\x01\0\x01\x01")
FILL = prop("fill_value", b"\x02\x02" + struct.pack("<q", 16) + b"A" * 16 + b"\x01\x16" + b"\x03\0\x19\0\0\0\x10\0\0\0" +
            b"\x10\x08\0\0\x04\0\0\0\0\0\x20\0")  # a pointer and a length
LINE = struct.pack("<BBBI", 1, 0, 8, 16) + b"\x01\x01\0\0\0\0\0\0" + struct.pack("<Q", 8)  # 8 elements


def properties(o):
    if not isinstance(o.get("creationProperties"), dict):
        o["creationProperties"] = {}
    return o["creationProperties"]


def plist(value):
    return lambda o: properties(o).__setitem__("h5plist", value)


def rename_field(o):
    o["type"]["fields"][1]["name"] = "somebody"


def drop_field(o):
    del o["type"]["fields"][-1]


def swap_fields(o):
    fields = o["type"]["fields"]
    fields[0], fields[1] = fields[1], fields[0]


def cut_type(o):
    code = base64.b64decode(o["type"]["h5type"])
    o["type"]["h5type"] = text(code[:len(code) // 2])


def as_word(o):  # the form of the REST VOL
    o["creationProperties"] = text(b"\0\x05" + CHUNKS + b"\0")


def long_chunks(o):
    o["layout"]["dims"] = [2**32 - 1] * len(o["layout"]["dims"])


# the object, the change, words of the message; whether its data can be read all the same
CASES = [
    ("i8le", "a chunk rank of 255", plist(dcpl(CHUNKS)), "rank 255"),
    ("i32le", "33 filters", plist(dcpl(FILTERS)), "33 filters"),
    ("f64le", "2^40 external files", plist(dcpl(FILES)), "cut off"),
    ("u16le", "a fill value with a pointer", plist(dcpl(FILL)), "does not fit"),
    ("u64le", "a property that is unknown", plist(dcpl(prop("evil", b"\0"))), '"evil"'),
    ("u8be", "a group's list", plist(text(b"\0\x09\0")), "another kind of object"),
    ("u32be", "a list without end", plist(text(b"\0\x05")), "cut off"),
    ("i64be", "a list as the REST VOL stores it", as_word, "rank 255"),
    ("padded", "another name", rename_field, 'field 1 is "somebody"'),
    ("nested", "a field less", drop_field, "4 fields, and 5"),
    ("with_bits", "another order", swap_fields, "disagree"),
    ("backwards", "half of a type", cut_type, "cut off"),
    ("i16be", "chunks of 2^32 - 1 elements", long_chunks, "layout.dims"),
    ("virtual", "mappings without end", plist(dcpl(prop("layout", b"\x03" + struct.pack("<Q", 2**60)))), "cut off"),
    ("virtual", "a mapping of rank 1000", plist(dcpl(prop("layout", b"\x03" + struct.pack("<Q", 1) + b"a\0b\0" + LINE +
     struct.pack("<IIIII", 2, 1, 0, 4, 1000) + bytes(40)))), "rank 1000"),
]


def link_id(bucket, name):
    with open(os.path.join(bucket, "zoo.h5", ".domain.json")) as f:
        root = json.load(f)["root"]
    tree = root[2:19]
    with open(os.path.join(bucket, "db", tree, ".group.json")) as f:
        return tree, json.load(f)["links"][name]["id"]


def change(bucket, name, how):
    tree, oid = link_id(bucket, name)
    key = os.path.join(bucket, "db", tree, "d", f"{oid[20:24]}-{oid[25:31]}-{oid[32:38]}", ".dataset.json")
    with open(key) as f:
        o = json.load(f)
    how(o)
    with open(key, "w") as f:
        json.dump(o, f)


def one_case(seed, work, name, what, how, says):
    bucket = os.path.join(work, "bucket")
    shutil.rmtree(bucket, ignore_errors=True)
    shutil.copytree(seed, bucket)
    domain, out = os.path.join(bucket, "zoo.h5"), os.path.join(work, "out.h5")
    other = os.path.join(work, "bucket", "repacked.h5")
    change(bucket, name, how)
    for argv in ([args.bin + "/h5ls", "-v", "-r", domain], [args.bin + "/h5dump", "-p", "-d", "/" + name, domain],
                 [args.bin + "/h5repack", domain, other], [args.tool, "get", "--force", domain, out]):
        rc, said = run(argv, work)
        if argv[0] == args.tool and (rc != 1 or says not in said):
            problems.append(f"{what}: h5bucket get ends with {rc} and doesn't speak of {says!r}: {said[-2000:]}")
        if argv[0].endswith("h5dump") and (rc == 0 or "DATA {" in said and "(0,0):" in said and "field" in says):
            problems.append(f"{what}: h5dump ends with {rc}: {said[-2000:]}")
    rc, said = run([args.bin + "/h5dump", "-d", "/half", domain], work)
    if rc or "DATA {" not in said:
        problems.append(f"{what}: another object can't be read any more: {said[-2000:]}")
    rc, said = run([args.tool, "verify", "--deep", domain], work)
    lines = [x for x in said.splitlines() if x.startswith("problem: ") and name in x]
    if rc != 1 or len(lines) != 1 or says not in lines[0]:
        problems.append(f"{what}: h5bucket verify --deep ends with {rc}, and says of /{name}: {lines}")


with tempfile.TemporaryDirectory() as work:
    seed = os.path.join(work, "seed")
    os.makedirs(os.path.join(seed, "db", "00000000-00000000"))  # a bucket of its own
    rc = subprocess.run([args.make, os.path.join(seed, "zoo.h5")], env={**ENV, **preload}, cwd=work, timeout=600).returncode
    if rc or run([args.tool, "verify", "--deep", os.path.join(seed, "zoo.h5")], work)[0]:
        sys.exit("no domain to begin with, or it isn't whole")
    cases = [c for i, c in enumerate(CASES) if i % (sample.step(4) if preload else 1) == 0]
    for case in cases:
        one_case(seed, work, *case)
    print(f"{len(cases)} of {len(CASES)} cases{sample.note() if preload else ''}")
for p in problems:
    print(p)
sys.exit(bool(problems))
