#!/usr/bin/env python3
"""HDF5's high-level and Fortran test programs under the connector: every test that passes with HDF5's files passes in domains.

    hdf5_suites.py --hdf5 PREFIX --plugin FOLDER [--bucket URI] [--only PROGRAM] [--show]

With --bucket the programs' file names are domains in a folder below URI (setting `bucket`), else folders
beside each other. config/libraries/hdf5-tests.sh builds the programs of that HDF5, once.  Exceptions are listed in
hdf5_suites_exceptions.txt, a reason beside each; an unused line there fails.
"""
import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["hl/test_lite", "hl/test_image", "hl/test_table", "hl/test_packet", "hl/test_ds", "hl/test_ld", "hl/test_dset_append",
            "hl/test_file_image", "hl/test_h5do_compat", "fortran/hl_tstlite", "fortran/hl_tstimage", "fortran/hl_tsttable",
            "fortran/hl_tstds", "fortran/fortranlib_test_F03", "fortran/testhdf5_fortran_rest", "fortran/testhdf5_fortran_image", "fortran/testhdf5_fortran_1_8"]
VERDICT = re.compile(r"^\s*(?:-+\s*)?(?:Testing\s+)?(.*?)\s*(PASSED|\*FAILED\*|-SKIP-)\s*$")


def results(text):
    """{test: verdict}; a name's second coming is 'name (2)'."""
    found = {}
    for line in text.splitlines():
        match = VERDICT.match(line)
        if not match or not match.group(1):
            continue
        name, n = match.group(1), 1
        while name in found:
            n += 1
            name = f"{match.group(1)} ({n})"
        found[name] = match.group(2)
    return found


def run(program, tests, plugin, bucket):
    """One side: results and the program's output."""
    with tempfile.TemporaryDirectory(prefix="bkt-suite.") as folder:
        data = os.path.join(folder, "testfiles")
        os.mkdir(data)
        for name in os.listdir(os.path.join(tests, "hl")):
            if name.endswith((".h5", ".txt", ".pal", ".wri")):
                shutil.copy(os.path.join(tests, "hl", name), data)
        env = {k: v for k, v in os.environ.items() if k not in ("HDF5_VOL_CONNECTOR", "HDF5_PLUGIN_PATH")}
        env.update(srcdir=folder, H5BUCKET_STATS="1")
        if plugin:
            env.update(HDF5_VOL_CONNECTOR="bucket", HDF5_PLUGIN_PATH=plugin)
            if os.environ.get("BKT_PRELOAD"):
                env["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
            if bucket:
                env["H5BUCKET_BUCKET"] = f"{bucket}/{os.path.basename(folder)}"
        done = subprocess.run([os.path.join(tests, program)], cwd=folder, env=env, capture_output=True, timeout=600)
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return results(out), out, err


def exceptions(in_bucket):
    """[program, test pattern, reason, used]; those of "program @s3" are for a bucket only"""
    rows = []
    with open(os.path.join(HERE, "hdf5_suites_exceptions.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                program, test, reason = (part.strip() for part in line.split("|", 2))
                if in_bucket or not program.endswith(" @s3"):
                    rows.append([program.removesuffix(" @s3"), test, reason, False])
    return rows


def excused(rows, program, test):
    for row in rows:
        if row[0] == os.path.basename(program) and fnmatch.fnmatchcase(test, row[1]):
            row[3] = True
            return True
    return False


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--hdf5", required=True)
    ap.add_argument("--plugin", required=True)
    ap.add_argument("--bucket")
    ap.add_argument("--only")
    ap.add_argument("--show", action="store_true")
    args = ap.parse_args()
    made = subprocess.run([os.path.join(HERE, "..", "..", "..", "config", "libraries", "hdf5-tests.sh"), args.hdf5], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        print("skipped: HDF5's test programs could not be made (config/libraries/hdf5-tests.sh)")
        return 77
    tests = made.stdout.strip()
    rows, bad, good, out_of, puts = exceptions(args.bucket), 0, 0, 0, 0
    for program in PROGRAMS:
        if (args.only and args.only not in program) or not os.path.exists(os.path.join(tests, program)):
            continue
        native = run(program, tests, None, None)
        ours = run(program, tests, args.plugin, args.bucket)
        puts += sum(map(int, re.findall(r"^h5bucket: .* PUT (\d+)", ours[2], re.M)))
        if "h5bucket: " not in ours[2]:
            print(f"{program}: the connector was not asked\n{ours[2][-500:]}")
            bad += 1
        passed = [test for test, how in native[0].items() if how == "PASSED"]
        failed = [test for test in passed if ours[0].get(test) != "PASSED" and not excused(rows, program, test)]
        good += sum(ours[0].get(test) == "PASSED" for test in passed)
        out_of += len(passed)
        bad += len(failed)
        for test in failed:
            print(f"FAIL {os.path.basename(program)} | {test} | {ours[0].get(test, 'not reached')}")
        if not passed:
            print(f"{program}: nothing passes even with HDF5's files\n{(native[1] + native[2])[-800:]}")
            bad += 1
        if args.show and failed:
            print(ours[1][-3000:], ours[2][-3000:])
    if args.bucket and not puts:
        print("nothing was stored in the bucket")
        bad += 1
    stale = [] if args.only else [row for row in rows if not row[3]]
    for row in stale:
        print(f"STALE {row[0]} | {row[1]}: nothing needed it")
    print(f"{good} of {out_of} tests that pass with HDF5's files pass in domains, {out_of - good - bad} are excused, {bad} fail")
    return 1 if bad or stale else 0


if __name__ == "__main__":
    sys.exit(main())
