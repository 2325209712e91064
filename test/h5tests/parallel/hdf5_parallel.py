#!/usr/bin/env python3
"""hdf5_parallel.py MPIEXEC BIN NO_ABORT VALUE BUCKET: HDF5's own parallel test programs, with the connector as the default one, and
below HDF5's pass-through connector.  VALUE is the connector's number; BUCKET a folder, or a URI.

A program's words show whether it fails: some exit with 0 in any case. A program counts only if the connector sent
requests in its processes (H5BUCKET_STATS). Tests that are left out have a reason here."""
import os
import re
import subprocess
import sys
import tempfile

# Tests of testphdf5 that don't apply.
LEFT_OUT = {
    "h5oflusherror": "H5Oflush must fail in HDF5's parallel files; it works in a domain",
    "page_buffer": "the page buffer is refused for HDF5's parallel files; a domain has none",
    "delete": "H5Fis_accessible must fail for a missing file; the connector answers that it isn't accessible",
    "invlibverassert": "a property list that parallel files refuse; a domain has no file format",
    "evictparassert": "the same",
    "chkallocser2par": "the space of chunks in a file that was made serially, which a domain doesn't allocate",
    "bigdset": "the size of the file on disk",
}
# The same, in S3 alone.
LEFT_OUT_IN_S3 = {
    "calloc": "MPI opens the file, to learn its size",
    "alnbg1": "the size of the file",
    "nocolcause": "a raw file of H5Pset_external beside the domain",
}
# Programs that are left out.
NOT_FOR_CONNECTORS = {
    "t_cache, t_cache_image": "they take libhdf5's own structures out of the memory behind a file's id",
    "t_pread": "it puts a user block before its file by open() and write()",
    "t_vfd, t_subfiling_vfd, t_mpi": "they call file drivers, or MPI alone",
}
# Program, arguments, words that it must print, words that it must not print.
PROGRAMS = (
    ("h5_api_test_parallel", (), "At least 30/34", r"[1-9]\d*/34 .* did not pass"),
    ("h5_api_test_parallel_testphdf5", tuple(a for name in LEFT_OUT for a in ("-x", name)), "PHDF5 tests finished with no errors", "ERROR"),
    ("h5_api_test_parallel_t_shapesame", (), "Shape Same tests finished with no errors", "ERROR"),
)
SHORT = PROGRAMS[:1]
# GiBs of elements.
LARGE = (
    ("h5_api_test_parallel_t_bigio", (), "Parallel big IO tests finished with no errors", "ERROR|FAILED"),
    ("t_2Gio", (), "All tests were successful", "ERROR|FAILED"),
)
# Programs that end in unusual ways: HDF5 closes their files in MPI_Finalize(), and a second program reads these; HDF5 without MPI after
# MPI_Finalize().
ENDS = (
    ("h5_api_test_parallel_t_pshutdown", (), "PASSED", "FAILED"),
    ("t_prestart", (), "PASSED", "FAILED"),
    ("t_init_term", (), "PASSED", "FAILED"),
)
COUNTS = re.compile(r"h5bucket: GET (\d+) HEAD (\d+) PUT (\d+) DELETE \d+ LIST (\d+)")
# t_select_io_dset has one check that can't hold, in each process: "the conversion buffer is too small".  The connector
# doesn't use that buffer.
ONE_CAUSE = r"in (?!test_no_selection_io_cause_mode\(\))\w+\(\)\.\.\.|Incorrect"
# t_pmulti_dset removes its file by MPI_File_delete(), which can't remove a domain.  All its tests come before.
REMOVAL = r"in (?!main\(\))\w+\(\)\.\.\."
# t_filters_parallel asks how HDF5's file driver moved bytes, and whether the space of each chunk is allocated.  A domain has
# neither: its small chunks share an object, and space is what is stored.
OF_THE_FILE = ("verified space allocation status", "verified I/O optimization", "verified actual selection I/O mode")
# Its tests where natively a call must fail that works here, and what it verifies after such a call.
WORKS_HERE = (
    ("Testing write to", "with Datatype conversion", ("Dataset write", "Data verification succeeded")),
    ("Testing undefined fill value", "", ("Dataset write",)),
)
SELECTION = ("t_select_io_dset", (), "Parallel selection I/O dataset tests", ONE_CAUSE)
MULTI = ("t_pmulti_dset", (), "Parallel multi dataset tests", REMOVAL)
FAILED = re.compile(r"VRFY \((.*)\) failed at line +(\d+)")


def environment(bucket):
    return dict(os.environ, HDF5_VOL_CONNECTOR="bucket", HDF5_PARAPREFIX=bucket, H5BUCKET_STATS="1", H5BUCKET_FSYNC="no")


def start(mpiexec, bucket, n, command, **more):
    cwd = bucket if os.path.isabs(bucket) else tempfile.gettempdir()
    got = subprocess.run([mpiexec, "-n", str(n), *command], env=dict(environment(bucket), **more), cwd=cwd, capture_output=True,
                         text=True, timeout=1200, check=False)
    return got.stdout + got.stderr


def report(program, n, good, requests, text):
    good = bool(good) and requests > 0
    print(f"{program}, {n} processes: {'ok' if good else 'FAILED'}, the connector sent {requests} requests", flush=True)
    if not good:
        print(text[-6000:])
    return good


def requests_of(text):
    return sum(int(count) for counts in COUNTS.findall(text) for count in counts)


def run(mpiexec, folder, bucket, n, program, args, words, never, **more):
    text = start(mpiexec, bucket, n, [os.path.join(folder, program), *args], **more)
    name = program + (" below pass_through" if "HDF5_VOL_CONNECTOR" in more else " in S3" if more else "")
    return report(name, n, words in text and not re.search(never, text), requests_of(text), text)


def flushed(mpiexec, folder, bucket, n):
    """t_pflush1 ends without closing: t_pflush2 must find the flushed domain, and the other one without its structure.

    It would close the MPI_File of H5Fget_vfd_handle() before, which a domain doesn't have.  That call comes last."""
    text = start(mpiexec, bucket, n, [os.path.join(folder, "t_pflush1")])
    last = "H5Fget_vfd_handle" in text and "H5Fflush():" not in text and "H5Dwrite():" not in text
    text += start(mpiexec, bucket, n, [os.path.join(folder, "t_pflush2")])
    good = last and re.search(r"with flush\) +PASSED", text) and re.search(r"without flush\) +PASSED", text)
    return report("t_pflush1, t_pflush2", n, good, requests_of(text), text)


def tolerated(test, message):
    return message.startswith(OF_THE_FILE) or any(
        test.startswith(begin) and test.endswith(end) and message in messages for begin, end, messages in WORKS_HERE)


def filters(mpiexec, folder, bucket, n, no_abort):
    """t_filters_parallel, which would end at the first check that fails: MPI_Abort() does nothing here."""
    script = f'exec {folder}/t_filters_parallel > {bucket}/filters.${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} 2>&1'
    start(mpiexec, bucket, n, ["sh", "-c", script], LD_PRELOAD=no_abort, HDF5TestExpress="3")
    logs = []
    for rank in range(n):
        with open(f"{bucket}/filters.{rank}", encoding="utf-8") as log:
            logs.append(log.read())
    test, at, wrong = "", set(), []
    for line in logs[0].splitlines():  # only process 0 names the tests
        test = line if line.startswith("Testing ") else test
        failed = FAILED.search(line)
        if failed and tolerated(test, failed[1]):
            at.add(failed[2])
        elif failed:
            wrong.append(f"{test}: {line}")
    for rank, log in enumerate(logs[1:], 1):
        wrong += [f"process {rank}: {message}, line {line}" for message, line in FAILED.findall(log)
                  if not message.startswith(OF_THE_FILE) and line not in at]
    tests = len(re.findall("^Testing ", logs[0], re.M))
    print(f"t_filters_parallel: {tests} tests")
    good = not wrong and tests > 500 and "ERRORS OCCURRED" in logs[0]
    return report("t_filters_parallel", n, good, sum(map(requests_of, logs)), "\n".join(wrong) or logs[0])


def in_s3(mpiexec, folder, uri, sample):
    """The programs that make all of their files under a given prefix: a folder of this run's own.  They make one of two
    slashes, so the bucket is the default one, and the prefix a path in it."""
    scheme, _, name, path = uri.split("/", 3)
    prefix = f"{path}/hdf5-{os.getpid()}"
    more = {"H5BUCKET_BUCKET": f"{scheme}//{name}"}
    results = [run(mpiexec, folder, prefix, 3, *program, **more) for program in SHORT]
    if not sample:
        for name, why in LEFT_OUT_IN_S3.items():
            print(f"testphdf5 in S3, without {name}: {why}")
        also = tuple(a for name in LEFT_OUT_IN_S3 for a in ("-x", name))
        for name, args, *words in (*PROGRAMS[1:], SELECTION):
            results.append(run(mpiexec, folder, prefix, 2, name, args and args + also, *words, **more))
    return not all(results)


def main():
    mpiexec, folder, no_abort, value, bucket = sys.argv[1:]
    below = {"HDF5_VOL_CONNECTOR": f"pass_through under_vol={value};under_info={{}}"}
    sample = bool(os.environ.get("BKT_SAMPLE"))
    if "://" in bucket:
        return in_s3(mpiexec, folder, bucket, sample)
    results = []
    processes = (3,) if sample else (2, 3, 4)
    if "mpich" in os.path.basename(mpiexec):
        # its processes wait without yielding: more of them than processors take an hour for testphdf5
        print(f"MPICH: the long programs run with up to {os.cpu_count()} processes")
        processes = tuple(n for n in (2, 3, 4) if n <= max(2, os.cpu_count()))
        results = [run(mpiexec, folder, bucket, n, *program) for n in (3, 4) if n not in processes for program in SHORT]
    for name, why in LEFT_OUT.items():
        print(f"testphdf5, without {name}: {why}")
    results += [run(mpiexec, folder, bucket, n, *program) for n in processes for program in PROGRAMS]
    for name, why in NOT_FOR_CONNECTORS.items():
        print(f"not run: {name}: {why}")
    results += [run(mpiexec, folder, bucket, 3, *program) for program in ENDS]
    stacked = SHORT if sample else PROGRAMS
    results += [run(mpiexec, folder, bucket, 2, *program, **below) for program in stacked]
    results += [flushed(mpiexec, folder, bucket, n) for n in processes]
    if sample:
        print("not in a sample: t_pmulti_dset, t_filters_parallel, t_bigio, t_2Gio")
    else:
        results += [run(mpiexec, folder, bucket, 2, *program) for program in LARGE]
        results.append(run(mpiexec, folder, bucket, 2, *MULTI))
        results.append(filters(mpiexec, folder, bucket, 2, no_abort))
    results += [run(mpiexec, folder, bucket, n, *SELECTION) for n in processes]
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
