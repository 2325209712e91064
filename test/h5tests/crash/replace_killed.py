#!/usr/bin/env python3
"""replace_killed.py: a domain is replaced (h5bucket cp --force, H5F_ACC_TRUNC by load), and the program is killed at each of its changes
of the folder.

    replace_killed.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_GATHER --shim LIBRARY [--only KIND]

Afterwards the domain is the old one or the new one, verify finds nothing but orphans, and verify --repair
leaves just the keys that the old or the new domain has.  Objects of version 1 that no domain leads to can't
be found, as they lie scattered in the bucket.  They may be left over, and so may load's journal, which the
next load ends.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import sample  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("bin", "plugin", "tool", "make", "shim", "only"):
    parser.add_argument("--" + option, required=option != "only")
args = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # for the removal of the folder

# The programs that replace d.h5, made in a version of the schema, and the member that distinguishes the two
# domains
KINDS = {"cp": (["cp", "--force", "b/other.h5", "b/d.h5"], "v2"), "cp-v1": (["cp", "--force", "b/other.h5", "b/d.h5"], "v1"),
         "trunc-v1": (["load", "--force", "--set", "schema=v1", "run1.h5", "b/d.h5"], "v1"),
         "trunc-by-v1": (["load", "--force", "--set", "schema=v1", "run1.h5", "b/d.h5"], "v2")}  # others: h5_crash_replace_*
problems = []
base = {k: v for k, v in os.environ.items() if not k.startswith(("H5BUCKET", "HDF5_VOL"))}
base.update(HDF5_PLUGIN_PATH=args.plugin, HDF5_USE_FILE_LOCKING="FALSE", H5BUCKET_FSYNC="no")
PRELOAD = os.environ.get("BKT_PRELOAD")


def run(*command, cwd, **env):
    return subprocess.run(command, env=dict(base, **env), capture_output=True, text=True, timeout=600, cwd=cwd)


def good(*command, cwd):
    p = run(args.tool, *command, cwd=cwd)
    if p.returncode:
        sys.exit(f"{command} gave {p.returncode}: {p.stdout}{p.stderr}")


def dump(name, cwd):
    p = run(os.path.join(args.bin, "h5dump"), name, cwd=cwd, HDF5_VOL_CONNECTOR="bucket", **({"LD_PRELOAD": PRELOAD} if PRELOAD else {}))
    text = re.sub(r"DATASET \d+ ", "DATASET ", p.stdout)  # of references in lists h5dump shows an address in memory
    return text.split("\n", 1)[-1] if p.returncode == 0 else f"h5dump gave {p.returncode}: {p.stderr[-600:]}"


def keys(folder):
    """How many there are of each kind: names of objects differ from run to run."""
    all_keys = (os.path.relpath(os.path.join(d, f), folder) for d, _, files in os.walk(folder) for f in files)
    count = {}
    for k in all_keys:
        if not k.startswith(".h5bucket/") and not k.endswith("/.h5bucket-load"):
            kind = "chunk" if re.search(r"/\d+(_\d+)*$|/c-[^/]*$", k) else os.path.basename(k) if k.startswith("db/") else k
            kind = re.sub("^[0-9a-f]{5}-([gdtc])-.*$", r"v1 \1", kind)
            count[kind] = count.get(kind, 0) + 1
    return count


def may_stay(kind):
    return kind.startswith("v1 ")


def look(what, place, want):
    """want: {dump: keys} of the old and of the new state"""
    def bad(text):
        problems.append(f"{what}: {text}"[:3000])
        print("FAIL  " + problems[-1], flush=True)

    got = dump("b/d.h5", place)
    if got not in want:
        return bad(f"neither the old domain nor the new one: {got[:500]}")
    p = run(args.tool, "verify", "-r", "--deep", "b", "--json", cwd=place)
    if p.stdout.count('"n_problems": 0') < 2 or re.search('"n_problems": [1-9]', p.stdout):
        bad(f"verify: {p.stdout}{p.stderr}")
    p = run(args.tool, "verify", "-r", "--repair", "--min-age", "0", "b", cwd=place)
    if p.returncode:
        bad(f"--repair gave {p.returncode}: {p.stdout}{p.stderr}")
    if dump("b/d.h5", place) != got:
        bad("--repair has changed the domain")
    left = keys(place + "/b")
    if {k: n for k, n in left.items() if not may_stay(k)} != {k: n for k, n in want[got].items() if not may_stay(k)}:
        bad(f"--repair leaves {left}, not {want[got]}")


def one(kind, command, prepared, n, want):
    """True: the program ended before its nth change."""
    place = tempfile.mkdtemp(dir=os.path.dirname(prepared))
    shutil.copytree(prepared, place, dirs_exist_ok=True)
    libraries = " ".join(x for x in (PRELOAD, args.shim) if x)
    p = run(args.tool, *command, cwd=place, LD_PRELOAD=libraries, BKT_TEST_PUT=str(n), BKT_TEST_DO="before")
    if p.returncode not in (0, -signal.SIGKILL):
        problems.append(f"{kind}: gave {p.returncode}: {p.stderr}")
    look(f"{kind}, killed before change {n}", place, want)
    shutil.rmtree(place)
    return p.returncode == 0


def run_kind(kind, folder):
    command, schema = KINDS[kind]
    prepared = os.path.join(folder, kind, "prepared")
    os.makedirs(prepared + "/b")
    p = run(args.make, ".", cwd=prepared)
    if p.returncode:
        sys.exit(f"{args.make} gave {p.returncode}: {p.stderr}")
    good("load", "--set", "schema=" + schema, "run0.h5", "b/d.h5", cwd=prepared)
    good("load", "run1.h5", "b/other.h5", cwd=prepared)
    whole = shutil.copytree(prepared, os.path.join(folder, kind, "whole"))
    good(*command, cwd=whole)
    want = {dump("b/d.h5", prepared): keys(prepared + "/b"), dump("b/d.h5", whole): keys(whole + "/b")}
    if len(want) != 2:
        sys.exit(f"{kind}: the domain isn't replaced: {want.keys()}")
    n = 1
    while not one(kind, command, prepared, n, want) and len(problems) < 4:
        n += sample.step(8)
    print(f"{kind}: {n - 1} changes, killed before each{sample.note()}", flush=True)
    if n < 12:
        problems.append(f"{kind}: only {n - 1} changes")


with tempfile.TemporaryDirectory(prefix="bkt-replace-") as work:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda kind: run_kind(kind, work), [args.only] if args.only else KINDS))
for problem in problems:
    print(problem)
sys.exit(bool(problems))
