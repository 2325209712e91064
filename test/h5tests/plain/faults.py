#!/usr/bin/env python3
"""faults.py: plain files by name, behind a proxy that spoils the answers of a radosgw.

    faults.py --bin DIR --plugin DIR --hdf5 PREFIX        under test/s3/behind_proxy.sh

h5dump of each file prints the same as for the local file, or fails in bounded time.  The message names the key
and the server's status.  No wrong byte is printed.  The files are those of HDF5's own tests.  Standard
library only.
"""
import argparse
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path += [os.path.join(ROOT, "test", "s3"), os.path.join(HERE, "..", "helpers")]
import fault_proxy  # noqa: E402
import hdf5_files  # noqa: E402
import sample  # noqa: E402
import upload  # noqa: E402

FILES = ("tall.h5", "tfilters.h5", "tvlstr.h5", "tarray8.h5", "tattr4_be.h5", "tnestedcomp.h5", "vds/1_vds.h5")
ALWAYS_READ = (("nothing", ""), ("503", "p503=0.2"), ("500", "p500=0.2"), ("resets", "preset=0.2"), ("late answers", "tail_p=0.3&tail=700"),
               ("cut bodies", "pcut=0.3&cut_at=1000"), ("executed, answer lost", "pafter=0.2"), ("a slow line", "rate=200000"))
MAY_FAIL = (("stuck answers", "pstall=0.3"),)
NEVER_READ = (("503 always", "p503=1", "503"), ("500 always", "p500=1", "500"), ("resets always", "preset=1", ""))
LIMIT = 60  # seconds, for a request's deadline of 6
failures = []


def check(what, good, more=""):
    if not good:
        failures.append(what)
        print(f"FAIL {what}\n{str(more)[-1200:]}", flush=True)


class Faults:
    def __init__(self, args, files):
        self.args, self.files, self.bucket = args, os.path.join(files, "h5dump"), f"faults-{os.getpid()}"
        self.base = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "HS_"))}
        self.base.update(HDF5_PLUGIN_PATH="/nonexistent", HDF5_USE_FILE_LOCKING="FALSE")
        self.ours = dict(self.base, HDF5_PLUGIN_PATH=args.plugin, HDF5_VOL_CONNECTOR="bucket", H5BUCKET_STATS="1",
                         H5BUCKET_DEADLINE_MS="6000", H5BUCKET_TRACE="vol", AWS_ENDPOINT_URL=os.environ["BKT_PROXY"])
        self.runs = 0

    def upload(self):
        upload.put("/" + self.bucket, b"")
        folder = os.path.join(self.files, "vds")
        for name in FILES + tuple("vds/" + name for name in os.listdir(folder) if name.startswith("1_")):
            with open(os.path.join(self.files, name), "rb") as f:
                upload.put(f"/{self.bucket}/{name}", f.read())

    @staticmethod
    def fault(query):
        for part in ("clear=1", "seed=7&" + query if query else ""):
            if part:
                fault_proxy.ask("?" + part)

    def dump(self, name, env, cwd):
        begin = time.monotonic()
        done = subprocess.run([os.path.join(self.args.bin, "h5dump"), name], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=600)
        return done.returncode, done.stdout.split(b"\n", 1)[-1], done.stderr.decode(errors="replace"), time.monotonic() - begin

    def outcome(self, what, name, must):
        """`must`: it has to be read; None: it may be; else a word that the message has to have."""
        folder, base = os.path.split(os.path.join(self.files, name))
        want = self.dump(base, self.base, folder)
        rc, out, err, seconds = self.dump(f"s3://{self.bucket}/{name}", self.ours, "/")
        self.runs += 1
        what = f"{what}, {name}"
        check(f"{what}: the connector made requests", re.search(r"h5bucket: GET [1-9]", err), err)
        check(f"{what}: {seconds:.0f} s, at most {LIMIT}", seconds <= LIMIT)
        same = rc == want[0] and out == want[1]  # h5dump ends with 1 if it lacks a filter
        check(f"{what}: nothing else than the file's bytes", rc != 0 or same, err + out[:300].decode(errors="replace"))
        if must is True:
            check(f"{what}: is read", same, err)
        elif must is not None:
            check(f"{what}: fails, with key and status", rc != 0 and name in err and must in err, err)

    def main(self):
        self.upload()
        for rows, must in ((ALWAYS_READ, True), (MAY_FAIL, None)):
            for what, query in rows:
                self.fault(query)
                for name in FILES[::sample.step(3)]:
                    self.outcome(what, name, must)
        for what, query, word in NEVER_READ:
            self.fault(query)
            self.outcome(what, FILES[0], word)
        self.fault("")
        print(f"{self.runs} runs of h5dump behind the proxy, {len(failures)} failures{sample.note()}")


def main():
    parser = argparse.ArgumentParser()
    for option in ("bin", "plugin", "hdf5"):
        parser.add_argument("--" + option, required=True)
    args = parser.parse_args()
    if "BKT_PROXY" not in os.environ:
        print("skipped: no proxy (install nginx-light and libnginx-mod-http-lua: config/packages/test.txt)")
        return 77
    Faults(args, hdf5_files.folder(args.hdf5)).main()
    return 1 if failures else 0


sys.exit(main())
