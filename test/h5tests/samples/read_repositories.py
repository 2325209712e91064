#!/usr/bin/env python3
"""read_repositories.py --read PROGRAM REPOSITORY...: all records of repositories that h5py wrote, read in batches.

PROGRAM is bench/programs/samplesread.c.  Samples with state ok have the bytes of values.bin; damaged, unreadable and missing ones
fail, each with its record in the error; no others do.  Folders only.  $BKT_WEB=yes: by a web server.
"""
import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "helpers"))
import web_folder  # noqa: E402


def lines_of(folder):
    with open(os.path.join(folder, "records.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return [row for row in rows if row[3] != "foreign"]


def check(program, name, folder, batch, seed):
    rows = lines_of(folder)
    random.Random(seed).shuffle(rows)
    with tempfile.TemporaryDirectory(prefix="bkt-samples.") as tmp:
        records, out = os.path.join(tmp, "records"), os.path.join(tmp, "out")
        with open(records, "w", encoding="utf-8") as f:
            f.writelines(row[6] + "\n" for row in rows)
        run = subprocess.run([program, name, records, str(batch), out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            return [f"{name}: exit code {run.returncode}: {run.stderr}"]
        with open(out, "rb") as f:
            got = f.read()
    with open(os.path.join(folder, "values.bin"), "rb") as f:
        values = f.read()
    errors, bad, at = run.stdout.splitlines()[:-1], [], 0
    for row in rows:
        record, state, offset, size = row[6], row[3], int(row[7]), int(row[8])
        failed = [e for e in errors if f"'{record}'" in e]
        if (state == "ok") != (not failed):
            bad.append(f"{name}: {record} of {row[1]}, {state}: {failed or 'was read'}")
        if state == "damaged" and failed and "digest" not in failed[0]:
            bad.append(f"{name}: {record}: {failed[0]}")
        if state == "ok":
            size //= 2 if folder.endswith("/cast") else 1  # they are stored in half of their size
            if not folder.endswith("/cast") and got[at:at + size] != values[offset:offset + size]:
                bad.append(f"{name}: {record} of {row[1]}: other bytes")
            at += size
    if at != len(got) and not bad:
        bad.append(f"{name}: {len(got)} bytes instead of {at}")
    return bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--read", required=True)
    p.add_argument("repositories", nargs="+")
    a = p.parse_args()
    bad = []
    top = os.environ["BKT_SAMPLES"]
    web = os.environ.get("BKT_WEB") == "yes"
    with web_folder.WebFolder(top) if web else contextlib.nullcontext() as server:
        for name in a.repositories:
            folder = os.path.join(top, name)
            for batch in (7, 1000):
                bad += check(a.read, f"{server.url}/{name}" if web else folder, folder, batch, batch)
    print("\n".join(bad[:50]) if bad else f"{len(a.repositories)} repositories")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
