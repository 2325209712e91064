#!/usr/bin/env python3
"""examples.py: every example of README and of `h5bucket VERB --help` that calls h5bucket or one of HDF5's tools is run, as it stands
there but for the names of buckets, which become folders here.  Each must succeed, and print something where it says that it lists.

  examples.py --tool H5BUCKET --bin HDF5-TOOLS --plugin FOLDER --run make_run --gather make_gather"""
import argparse, os, re, shutil, subprocess, sys, tempfile

OURS = ("h5bucket", "h5ls", "h5dump", "h5copy", "h5repack", "h5diff")
# A public bucket; a program that is tested apart (h5_netcdf); a verb that refuses folders (h5_request_counts).
ELSEWHERE = ("nrel-pds-hsds", "ncdump", "h5bucket snapshot")
LISTS = ("h5bucket ls", "h5bucket stat", "h5bucket info", "h5ls", "h5dump", "h5bucket acl s3://b/home/run7.h5$")


def examples(args):
    """(where, line), in their order."""
    readme = os.path.join(os.path.dirname(__file__), "..", "..", "README.md")
    for line in open(readme, encoding="utf-8"):
        if re.match(r"    (\S+=\S+ +)*(" + "|".join(OURS) + r")\b", line):
            yield "README", line.strip()
    verbs = subprocess.run([args.tool, "help"], capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"^  (\w+) ", verbs, re.M):
        for line in subprocess.run([args.tool, verb, "--help"], capture_output=True, text=True, check=True).stdout.splitlines():
            if line.startswith("  h5bucket "):
                yield verb, line.strip()


def prepare(args, top):
    """What the examples speak of."""
    def run(*argv):
        subprocess.run(argv, check=True, capture_output=True, cwd=top + "/cwd")
    for d in ("mydata/home/me", "b/home/old", "data/hsopen/home/me", "cwd/out", "tmp"):
        os.makedirs(f"{top}/{d}")
    run(args.run, "run7.h5")
    shutil.copy(top + "/cwd/run7.h5", top + "/mydata/run7.h5")
    run(args.gather, top + "/cwd")
    for i, f in enumerate(["run0.h5", "run1.h5"]):
        os.rename(f"{top}/cwd/{f}", f"{top}/cwd/day{i}.h5")
    for bucket, name in (("mydata", "home/me/run7.h5"), ("mydata", "home/me/run8.h5"), ("b", "home/run7.h5"), ("b", "home/old/a.h5"),
                         ("data/hsopen", "home/me/run7.h5"), ("data/hsopen", "x.h5")):
        run(args.tool, "load", "-b", f"file://{top}/{bucket}", "run7.h5", "hdf5://" + name)
    run(args.tool, "acl", f"{top}/b/home/run7.h5", "+crud", "ted")


def here(line, top):
    """The names of this machine."""
    return re.sub(r"s3://|(?<![\w/])/(?=data/|tmp/)", f"{top}/", line)


def main():
    p = argparse.ArgumentParser()
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
            if any(w in line for w in ELSEWHERE):
                print(f"not here: {line}")
                continue
            if line.startswith("h5bucket load --link s3"):  # a new domain: the name is taken by an earlier example
                subprocess.run([args.tool, "rm", f"{top}/mydata/home/me/run7.h5"], check=True)
            if "-d /wind" in line and "run8.h5" in line:  # as the model's output, which has none yet
                subprocess.run([args.tool, "rm", f"{top}/mydata/home/me/run8.h5"], check=True)
            own = {**env, "HS_BUCKET": f"file://{top}/mydata"} if "hdf5://" in line else env
            r = subprocess.run(["bash", "-c", here(line, top)], cwd=top + "/cwd", env=own, capture_output=True, text=True, timeout=120,
                               errors="replace")
            n += 1
            right = r.returncode == 0 and (r.stdout.strip() or not line.startswith(LISTS))
            bad += not right
            print(f"{'ok' if right else 'NOT OK'} {where}: {line}" + ("" if right else f"\n{r.returncode} {r.stdout[-600:]} {r.stderr[-600:]}"))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{n - bad} of {n} examples work")
    sys.exit(bad > 0 or n < 12)


main()
