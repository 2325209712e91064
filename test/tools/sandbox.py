"""Shared by the tests of h5bucket: a copy of the sample buckets, runs of the tool, their expected results."""
import json, os, re, shutil, subprocess, tempfile, time

FX = "home/test_user1/fx"


class Sandbox:
    """The place of the tests: names of sample domains, and a folder to write into."""

    def __init__(self, args):
        self.tool, self.store, self.bin, self.plugin, self.rights = args.tool, args.store, args.bin, args.plugin, args.rights
        self.no_delete, self.refs, self.sparse, self.two_refs = args.no_delete, args.refs, args.sparse, args.two_refs
        self.clock_ahead, self.filters, self.odd, self.cases = args.clock_ahead, args.filters, args.odd, args.cases
        self.adding, self.bitshuffle, self.filtered_rows = args.adding, args.bitshuffle, args.filtered_rows
        self.tmp = tempfile.mkdtemp(prefix="tool-")
        self.fixtures = os.environ["BKT_FIXTURES"]
        if self.store == "dir":
            self.bucket = os.path.join(self.tmp, "hsopen")
            shutil.copytree(os.path.join(self.fixtures, "hsopen"), self.bucket)
        else:
            self.bucket = "s3://hsopen"
        self.mine = f"{self.bucket}/home/tool-{os.getpid()}"
        ok(self.run("touch", self.mine))
        self.count = 0

    def fx(self, name):
        return f"{self.bucket}/{FX}/{name}"

    def new(self, name=""):
        self.count += 1
        return f"{self.mine}/n{self.count}{name}"

    def copy(self, name):
        to = self.new("_" + name)
        ok(self.run("cp", self.fx(name), to))
        return to

    def run(self, *argv, env=None):
        return self.run_any(self.tool, *argv, env=env)

    def run_any(self, *argv, env=None):
        r = subprocess.run(argv, capture_output=True, text=True, timeout=300,
                           env={**os.environ, **(env or {})}, errors="surrogateescape")
        assert r.returncode >= 0 and "Sanitizer" not in r.stderr and "runtime error:" not in r.stderr, (argv, r.returncode, r.stderr)
        return r

    def hdf5(self, program, *argv, user):
        """One of HDF5's own tools on a domain, as that user; those of HDF5 2.x hand names that start with s3:
        to ROS3."""
        return self.run_any(os.path.join(self.bin, program), *(re.sub("^s3:", "hsds+s3:", a) for a in argv),
                            env={"HDF5_PLUGIN_PATH": self.plugin, "HDF5_VOL_CONNECTOR": "bucket", "HS_USERNAME": user})

    def json(self, *argv, rc=0, env=None):
        r = self.run(*argv, "--json", env=env)
        assert rc is None or r.returncode == rc, (argv, r.returncode, r.stderr)
        return json.loads(r.stdout)

    def end(self):
        self.run("rm", "-r", "--yes", self.mine)
        shutil.rmtree(self.tmp, ignore_errors=True)

    # ---- the store itself, past the tool ----
    def path(self, key):
        assert self.store == "dir"
        return os.path.join(self.bucket, key)

    def object_of(self, domain, path="/"):
        return self.path(self.json("stat", domain, path)["key"])


def ok(r):
    assert r.returncode == 0, (r.args, r.returncode, r.stdout, r.stderr)
    return r.stdout


def fails(r, *words, rc=1):
    assert r.returncode == rc, (r.args, r.returncode, r.stdout, r.stderr)
    for w in words:
        assert w in r.stderr, (r.args, w, r.stderr)
    return r.stderr


def fails_without(r, *words):
    for w in words:
        assert w not in r.stderr and w not in r.stdout, (r.args, w, r.stderr)


def dir_only(f):
    f.dir_only = True
    return f


def s3_only(f):
    f.s3_only = True
    return f


def own_bucket(f):
    """It changes the sample domains themselves, or looks at the bucket as a whole."""
    f.own_bucket = f.dir_only = True
    return f
