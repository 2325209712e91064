#!/usr/bin/env python3
"""parallel_counts.py MPIEXEC H5_PARALLEL_COUNTS BUCKET: requests of 1, 2, 4 and (without BKT_SAMPLE) 64 processes, summed over the processes.

Structure costs many processes what it costs one, and they share its PUTs. A collective write stores each chunk once, without reading one. A
collective read fetches each chunk once."""
import os
import re
import subprocess
import sys

COUNTS = re.compile(r"h5bucket: GET (\d+) HEAD (\d+) PUT (\d+) DELETE (\d+) LIST (\d+) .* in (\d+)")
CHUNKS = 4  # of parallel_counts.c
MANY = 200


def run(mpiexec, program, n, what, name):
    got = subprocess.run([mpiexec, "-n", str(n), program, what, name], env=dict(os.environ, H5BUCKET_STATS="1"),
                         capture_output=True, text=True, timeout=120, check=False)
    lines = COUNTS.findall(got.stderr + got.stdout)
    if got.returncode != 0 or len(lines) != n:
        sys.exit(f"{what} by {n}: exit code {got.returncode}, {len(lines)} processes printed counts\n{got.stdout}{got.stderr}")
    if what == "many" and n <= 4 and not all(int(line[2]) >= MANY // n for line in lines):
        sys.exit(f"{n} processes sent these PUTs, but should share them: {[line[2] for line in lines]}")
    sums = [sum(int(line[i]) for line in lines) for i in range(6)]
    return dict(zip(("GET", "HEAD", "PUT", "DELETE", "LIST", "bytes in"), sums))


def main():
    mpiexec, program, bucket = sys.argv[1:]
    failed = False

    def compare(what, got, want, by_bytes=False):
        nonlocal failed
        if isinstance(got, dict) and not by_bytes:
            got, want = ({k: v for k, v in counts.items() if k != "bytes in"} for counts in (got, want))
        print(f"{what}: {got}" + ("" if got == want else f", not {want}: FAILED"))
        failed |= got != want

    alone = {}
    subprocess.run([mpiexec, "-n", "1", program, "plain", f"{bucket}/plain.h5"], timeout=60, check=True)
    for n in (1, 2, 4) if os.environ.get("BKT_SAMPLE") else (1, 2, 4, 64):
        name = f"{bucket}/counts{n}.h5"
        written = run(mpiexec, program, n, "write", name)
        opened = run(mpiexec, program, n, "read", name)
        whole = run(mpiexec, program, n, "all", name)
        meta = run(mpiexec, program, n, "meta", f"{bucket}/meta{n}.h5")
        own_opens = run(mpiexec, program, n, "own", f"{bucket}/own{n}.h5")
        plain = f"hsds+file://{bucket}/plain.h5"
        plain_read, plain_all = (run(mpiexec, program, n, what, plain) for what in ("read", "all"))
        many = run(mpiexec, program, n, "many", f"{bucket}/many{n}.h5")
        del many["LIST"]  # of summaries by each flush, a second apart: one or two
        alone = alone or {"write": written, "read": opened, "all": whole, "meta": meta, "own": own_opens, "many": many, "plain": plain_read, "plain_all": plain_all}
        compare(f"{MANY} objects made, changed and read by {n}", many, alone["many"])
        compare(f"a collective write by {n}", written, alone["write"])
        compare(f"objects opened with H5Pset_all_coll_metadata_ops by {n}", meta, alone["meta"])
        compare(f"objects opened by each of {n} for itself, on one node", own_opens, alone["own"])
        compare(f"a plain file's first value by {n}", plain_read, dict(alone["plain"], GET=alone["plain"]["GET"] + n - 1))
        compare(f"a collective read of all of a plain file by {n}", plain_all,
                dict(alone["plain_all"], GET=alone["plain_all"]["GET"] + n - 1), by_bytes=True)  # each reads chunks of its own, once
        compare(f"a collective read of all by {n}", whole, alone["all"])
        own = dict(alone["read"], GET=alone["read"]["GET"] + n - 1)  # each process reads its chunk
        compare(f"opening and the first value by {n}", opened, own)
    compare("PUTs: chunks, root, dataset, document", alone["write"]["PUT"], CHUNKS + 3)
    compare("PUTs: datasets three times, root, document", alone["many"]["PUT"], 3 * MANY + 2)
    return failed


if __name__ == "__main__":
    sys.exit(main())
