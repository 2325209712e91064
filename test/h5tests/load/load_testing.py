"""Shared by the tests of `h5bucket load`: running programs, comparing h5dump of a domain with h5dump of the
file."""
import argparse
import os
import re
import subprocess
import tempfile

failures = []
PROGRESS = re.compile(r"^.*: \d+ objects, \d+ chunks, .* MB/s(, \d+:\d\d to go)?\n", re.M)  # of commands that take longer than 5 seconds


def check(what, good, more=""):
    print(("ok    " if good else "FAIL  ") + what + ("" if good else "\n" + str(more)[:2000]), flush=True)
    if not good:
        failures.append(what)


def data_of(text):
    """The values in h5dump's output for one dataset."""
    return text.split("DATA {", 1)[-1].split("\n   }")[0]


class Bench:
    def __init__(self, options, folder, **more):
        self.o = options
        self.root = folder
        self.files = os.path.join(folder, "files")
        os.makedirs(self.files)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("H5BUCKET", "HDF5_VOL", "HDF5_EXTFILE"))}
        self.env = dict(env, HDF5_PLUGIN_PATH=options.plugin, HDF5_USE_FILE_LOCKING="FALSE", **more)

    def run(self, *command, env=None, cwd=None):
        p = subprocess.run(command, capture_output=True, timeout=600, env=dict(self.env, **(env or {})), cwd=cwd or self.files)
        self.said = p.stderr.decode(errors="replace")
        return p.returncode, p.stdout.decode(errors="replace"), PROGRESS.sub("", self.said)

    def load(self, *args):
        return self.run(self.o.tool, "load", *args)

    def domain(self, name):
        return os.path.join(self.root, name)

    def dump(self, name, *args, env=None):
        env = dict(env or {})
        if "HDF5_VOL_CONNECTOR" not in env:
            env["HDF5_PLUGIN_PATH"] = "/nonexistent"  # HDF5 would ask the plugin about a family, whose name is not a file's
        elif os.environ.get("BKT_PRELOAD"):  # the runtime of a sanitizer that the plugin was built with
            env["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
        rc, out, err = self.run(os.path.join(self.o.bin, "h5dump"), *args, name, env=env)
        return rc, out.split("\n", 1)[-1], err

    def dump_domain(self, name, *args):
        rc, out, err = self.dump(self.domain(name), *args, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_STATS": "1"})
        if not re.search(r"h5bucket: GET [1-9]", err):
            check(f"{name} was read through the connector", False, err)
        return rc, out, err

    def same(self, what, source, name, *args):
        want, got = self.dump(source, *args), self.dump_domain(name)
        diff = [f"-{a}\n+{b}" for a, b in zip(want[1].split("\n"), got[1].split("\n")) if a != b]
        check(what, want[1] == got[1] and got[0] == 0, "\n".join(diff[:20]) + got[2])

    def values(self, name, dset, *cut, domain=False):
        """The numbers of a dataset, or of the part that h5dump's options cut out."""
        rc, out, err = (self.dump_domain if domain else self.dump)(name, "-y", "-w", "0", "-d", dset, *cut)
        return re.findall(r"-?\d+", out.split("DATA {", 1)[-1].split("}")[0]) if rc == 0 else err

    def verify(self, name, *args):
        return self.run(self.o.tool, "verify", *args, self.domain(name))


def run_parts(parts, more=(), prepare=None):
    """main() of a test: parts(bench) one after the other, in a new folder; returns the exit code."""
    parser = argparse.ArgumentParser()
    for name in ("bin", "plugin", "tool", "make", *more):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bkt-load-") as folder:
        bench = Bench(options, folder)
        rc, _, err = bench.run(options.make, bench.files)
        check("files are made", rc == 0, err)
        if prepare:
            prepare(bench)
        for part in parts:
            part(bench)
    print(f"{len(failures)} failures")
    return 1 if failures else 0
