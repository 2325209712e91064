"""Claims about h5bucket: load.  Run by tool.py; forms of files and --extend have tests of their own in test/h5tests."""
import os, signal, subprocess

from bed import dir_only, fails, ok

DEFAULT = {"HDF5_USE_FILE_LOCKING": ""}  # as HDF5 was built


def held(b, name):
    """A program that has the file open for writing, and the file."""
    f = os.path.join(b.tmp, name)
    p = subprocess.Popen([b.odd, "held", f], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ready\n"
    return f, p


def end(p):
    p.stdin.close()
    p.wait()


def nothing_at(b, d):
    fails(b.run("stat", d), rc=1)


@dir_only
def test_a_file_that_is_being_written_is_refused_as_by_hdf5(b):
    if not b.odd:
        return
    f, p = held(b, "held.h5")
    ours = {"HDF5_PLUGIN_PATH": b.plugin}
    try:
        for options in ([], ["--link"], ["--link", "--extend", "0"]):
            for name in (f, "file://" + f):
                d = b.new()
                fails(b.run("load", *options, name, d, env=DEFAULT), f, "unable to lock file", "HDF5_USE_FILE_LOCKING")
                nothing_at(b, d)
        fails(b.run("chunks", f, env=DEFAULT), "unable to lock file")
        fails(b.run("diff", f, f, env=DEFAULT), "unable to lock file", rc=2)
        assert "10" not in b.run_any(os.path.join(b.bin, "h5dump"), "-d", "x", f, env=DEFAULT).stdout  # the judge
        # without locks HDF5 still refuses what is marked as open, in a file that has the mark
        fails(b.run("load", f, b.new(), env={"HDF5_USE_FILE_LOCKING": "FALSE"}), "open for writing")
    finally:
        end(p)
    d = b.new()
    fails(b.run("load", f, d, env=DEFAULT), f, "marked as open for writing", "h5clear")
    ok(b.run_any(os.path.join(b.bin, "h5clear"), "-s", f, env=ours))
    ok(b.run("load", f, d, env=DEFAULT))
    assert b.json("diff", f, d) == []


@dir_only
def test_locks_follow_the_environment(b):
    import fcntl
    if not b.odd:
        return
    f = os.path.join(b.tmp, "locked.h5")
    ok(b.run_any(b.odd, "small", f))
    with open(f, "rb") as h:
        fcntl.flock(h, fcntl.LOCK_EX)
        for value, refused in (("TRUE", True), ("BEST_EFFORT", True), ("1", True), ("FALSE", False), ("0", False)):
            env = {"HDF5_USE_FILE_LOCKING": value}
            judge = b.run_any(os.path.join(b.bin, "h5dump"), "-H", f, env=env).returncode != 0
            got = b.run("load", f, b.new(), env=env)
            assert judge == refused == (got.returncode != 0), (value, judge, got.stderr)
        fcntl.flock(h, fcntl.LOCK_SH)  # another reader
        ok(b.run("load", f, b.new(), env=DEFAULT))
