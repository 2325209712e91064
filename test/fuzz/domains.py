"""domains.py --bin HDF5/bin --plugin FOLDER --tool H5BUCKET --make MAKE_DOMAIN [--seconds N] [--seed N] [--keep FOLDER]

Domains with changed objects and chunks, read by HDF5's tools and by h5bucket.  All programs are built with
AddressSanitizer, HDF5 included.  No program may cause a report, be killed by a signal, or run for a minute.
An error is fine.  A domain that breaks a rule is kept, with the program's output.  A run with the same seed
is the same each time.
"""
import argparse, base64, copy, json, os, random, shutil, signal, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser()
for option in ("--bin", "--plugin", "--tool", "--make"):
    parser.add_argument(option, required=True)
parser.add_argument("--seconds", type=int, default=120)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--keep", default="fuzz-domains")
args = parser.parse_args()
rng = random.Random(args.seed)
ODD = [0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40,
       2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -1, 1e300, -0.5]
WORDS = ["", "/", "..", "\0", "x" * 5000, "H5T_VARIABLE", "H5D_CHUNKED", "H5D_VIRTUAL", "H5S_UNLIMITED", "\udcff", "%b", "g-1"]
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "AWS_", "HS_"))},
       "HDF5_PLUGIN_PATH": args.plugin, "HDF5_VOL_CONNECTOR": "bucket", "LC_ALL": "C.UTF-8", "H5BUCKET_FSYNC": "no",
       "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=2048:abort_on_error=0:exitcode=99",
       "UBSAN_OPTIONS": "print_stacktrace=1"}


def run(argv, **more):
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=ENV, **more)
        try:
            p.wait(60)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGABRT)
            p.wait()
            return "goes on for a minute", b""
        out.seek(0)
        said = out.read(50_000_000)
    if b"AddressSanitizer" in said or b"runtime error:" in said:
        return "reports a fault of memory", said
    if p.returncode < 0:
        return f"ends by signal {-p.returncode}", said
    return "", said


# ---- changes ----

def change_bytes(data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not data:
            break
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 33, 255))
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at] = rng.randrange(256)
        elif kind == 3:
            data[at:at + rng.randint(1, 8)] = rng.choice((b"", b"\xff" * 8, bytes(8)))
        elif rng.randrange(3) == 0:
            del data[at:]
    return bytes(data)


def places(value, path=()):
    """All that is in a JSON value, as paths."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, v in items:
        yield from places(v, path + (key,))


def change_value(v, doc):
    if isinstance(v, str) and rng.randrange(2) and len(v) > 7:
        try:
            return base64.b64encode(change_bytes(base64.b64decode(v, validate=True))).decode()
        except ValueError:
            pass
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(WORDS)
    if kind == 1 and isinstance(v, list) and v:
        return v * rng.choice((2, 40)) if rng.randrange(2) else v[:-1]
    if kind == 2:
        path = rng.choice(list(places(doc)))
        for key in path:
            doc = doc[key]
        return copy.deepcopy(doc)
    if kind == 3:
        return rng.choice((None, True, [], {}, [None], {"class": "H5T_VLEN"}))
    return rng.choice(ODD)


def change_json(doc):
    """HDF5's encodings are changed more often than other things."""
    all_places = [p for p in places(doc) if p]
    coded = [p for p in all_places if p[-1] in ("h5type", "h5plist", "h5space", "creationProperties", "h5links", "h5comment", "layout")]
    for _ in range(rng.randint(1, 2)):
        path = rng.choice(coded if coded and rng.randrange(3) else all_places)
        at = doc
        try:
            for key in path[:-1]:
                at = at[key]
            if rng.randrange(12) == 0:
                del at[path[-1]]
            elif path[-1] in ("h5type", "h5plist"):
                at[path[-1]] = base64.b64encode(change_bytes(base64.b64decode(at[path[-1]]))).decode()
            else:
                at[path[-1]] = change_value(at[path[-1]], doc)
        except (KeyError, IndexError, TypeError):
            pass  # an earlier change took it away
    return doc


def change_file(name):
    with open(name, "rb") as f:
        data = f.read()
    if name.endswith(".json") and rng.randrange(8):
        doc = change_json(json.loads(data))
        data = json.dumps(doc).encode("utf-8", "surrogatepass")
    else:
        data = change_bytes(data)
    with open(name, "wb") as f:
        f.write(data)


# ---- rounds ----

def files_of(folder):
    names = [os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs]
    return sorted(n for n in names if ".h5bucket" not in n and not n.endswith(".domain.json"))


def one_round(seed_bucket, work, number):
    bucket = os.path.join(work, "bucket")
    shutil.rmtree(bucket, ignore_errors=True)
    shutil.copytree(seed_bucket, bucket)
    # Most objects but the root: each is read by itself.
    share = rng.choice((0.05, 0.3, 0.9))
    for name in files_of(bucket):
        if rng.random() < share and (not name.endswith(".group.json") or rng.randrange(3) == 0):
            change_file(name)
    domain = os.path.join(bucket, "zoo.h5")
    out = os.path.join(work, "out.h5")
    other = os.path.join(bucket, "repacked.h5")
    tools = [[args.bin + "/h5dump", "-p", domain], [args.bin + "/h5ls", "-v", "-r", "-d", domain],
             [args.bin + "/h5repack", domain, other], [args.tool, "get", "--force", domain, out],
             [args.tool, "verify", "--deep", domain], [args.tool, "cp", "--force", domain, os.path.join(work, "other", "copy.h5")]]
    for argv in rng.sample(tools, 3): # the more rounds, the more changes are tried
        fault, said = run(argv, cwd=work)
        if fault:
            kept = os.path.join(args.keep, f"seed-{args.seed}-round-{number}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(bucket, kept)
            with open(kept + ".txt", "wb") as f:
                f.write((" ".join(argv) + "\n").encode() + said[-100_000:])
            print(f"round {number}: {os.path.basename(argv[0])} {fault}; the domain and what was said are in {kept}", flush=True)
            return 1
    return 0


with tempfile.TemporaryDirectory() as work:
    seed_bucket = os.path.join(work, "seed")
    for name in ("seed", "other"): # buckets of their own: there is an object tree in db/
        os.makedirs(os.path.join(work, name, "db", "00000000-00000000"))
    fault, said = run([args.make, os.path.join(seed_bucket, "zoo.h5")], cwd=work)
    if fault or not files_of(seed_bucket):
        sys.exit(f"no domain to begin with: {fault} {said.decode(errors='replace')[-3000:]}")
    os.makedirs(args.keep, exist_ok=True)
    end, rounds, faults = time.time() + args.seconds, 0, 0
    while time.time() < end:
        rounds += 1
        faults += one_round(seed_bucket, work, rounds)
    print(f"{rounds} rounds with {len(files_of(seed_bucket))} files, {faults} faults")
    sys.exit(faults != 0 or rounds == 0)
