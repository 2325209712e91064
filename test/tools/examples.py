#!/usr/bin/env python3
"""examples.py: every example of README, docs and of `h5bucket VERB --help` that calls h5bucket or one of
HDF5's tools is run, as it stands there except for the names of buckets.  These become folders here, or with
--store s3 buckets of the S3 server in the environment.  Each example must succeed, and print something if it
is meant to.

  examples.py [--store dir|s3] --tool H5BUCKET --bin HDF5-TOOLS --plugin FOLDER --run make_run --gather make_gather"""
import argparse, glob, os, re, shutil, subprocess, sys, tempfile

OURS = ("h5bucket", "h5ls", "h5dump", "h5copy", "h5repack", "h5diff")
# A public bucket; programs and verbs that are tested apart (h5_netcdf, tool_samples); a verb that refuses folders.
ELSEWHERE = {"dir": ("nrel-pds-hsds", "ncdump", "flowers", "images.h5", "h5bucket snapshot"),
             "s3": ("nrel-pds-hsds", "ncdump", "flowers", "images.h5")}
LISTS = ("h5bucket ls", "h5bucket stat", "h5bucket info", "h5ls", "h5dump", "h5bucket acl s3://b/home/run7.h5$")


def examples(args):
    """(place, line), in their order."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    for page in [os.path.join(root, "README.md"), *sorted(glob.glob(os.path.join(root, "docs", "*.md")))]:
        for line in open(page, encoding="utf-8"):
            if re.match(r"    (\S+=\S+ +)*(" + "|".join(OURS) + r")\b", line):
                yield os.path.basename(page), line.strip()
    verbs = subprocess.run([args.tool, "help"], capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"^  (\w+) ", verbs, re.M):
        for line in subprocess.run([args.tool, verb, "--help"], capture_output=True, text=True, check=True).stdout.splitlines():
            if line.startswith("  h5bucket "):
                yield verb, line.strip()


def place(args, top, bucket):
    """A bucket of the examples: its name begins with this, or it is a folder."""
    return f"s3://examples-{os.getpid()}-{bucket}" if args.store == "s3" and bucket in ("mydata", "b") else f"file://{top}/{bucket}"


def prepare(args, top):
    """The files and domains that the examples name."""
    def run(*argv):
        subprocess.run(argv, check=True, capture_output=True, cwd=top + "/cwd")
    for d in ("mydata/home/me", "b/home/old", "data/hsopen/home/me", "cwd/out", "tmp"):
        os.makedirs(f"{top}/{d}")
    run(args.run, "run7.h5")
    shutil.copy(top + "/cwd/run7.h5", top + "/mydata/run7.h5")
    run(args.gather, top + "/cwd")
    for i, f in enumerate(["run0.h5", "run1.h5"]):
        os.rename(f"{top}/cwd/{f}", f"{top}/cwd/day{i}.h5")
    if args.store == "s3":
        run(sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "s3", "upload.py"),
            *(f"{place(args, top, b)[5:]}={top}/{b}" for b in ("mydata", "b")))
    for bucket, name in (("mydata", "home/me/run7.h5"), ("mydata", "home/me/run8.h5"), ("b", "home/run7.h5"), ("b", "home/old/a.h5"),
                         ("data/hsopen", "home/me/run7.h5"), ("data/hsopen", "x.h5")):
        run(args.tool, "load", "-b", place(args, top, bucket), "run7.h5", "hdf5://" + name)
    run(args.tool, "acl", place(args, top, "b") + "/home/run7.h5", "+crud", "ted")


def here(args, line, top):
    """The names of this machine, and of its buckets; HDF5 2.x's own tools hand names that start with s3: to ROS3."""
    line = re.sub(r"(?<![\w/])/(?=data/|tmp/)", f"{top}/", line)
    to = re.sub(r"(mydata|b)$", "", place(args, top, "b"))[0 if args.store == "s3" else 7:]
    return re.sub(r"s3://", to if line.startswith("h5bucket") or args.store == "dir" else "hsds+" + to, line)


def forget(args, top, name):
    subprocess.run([args.tool, "rm", f"{place(args, top, 'mydata')}/{name}"], check=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--store", choices=["dir", "s3"], default="dir")
    for o in ("--tool", "--bin", "--plugin", "--run", "--gather"):
        p.add_argument(o, required=True)
    args = p.parse_args()
    top = tempfile.mkdtemp(prefix="examples-")
    bad = n = 0
    try:
        prepare(args, top)
        env = {**os.environ, "PATH": f"{os.path.dirname(args.tool)}:{args.bin}:{os.environ['PATH']}", "HDF5_PLUGIN_PATH": args.plugin,
               "HDF5_VOL_CONNECTOR": "bucket"}
        for where, line in examples(args):
            if any(w in line for w in ELSEWHERE[args.store]):
                print(f"not here: {line}")
                continue
            if line.startswith("h5bucket load --link s3"):  # a new domain: the name is taken by an earlier example
                forget(args, top, "home/me/run7.h5")
            if "-d /wind" in line and "run8.h5" in line:  # as the model's output, which has none yet
                forget(args, top, "home/me/run8.h5")
            own = {**env, "HS_BUCKET": place(args, top, "mydata")} if "hdf5://" in line else env
            r = subprocess.run(["bash", "-c", here(args, line, top)], cwd=top + "/cwd", env=own, capture_output=True, text=True, timeout=600,
                               errors="replace")
            n += 1
            right = r.returncode == 0 and (r.stdout.strip() or not line.startswith(LISTS))
            bad += not right
            print(f"{'ok' if right else 'NOT OK'} {where}: {line}" + ("" if right else f"\n{r.returncode} {r.stdout[-600:]} {r.stderr[-600:]}"))
    finally:
        for bucket in ("mydata", "b") if args.store == "s3" else ():
            subprocess.run([args.tool, "rm", "-r", "--yes", place(args, top, bucket) + "/home"], capture_output=True)
        shutil.rmtree(top, ignore_errors=True)
    print(f"{n - bad} of {n} examples work")
    sys.exit(bad > 0 or n < 12)


main()
