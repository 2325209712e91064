#!/usr/bin/env python3
"""load_killed.py: h5bucket load is killed at each of its PUTs; no half-made domain is left, and running it again finishes it.

    load_killed.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_GATHER --store dir --shim LIBRARY
    load_killed.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_GATHER --store s3
        S3: $AWS_ENDPOINT_URL and $BKT_PROXY, a fault proxy (faultproxy.sh) in front of it.

By copy, by reference, many files gathered, and a file appended to what was gathered.  After the kill the
domain is absent, or was there before and reads as it did, or is complete.  After the second run h5dump shows
the same as after a run without a kill, and nothing is left over.  After SIGINT the program itself cleans up.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import fault_proxy  # noqa: E402
import sample  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("bin", "plugin", "tool", "make", "store"):
    parser.add_argument("--" + option, required=True)
parser.add_argument("--shim")
args = parser.parse_args()

HERE = os.path.dirname(os.path.abspath(__file__))
# --force: a domain of which all is stored may be there when the load that made it is killed
LOADS = {"copy": ["--force", "run0.h5"], "link": ["--force", "--link", "run0.h5"],
         "gather": ["--force", "--link", "--extend", "time", "run0.h5", "run1.h5"],
         "append": ["--link", "-a", "--extend", "time", "run2.h5", "run3.h5"]}
problems = []
base = {k: v for k, v in os.environ.items() if not k.startswith(("H5BUCKET", "HDF5_VOL"))}
base.update(HDF5_PLUGIN_PATH=args.plugin, HDF5_USE_FILE_LOCKING="FALSE", H5BUCKET_TEST="hedge=0")


def bad(text):
    problems.append(text)
    print("FAIL  " + text[:2000], flush=True)


class Place:
    """A bucket of its own with the files in it; in S3 a bucket named after the process, with a folder for
    each case."""

    def __init__(self, folder, files, name):
        self.files, self.name = files, name
        self.root = os.path.join(folder, name)
        if args.store == "dir":
            os.makedirs(self.root)
            self.domain, self.allow = os.path.join(self.root, "d.h5"), "file://" + files
        else:
            self.domain, self.allow = f"s3://load-killed-{os.getpid()}/{name}/d.h5", ""
        self.sources = files if args.store == "dir" else f"s3://load-killed-{os.getpid()}/files"

    def command(self, kind):
        return [args.tool, "load", *(f"{self.sources}/{a}" if a.endswith(".h5") else a for a in LOADS[kind]), self.domain]

    def run(self, *command, env=None, **more):
        return subprocess.run(command, env=dict(base, H5BUCKET_ALLOW=self.allow, **(env or {})), capture_output=True, text=True,
                              timeout=600, cwd=self.files, **more)

    def dump(self):
        preload = {"LD_PRELOAD": os.environ["BKT_PRELOAD"]} if os.environ.get("BKT_PRELOAD") else {}
        name = self.domain.replace("s3:", "hsds+s3:", 1)  # names with s3: go to ROS3 in HDF5 2.x's tools
        p = self.run(os.path.join(args.bin, "h5dump"), name, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_STATS": "1", **preload})
        if not re.search("h5bucket: GET [1-9]", p.stderr):
            bad(f"{self.name}: h5dump didn't use the connector: {p.stderr}")
        text = re.sub(r"DATASET \d+ ", "DATASET ", p.stdout)  # of references in lists h5dump shows an address in memory
        return text.split("\n", 1)[-1] if p.returncode == 0 else f"h5dump gave {p.returncode}: {p.stderr[-600:]}"

    def exists(self):
        return self.run(args.tool, "stat", self.domain).returncode == 0

    def has_journal(self):
        """In S3 loads are killed at PUTs only, and the journal's DELETE is the last request."""
        return args.store != "dir" or os.path.exists(self.domain + "/.h5bucket-load")

    def prepare(self, kind):
        if kind == "append":
            p = self.run(*self.command("gather"))
            if p.returncode:
                bad(f"{self.name}: gathering gave {p.stderr}")

    def drop(self):
        if args.store == "dir":
            shutil.rmtree(self.root)
        else:
            self.run(args.tool, "rm", self.domain)


def kill_in_folder(place, kind, n, how):
    """True: it has no such PUT."""
    libraries = " ".join(x for x in (os.environ.get("BKT_PRELOAD"), args.shim) if x)
    if how == "interrupt":  # somewhere on the way
        p = subprocess.Popen(place.command(kind), env=dict(base, H5BUCKET_ALLOW=place.allow), stderr=subprocess.PIPE, cwd=place.files)
        time.sleep(n * 0.004)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=600)
        return p.returncode == 0
    p = place.run(*place.command(kind), env={"LD_PRELOAD": libraries, "BKT_TEST_PUT": str(n), "BKT_TEST_DO": how})
    if p.returncode not in (0, -signal.SIGKILL):
        bad(f"{place.name}: gave {p.returncode}: {p.stderr}")
    return p.returncode == 0


def kill_in_s3(place, kind, n, how):
    fault_proxy.ask("?clear=1")
    match = urllib.parse.quote("load.killed[^/]*/[a-z]")  # not the scratch object of a probe
    fault_proxy.ask(f"?method=PUT&match={match}&nth={n}&nth_do={how}")
    p = subprocess.Popen(place.command(kind), env=dict(base, AWS_ENDPOINT_URL=os.environ["BKT_PROXY"]), stderr=subprocess.PIPE, text=True)
    while p.poll() is None and "frozen" not in fault_proxy.ask(""):
        time.sleep(0.005)
    if p.poll() is None:
        p.kill()
    _, err = p.communicate(timeout=600)
    fault_proxy.ask("?clear=1")
    while fault_proxy.ask("")["busy"] != "0":  # a request that was on its way at the kill arrives before the check
        time.sleep(0.005)
    if p.returncode not in (0, -signal.SIGKILL):
        bad(f"{place.name}: gave {p.returncode}: {err}")
    return p.returncode == 0


def one(folder, files, kind, n, how, want):
    """True: the load ended before its nth PUT."""
    place = Place(folder, files, f"{kind}-{how}-{n}")
    place.prepare(kind)
    ended = (kill_in_folder if args.store == "dir" else kill_in_s3)(place, kind, n, how)
    if not ended:
        there = place.exists()
        if there and kind != "append" and place.dump() != want[kind]:
            bad(f"{place.name}: a domain that is not complete: {place.dump()[:300]}")
        if kind == "append" and not there:
            bad(f"{place.name}: what was gathered before is gone")
        # An append that was killed is undone by its journal and made again; once the journal is gone it had come to its end, and
        # the same command would append a second time.
        if kind != "append" or place.dump() != want[kind] or place.has_journal():
            p = place.run(*place.command(kind))
            if p.returncode:
                bad(f"{place.name}: the second run gave {p.returncode}: {p.stderr}")
    got = place.dump()
    if got != want[kind]:
        diff = [f"-{a} +{b}" for a, b in zip(want[kind].split("\n"), got.split("\n")) if a != b]
        bad(f"{place.name}: not what it should be: {diff[:6]} {got[:300] if not diff else ''}")
    p = place.run(args.tool, "verify", "--min-age", "0", place.domain)
    if p.returncode:
        bad(f"{place.name}: verify: {p.stdout} {p.stderr}")
    if args.store == "dir" and os.path.exists(os.path.join(place.domain, ".h5bucket-load")):
        bad(f"{place.name}: the journal is left")
    place.drop()
    return ended


def expected(folder, files):
    want = {}
    for kind in LOADS:
        place = Place(folder, files, f"{kind}-whole")
        place.prepare(kind)
        p = place.run(*place.command(kind))
        want[kind] = place.dump()
        if p.returncode or "DATA" not in want[kind]:
            bad(f"{kind}: the load that nobody kills: {p.stderr} {want[kind][:300]}")
        place.drop()
    return want


def main():
    step = sample.step(8 if args.store == "dir" else 12)
    with tempfile.TemporaryDirectory(prefix="bkt-killed-") as folder:
        files = os.path.join(folder, "files")
        os.mkdir(files)
        subprocess.run([args.make, files], check=True)
        if args.store == "s3":
            if not os.environ.get("BKT_PROXY"):
                print("skipped: no proxy to freeze a PUT (nginx with Lua: config/packages/test.txt)")
                return 77
            os.mkdir(os.path.join(folder, "bucket"))
            shutil.move(files, os.path.join(folder, "bucket", "files"))
            files = os.path.join(folder, "bucket", "files")
            subprocess.run([sys.executable, os.path.join(HERE, "..", "..", "s3", "upload.py"),
                            f"load-killed-{os.getpid()}={os.path.join(folder, 'bucket')}"], check=True, stdout=subprocess.DEVNULL)
        want = expected(folder, files)
        for how in ("before", "after", "interrupt") if args.store == "dir" else ("freeze", "freeze_after"):
            with ThreadPoolExecutor(2 if args.store == "dir" else 1) as pool:
                for kind in LOADS if "after" not in how else ["append"]:
                    n, ended = 0, False
                    while not ended and n < 100 and len(problems) < 5:
                        group = [n + 1 + i * step for i in range(2 if args.store == "dir" else 1)]
                        ended = any(pool.map(lambda k: one(folder, files, kind, k, how, want), group))
                        n = group[-1] + step - 1
                    print(f"ok    {kind}, {how}: {n - 1} PUTs or so{sample.note()}", flush=True)
                    if n < 5 and how != "interrupt":
                        bad(f"{kind}: only {n} PUTs in a load?")
    print(f"{len(problems)} failures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
