#!/usr/bin/env python3
"""shared_tool.py MPIEXEC H5BUCKET MAKE_SHARED BIN BUCKET: load, get, verify and diff by 2 and 4 processes; with BKT_SAMPLE by 3.

Each result is that of one process; native h5diff compares the content. The requests are counted: each chunk is stored once,
the metadata of each file are read once. Every process works. Failing, stopped and killed processes end the others, with one
message, and leave nothing."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "helpers"))
from web_folder import WebFolder  # noqa: E402

FILES = 16
NS = (3,) if os.environ.get("BKT_SAMPLE") else (2, 4)
COUNTS = re.compile(r"h5bucket: GET (\d+) HEAD (\d+) PUT (\d+)")
UNITS = re.compile(r"process (\d+) has done (\d+) units")
OURS = re.compile(r"h5bucket [a-z]+: (.*)")


class Tool:
    """h5bucket by itself, or by n processes."""

    def __init__(self, mpiexec, tool, bucket):
        self.mpiexec, self.tool, self.bucket = mpiexec, tool, bucket
        self.failed = 0

    def check(self, good, what):
        print(f"{what}: {'ok' if good else 'FAILED'}", flush=True)
        self.failed += not good

    def command(self, n, args):
        return ([self.mpiexec, "-n", str(n)] if n > 1 else []) + [self.tool, *args]

    def environment(self, **more):
        # Open MPI's mpirun waits a second after a failure; the processes have ended by then
        return dict(os.environ, H5BUCKET_STATS="1", H5BUCKET_TRACE="vol", H5BUCKET_ALLOW="file:///",
                    OMPI_MCA_odls_base_sigkill_timeout="0", **more)

    def run(self, n, *args, tool=None, **more):
        command = self.command(n, args)
        if tool:
            command[-len(args) - 1] = tool
        done = subprocess.run(command, env=self.environment(**more), capture_output=True, text=True, timeout=60, check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    def worked(self, got, n, what):
        """All processes had a part in it."""
        self.check(got.code == 0 and sorted(got.units) == list(range(n)) and min(got.units.values()) > 0,
                   f"{what} by {n}: exit code {got.code}, units {got.units}")
        if got.code:
            print(got.out + got.err)


class Result:
    """What a run printed."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.units = {int(r): int(n) for r, n in UNITS.findall(err)}
        self.puts = sum(int(m[2]) for m in COUNTS.findall(err))
        self.messages = OURS.findall(err)


def files_below(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]


def chunks_of(bucket, domain):
    """Keys and bytes of the chunks, without the ids: equal for equal domains."""
    root = re.search(r'"g-([0-9a-f]+-[0-9a-f]+)', open(f"{bucket}/{domain}/.domain.json", encoding="utf-8").read()).group(1)
    found = {}
    for path in files_below(f"{bucket}/db/{root}"):
        if "/d/" in path and not path.endswith(".json"):
            with open(path, "rb") as f:
                found.setdefault(os.path.basename(path), []).append(f.read())
    return {key: sorted(values) for key, values in found.items()}


def same_content(binaries, one, other):
    return subprocess.run([f"{binaries}/h5diff", "-v", one, other], capture_output=True, check=False,
                          env={k: v for k, v in os.environ.items() if k != "HDF5_VOL_CONNECTOR"}).returncode == 0


# ---- each verb ----

def load_many(t, source):
    names = [f"{source}/f{i:04}.h5" for i in range(FILES)]
    for n in (1, *NS):
        os.makedirs(f"{t.bucket}/many{n}")
        with WebFolder(source) as web:
            got = t.run(n, "load", "--link", *[f"{web.url}/{os.path.basename(name)}" for name in names], f"{t.bucket}/many{n}/")
            asked = {path: sum(1 for _, other, _ in web.requests if other == path) for _, path, _ in web.requests}
            if n == 1:
                alone, puts = asked, got.puts
                continue
            t.worked(got, n, "load --link of many files")
            t.check(asked == alone and len(asked) == FILES and got.puts == puts,
                    f"  the requests of one process: {sum(asked.values())} for {len(asked)} files, {got.puts} PUTs, by one process {puts}")
            t.check(all(t.run(1, "diff", f"{t.bucket}/many{n}/f{i:04}.h5", names[i], "--set", f"allow={web.url}").code == 0
                        for i in (0, FILES - 1)), "  the domains have the files' content")


def gather(t, source):
    """One domain of many files, and more files later."""
    names = [f"{source}/f{i:04}.h5" for i in range(FILES)]
    for n in (1, *NS):
        for part, more in ((names[: FILES // 2], []), (names[FILES // 2:], ["-a"])):
            got = t.run(n, "load", "--link", *more, "--extend", "step", *part, f"{t.bucket}/all{n}.h5")
            if n > 1:
                t.check(got.code == 0 and len(got.units) == n and sum(got.units.values()) == len(part) - 1,
                        f"load --extend {more} by {n}: exit code {got.code}, units {got.units}")
        if n > 1:
            t.check(t.run(1, "diff", f"{t.bucket}/all1.h5", f"{t.bucket}/all{n}.h5").code == 0, "  the steps are in the files' order")
    got = t.run(NS[0], "load", "--extend", "step", *names[:3], f"{source}/big.h5", *names[3:5], f"{t.bucket}/fit.h5")
    t.check(got.code != 0 and "1 of 6 files: they don't fit" in got.err and f"{source}/big.h5: refused" in got.err,
            f"load --extend with a file that doesn't fit: {got.messages}")


def load_bad(t, source):
    bad = f"{source}/bad.h5"
    with open(bad, "wb") as f:
        f.write(b"no HDF5 file" * 100)
    names = [f"{source}/f{i:04}.h5" for i in range(6)]
    os.makedirs(f"{t.bucket}/bad")
    got = t.run(3, "load", *names[:3], bad, *names[3:], f"{t.bucket}/bad/")
    t.check(got.code != 0 and "bad.h5: file signature not found" in got.err and "1 of 7 files" in got.err,
            f"load with a bad file in the middle: exit code {got.code}, {got.messages}")
    t.check(all(t.run(1, "diff", name, f"{t.bucket}/bad/{os.path.basename(name)}").code == 0 for name in names),
            "  all other files are loaded")


def load_one(t, source, binaries):
    one = t.run(1, "load", f"{source}/big.h5", f"{t.bucket}/one1.h5")
    chunks = chunks_of(t.bucket, "one1.h5")
    for n in NS:
        got = t.run(n, "load", f"{source}/big.h5", f"{t.bucket}/one{n}.h5")
        t.worked(got, n, "load of one file")
        t.check(got.puts == one.puts, f"  {got.puts} PUTs, by one process {one.puts}")
        t.check(chunks_of(t.bucket, f"one{n}.h5") == chunks and chunks, f"  {len(chunks)} chunks with the bytes of one process's")
        back = f"{source}/back{n}.h5"
        t.check(t.run(1, "get", f"{t.bucket}/one{n}.h5", back).code == 0 and same_content(binaries, back, f"{source}/big.h5"),
                "  native h5diff finds no difference")


def load_options(t, source):
    """Options that concern the other processes, too."""
    got = t.run(2, "load", "-u", "bob", f"{source}/big.h5", f"{t.bucket}/bob.h5")
    t.worked(got, 2, "load with a user")
    got = t.run(2, "load", "--force", f"{source}/big.h5", f"{t.bucket}/bob.h5")
    t.check(got.code == 0 and t.run(1, "diff", f"{source}/big.h5", f"{t.bucket}/bob.h5").code == 0, "load --force of an existing domain")
    got = t.run(2, "load", f"{source}/big.h5", f"{t.bucket}/bob.h5")
    t.check(got.code == 1 and len(got.messages) == 1 and "exists" in got.messages[0], f"  without: {got.messages}")
    got = t.run(2, "load", "--nodata", f"{source}/big.h5", f"{t.bucket}/empty/")
    t.check(got.code != 0 and len(got.messages) == 1, f"  into a folder that isn't there: {got.messages}")


def get_domain(t, source, binaries):
    for n in NS:
        back = f"{source}/got{n}.h5"
        got = t.run(n, "get", f"{t.bucket}/one1.h5", back)
        t.check(got.code == 0 and sum(got.units.values()) > n and sum(1 for u in got.units.values() if u) > 1,
                f"get of a domain by {n}: exit code {got.code}, units {got.units}")
        t.check(same_content(binaries, back, f"{source}/big.h5"), "  native h5diff finds no difference")
    t.check(t.run(2, "get", f"{t.bucket}/one1.h5", back).code == 1, "  an existing file stays")


def get_file(t, source):
    with open(f"{source}/big.h5", "rb") as f:
        data = f.read()
    with open(f"{source}/long.h5", "wb") as f:
        f.write(data + os.urandom(40 << 20))
    target = f"{source}/down.h5"
    for n in NS:
        with WebFolder(source) as web:
            web.cut_after = 24 << 20
            got = t.run(n, "get", "--set", "retries=0", web.url + "/long.h5", target)
            said = re.search(r"(\d+) of \d+ bytes are kept", got.err)
            t.check(got.code != 0 and said is not None, f"get of a file that is cut off, by {n}: {got.messages}")
            web.cut_after, before = None, web.sent
            got = t.run(n, "get", web.url + "/long.h5", target)
            t.check(got.code == 0 and sum(1 for u in got.units.values() if u) > 1, f"  the rest, units {got.units}")
            t.check(web.sent - before <= os.path.getsize(f"{source}/long.h5") - int(said.group(1)) + (1 << 20) if said else False,
                    f"  {web.sent - before} bytes")
        with open(target, "rb") as f, open(f"{source}/long.h5", "rb") as want:
            t.check(f.read() == want.read(), "  byte by byte")
        os.unlink(target)


def verify(t):
    good = t.run(1, "verify", "--deep", f"{t.bucket}/one1.h5")
    for n in NS:
        got = t.run(n, "verify", "--deep", f"{t.bucket}/one1.h5")
        t.check(got.code == 0 and got.out == good.out and sum(1 for u in got.units.values() if u) > 1,
                f"verify --deep by {n}: units {got.units}")
        got = t.run(n, "verify", "-r", f"{t.bucket}/many{n}")
        t.worked(got, n, "verify -r")
        t.check(sorted(got.out.splitlines()) == sorted(t.run(1, "verify", "-r", f"{t.bucket}/many{n}").out.splitlines()), "  as by one")


def verify_damaged(t):
    root = re.search(r'"g-([0-9a-f]+-[0-9a-f]+)', open(f"{t.bucket}/one{NS[0]}.h5/.domain.json", encoding="utf-8").read()).group(1)
    large = sorted((p for p in files_below(f"{t.bucket}/db/{root}") if p.endswith("1_1")), key=os.path.getsize)
    os.truncate(large[-1], 1000)
    want = t.run(1, "verify", "--deep", "--json", f"{t.bucket}/one{NS[0]}.h5")
    got = t.run(3, "verify", "--deep", "--json", f"{t.bucket}/one{NS[0]}.h5")
    t.check(want.code == 1 and got.code != 0 and got.out == want.out and '"chunk"' in got.out, "verify of a damaged chunk: as by one")


def diff(t, source):
    for n in NS:
        got = t.run(n, "diff", f"{t.bucket}/one{NS[-1]}.h5", f"{source}/big.h5")
        t.check(got.code == 0 and not got.out and sum(1 for u in got.units.values() if u) > 1,
                f"diff by {n}: units {got.units}, {got.messages}")
    subprocess.run([t.tool, "cp", f"{t.bucket}/one{NS[-1]}.h5", f"{t.bucket}/other.h5"], check=True)
    root = re.search(r'"g-([0-9a-f]+-[0-9a-f]+)', open(f"{t.bucket}/other.h5/.domain.json", encoding="utf-8").read()).group(1)
    plain = [p for p in files_below(f"{t.bucket}/db/{root}") if os.path.getsize(p) == 1 << 20]
    for path in plain[1:3]:
        with open(path, "r+b") as f:
            f.seek(5000)
            f.write(b"XYZW")
    want = t.run(1, "diff", f"{t.bucket}/other.h5", f"{source}/big.h5")
    for n in NS:
        got = t.run(n, "diff", f"{t.bucket}/other.h5", f"{source}/big.h5")
        t.check(want.code == 1 and got.code != 0 and got.out == want.out and got.out, f"diff finds by {n}: {got.out.splitlines()}")


# ---- processes that fail ----

def leaves_nothing(t, name, before, what):
    gone = sorted(set(files_below(f"{t.bucket}/db")) - before)
    t.check(not os.path.exists(f"{t.bucket}/{name}/.domain.json") and not gone, f"  {what}: no domain, {len(gone)} objects are left")


def fail_in_the_middle(t, source, place):
    """Some process can't decode a chunk."""
    shutil.copy(f"{source}/big.h5", f"{source}/damaged.h5")
    with open(f"{source}/damaged.h5", "r+b") as f:
        f.seek(place[0])
        f.write(b"\0" * place[1])
    before = set(files_below(f"{t.bucket}/db"))
    for n in NS:
        got = t.run(n, "load", f"{source}/damaged.h5", f"{t.bucket}/damaged.h5")
        t.check(got.code != 0 and len(got.messages) == 1 and "/other_shape" in got.messages[0], f"a failing load by {n}: {got.messages}")
        leaves_nothing(t, "damaged.h5", before, "afterwards")


def children(pid):
    """Processes below it that run h5bucket."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{name}/stat", encoding="utf-8") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            if name.isdigit() and parent == pid:
                found += children(int(name)) + ([int(name)] if "h5bucket" in os.readlink(f"/proc/{name}/exe") else [])
    return sorted(found)


def end_one(t, source, sig, what):
    """A signal to the last process, in the middle of a slow load."""
    before = set(files_below(f"{t.bucket}/db"))
    with WebFolder(source, wait=0.1) as web:
        run = subprocess.Popen(t.command(3, ["load", web.url + "/big.h5", f"{t.bucket}/ended.h5"]), env=t.environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while run.poll() is None and not [p for p in set(files_below(f"{t.bucket}/db")) - before if "/d/" in p and not p.endswith(".json")]:
            time.sleep(0.02)
        ranks = children(run.pid)
        if len(ranks) == 3:
            os.kill(ranks[-1], sig)
        try:
            _, err = run.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            for pid in ranks + [run.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            err = "it hangs"
        t.check(len(ranks) == 3 and run.returncode != 0 and err != "it hangs", f"load, of which a process {what}: exit code {run.returncode}")
    return before, Result(run.returncode, "", err)


def stuck(t, source):
    """A server that stops sending: a signal ends the download, and the blocks that arrived are kept."""
    target = f"{source}/stuck.h5"
    with WebFolder(source) as web:
        web.stuck_from = 24 << 20
        run = subprocess.Popen(t.command(3, ["get", web.url + "/long.h5", target]), env=t.environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 20
        while web.sent < 20 << 20 and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.5)
        for pid in children(run.pid)[-1:]:
            os.kill(pid, signal.SIGTERM)
        _, err = run.communicate(timeout=30)
        kept = re.search(r"(\d+) of \d+ bytes are kept", err)
        t.check(run.returncode != 0 and kept is not None and int(kept.group(1)) >= 4 << 20 and "stopped by SIGTERM" in err,
                f"get that is stuck, and stopped: {Result(0, '', err).messages}")
        web.stuck_from = None
        t.check(t.run(2, "get", web.url + "/long.h5", target).code == 0, "  goes on")


def ended(t, source, binaries):
    before, got = end_one(t, source, signal.SIGTERM, "is stopped")
    t.check("stopped by SIGTERM" in got.err, f"  {got.messages}")
    leaves_nothing(t, "ended.h5", before, "stopped")
    before, _ = end_one(t, source, signal.SIGKILL, "is killed")
    t.check(not os.path.exists(f"{t.bucket}/ended.h5/.domain.json"), "  no domain")
    again = t.run(2, "load", f"{source}/big.h5", f"{t.bucket}/ended.h5")
    t.check(again.code == 0 and t.run(1, "verify", f"{t.bucket}/ended.h5").code == 0, "  the next load succeeds")
    t.run(1, "rm", "-f", f"{t.bucket}/ended.h5")
    leaves_nothing(t, "ended.h5", before, "without its objects")
    t.check(t.run(1, "get", f"{t.bucket}/one1.h5", f"{source}/last.h5").code == 0 and
            same_content(binaries, f"{source}/last.h5", f"{source}/big.h5"), "other domains are as before")


def without_adapter(t, source):
    alone = f"{source}/bin/h5bucket"  # no plugin is beside it
    os.makedirs(f"{source}/bin")
    shutil.copy(t.tool, alone)
    more = {"HDF5_PLUGIN_PATH": f"{source}/bin"}
    got = t.run(2, "load", f"{source}/f0000.h5", f"{t.bucket}/without.h5", tool=alone, **more)
    t.check(got.code != 0 and "h5bucket_mpi-" in got.err and "H5BUCKET_MPI=no" in got.err and not os.path.exists(f"{t.bucket}/without.h5"),
            f"without the adapter: {got.messages[:1]}")
    got = t.run(2, "diff", f"{source}/f0000.h5", f"{source}/f0000.h5", H5BUCKET_MPI="no")
    t.check(got.code == 0 and not got.units, f"H5BUCKET_MPI=no: each for itself: exit code {got.code}, units {got.units}, {got.messages[-3:]}")
    got = t.run(2, "diff", f"{source}/f0000.h5", f"{source}/f0000.h5", H5BUCKET_MPI="lam")
    t.check(got.code == 2 and "H5BUCKET_MPI=lam: one of openmpi, mpich, no is expected" in got.err, "an unknown MPI")


def main():
    mpiexec, tool, make, binaries, bucket = sys.argv[1:]
    source = f"{bucket}/files"
    os.makedirs(source)
    made = subprocess.run([make, source, str(FILES)], check=True, capture_output=True, text=True)
    place = [int(n) for n in made.stdout.split()]
    t = Tool(mpiexec, tool, bucket)
    load_many(t, source)
    gather(t, source)
    load_bad(t, source)
    load_one(t, source, binaries)
    load_options(t, source)
    get_domain(t, source, binaries)
    get_file(t, source)
    verify(t)
    diff(t, source)
    verify_damaged(t)
    fail_in_the_middle(t, source, place)
    stuck(t, source)
    ended(t, source, binaries)
    without_adapter(t, source)
    return t.failed != 0


if __name__ == "__main__":
    sys.exit(main())
