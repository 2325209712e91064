#!/usr/bin/env python3
"""hdf5_parallel.py MPIEXEC BIN BUCKET: HDF5's own parallel test programs, with the connector as the default one.

They are judged by their words, since some exit with 0 whatever fails. A program counts only if the connector sent
requests in its processes (H5BUCKET_STATS). Tests that are left out have a reason here."""
import os
import re
import subprocess
import sys

# Tests of testphdf5 that don't apply.
LEFT_OUT = {
    "h5oflusherror": "H5Oflush must fail in HDF5's parallel files; it works in a domain",
    "page_buffer": "the page buffer is refused for HDF5's parallel files; a domain has none",
    "delete": "H5Fis_accessible must fail for a missing file; the connector's answer is no",
    "invlibverassert": "a property list that parallel files refuse; a domain has no file format",
    "evictparassert": "the same",
    "chkallocser2par": "allocation of chunks, which a domain doesn't do",
    "bigdset": "the size of the file on disk",
    "nocolcause": "reasons for independent access that a domain doesn't have",
}
# Program, arguments, words that it must print, words that it must not print.
PROGRAMS = (
    ("h5_api_test_parallel", (), "At least 30/34", r"[1-9]\d*/34 .* did not pass"),
    ("h5_api_test_parallel_testphdf5", tuple(a for name in LEFT_OUT for a in ("-x", name)), "PHDF5 tests finished with no errors", "ERROR"),
    ("h5_api_test_parallel_t_shapesame", (), "Shape Same tests finished with no errors", "ERROR"),
)
COUNTS = re.compile(r"h5bucket: GET (\d+) HEAD (\d+) PUT (\d+)")


def run(mpiexec, folder, bucket, n, program, args, words, never):
    env = dict(os.environ, HDF5_VOL_CONNECTOR="bucket", HDF5_PARAPREFIX=bucket, H5BUCKET_STATS="1", H5BUCKET_FSYNC="no")
    got = subprocess.run([mpiexec, "-n", str(n), os.path.join(folder, program), *args], env=env, cwd=bucket, capture_output=True,
                         text=True, timeout=1200, check=False)
    text = got.stdout + got.stderr
    stored = sum(int(put) for _, _, put in COUNTS.findall(text))
    good = words in text and not re.search(never, text) and stored > 0
    print(f"{program}, {n} processes: {'ok' if good else 'FAILED'}, the connector stored {stored} objects", flush=True)
    if not good:
        print(text[-6000:])
    return good


def main():
    mpiexec, folder, bucket = sys.argv[1:]
    processes = (2, 3, 4) if not os.environ.get("BKT_SAMPLE") else (3,)
    for name, why in LEFT_OUT.items():
        print(f"testphdf5, without {name}: {why}")
    results = [run(mpiexec, folder, bucket, n, *program) for n in processes for program in PROGRAMS]
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
