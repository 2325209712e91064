#!/usr/bin/env python3
"""load_compare.py: every file of HDF5's own tests, the tools' and the library's, becomes a domain, and h5dump shows no difference.

    load_compare.py --bin DIR --hdf5 PREFIX --native DIR
    load_compare.py --bin DIR --hdf5 PREFIX --native DIR --plugin DIR --tool H5BUCKET --store dir|s3 --mode link|copy
                    [--only GLOB] [--show]

The first form keeps the output of h5dump and h5dump -p -H of each file, for all runs of the second form.  The
second form loads each file (by copy, or with --link) from the bucket into the same bucket.  It compares
`h5dump` of the domain with `h5dump` of the file, byte by byte.  Then `h5bucket get` copies it back into a
file, and `h5diff` and `h5dump -p -H` compare both files. load_differences.txt lists allowed differences, and
files that h5dump can't show, each line with its reason.  Its form is that of differences.txt, with TOOL/FILE
as the domain.  An unused line fails the run.

The files come from config/libraries/hdf5-tests.sh.  Every h5dump of a domain must have printed a statistics line with
requests in it: HDF5 silently falls back to its native reader.  Standard library only.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path += [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder) for folder in ("helpers", "clients")]
import hdf5_files  # noqa: E402
import sample  # noqa: E402
from compare_domains import Differences, differing  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
STATS = re.compile(rb"h5bucket: GET (\d+)")
TOOLS = ("h5dump", "h5dump/vds", "h5dump/xml", "h5ls", "h5diff", "h5repack", "h5copy", "h5stat", "misc", "h5import", "h5jam",
         "h5format_convert", "test")
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path):
    """The signature lies at 0, or behind a user block of 512, 1024, 2048, … bytes."""
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        at = 0
        while at + 8 <= size:
            f.seek(at)
            if f.read(8) == SIGNATURE:
                return True
            at = at * 2 if at else 512
    return False


def names_of(folder):
    """The arguments for h5dump: families and split files by their pattern, all others by name."""
    names = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not os.path.isfile(path) or name.endswith((".txt", ".ddl", ".out", ".err", ".onion")) or "subfile_" in name:
            continue
        if re.fullmatch(r".*\D0+[1-9]\d*\.h5", name):
            continue  # a later member of a family
        family = re.fullmatch(r"(.*\D)(0{3,})(\.h5)", name)
        parts = re.fullmatch(r"(.*)-[ms]\.h5", name)
        if family and is_hdf5(path):
            names.append(f"{family.group(1)}%0{len(family.group(2))}d{family.group(3)}")
        elif parts and is_hdf5(path):
            names.append(parts.group(1))  # h5dump finds out that it is a split or multi file
        elif is_hdf5(path):
            names.append(name)
    return names


class Tools:
    """HDF5's programs and its test files."""
    timeout = 900  # seconds that a program may take
    most = 1 << 28  # bytes that it may print

    def __init__(self, args, what, differences=os.path.join(HERE, "load_differences.txt")):
        self.args = args
        self.base = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "HS_"))}
        self.base.update(LC_ALL="C.UTF-8", HDF5_USE_FILE_LOCKING="FALSE")
        self.differences = Differences(differences, what)
        self.counts = collections.Counter()
        self.lock = threading.Lock()

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] += n

    def files(self):
        return hdf5_files.folder(self.args.hdf5)

    def run(self, command, env, cwd=None):
        """A hostile test file may make any program hang, or print without end: it and its children are ended."""
        with subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True) as child:
            ended = []

            def end(code, why):
                ended.append((code, b"", why))
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)

            timer = threading.Timer(self.timeout, end, (124, b"timed out"))
            timer.start()
            with concurrent.futures.ThreadPoolExecutor(max_workers=1) as other:
                err = other.submit(child.stderr.read)
                out = child.stdout.read(self.most)
                if child.stdout.read(1):
                    end(125, b"printed too much")
                err = err.result()
            child.wait()
            timer.cancel()
            return ended[0] if ended else (child.returncode, out, err)

    def program(self, name):
        return os.path.join(self.args.bin, name)

    def options(self, domain):
        """Terabytes of fill values would take hours to print: the headers alone."""
        return ["-H"] if self.differences.skipped(domain, "dump-data") else []

    def pool(self):
        return concurrent.futures.ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 2))

    def one_in(self):
        """The sample of a store with a server is the smaller one; the first form keeps the output for both."""
        return 24 if self.args.store == "s3" else 6

    def jobs(self, files):
        jobs = [(tool, name) for tool in TOOLS for name in names_of(os.path.join(files, tool))
                if fnmatch.fnmatch(f"{tool}/{name}", self.args.only or "*")
                and sample.takes(f"{tool}/{name}", self.one_in())]
        if not jobs:
            raise SystemExit("nothing to compare")
        return jobs

    def kept_native(self, tool, name, what):
        return os.path.join(self.args.native, tool, f"{name}.{what}.gz")

    def native(self, tool, name, what):
        """Exit code and output of h5dump on the file itself."""
        with gzip.open(self.kept_native(tool, name, what)) as f:
            rc, _, out = f.read().partition(b"\n")
            return int(rc), out


class Native(Tools):
    """Runs h5dump on each file once."""

    def keep(self, cwd, tool, name, what, options):
        rc, out, err = self.run([self.program("h5dump"), *options, name], self.base, cwd=cwd)
        with gzip.open(self.kept_native(tool, name, what), "wb", compresslevel=1) as f:
            f.write(b"%d\n" % rc + out)
        return rc, out, err

    def one(self, job):
        files, tool, name = job
        domain, cwd = f"{tool}/{name}", os.path.join(files, tool)
        rc, out, err = self.keep(cwd, tool, name, "dump", self.options(domain))
        shown = rc in (0, 1) and out.startswith(b'HDF5 "')  # 1: not all of it
        if self.differences.skipped(domain, "native"):
            return [f"STALE {domain}: h5dump shows it"] if shown else []
        if not shown:
            return [f"FAIL {domain}: h5dump gave {rc} and no text; a line in load_differences.txt says why: "
                    + err.decode(errors="replace")[-300:]]
        if not self.differences.skipped(domain, "get-dump"):
            self.keep(cwd, tool, name, "props", ["-p", "-H"])
        return []

    def main(self):
        files = self.files()
        shutil.rmtree(self.args.native, ignore_errors=True)
        for tool in TOOLS:
            os.makedirs(os.path.join(self.args.native, tool), exist_ok=True)
        jobs = self.jobs(files)
        with self.pool() as pool:
            wrong = [line for lines in pool.map(self.one, [(files, *job) for job in jobs]) for line in lines]
        print("\n".join(wrong + [f"{len(jobs)} files of HDF5's tests{sample.note()}"]))
        return 1 if wrong else 0


class Neighbours:
    """The files of its folder that a file may lead to, in one or several steps: those whose names stand in
    it."""

    def __init__(self):
        self.known = {}

    def direct(self, folder, name):
        key = os.path.join(folder, name)
        if key not in self.known:
            with open(key, "rb") as f:
                data = f.read()
            patterns = {n: re.sub(r"\d+\.", "%b.", n) for n in os.listdir(folder)}  # of a virtual dataset's sources
            self.known[key] = {n for n, pattern in patterns.items() if n.encode() in data or pattern.encode() in data}
        return self.known[key]

    def all(self, folder, names):
        found, todo = set(), set(names)
        while todo:
            found |= todo
            todo = set().union(*(self.direct(folder, name) for name in todo if os.path.isfile(os.path.join(folder, name)))) - found
        return found


class Run(Tools):
    def __init__(self, args, work):
        super().__init__(args, args.store + "-" + args.mode)
        self.work = work
        self.neighbours = Neighbours()
        self.base["H5BUCKET_FSYNC"] = "no"  # nothing here outlives a power cut
        self.ours = dict(self.base, HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_STATS="1", HDF5_VOL_CONNECTOR="bucket",
                         H5BUCKET_TEST="hedge=0")
        self.bucket = os.path.join(work, "bucket")
        self.store = self.bucket if args.store == "dir" else f"s3://load-{args.mode}-{os.getpid()}"

    def prepare(self):
        files = self.files()
        if not os.path.isdir(self.args.native):
            raise SystemExit(f"{self.args.native} isn't there: the test h5_load_native makes it")
        for tool in {tool.split("/")[0] for tool in TOOLS}:
            shutil.copytree(os.path.join(files, tool), os.path.join(self.bucket, "files", tool))
        for tool in TOOLS:
            os.makedirs(os.path.join(self.bucket, "domains", tool))
        # The first domain makes the folder that it is in a bucket; all others then lie in that bucket, below its folders.
        subprocess.run([self.args.tool, "load", os.path.join(files, "h5dump", "tgroup.h5"), os.path.join(self.bucket, "first.h5")],
                       env=self.base, check=True, stdout=subprocess.DEVNULL)
        if self.args.store == "s3":
            subprocess.run([sys.executable, os.path.join(ROOT, "test", "s3", "upload.py"),
                            f"{self.store[5:]}={self.bucket}"], check=True, stdout=subprocess.DEVNULL)

    def load(self, tool, name):
        source = f"{self.store}/files/{tool}/{name}"
        target = f"{self.store}/domains/{tool}/{name}"
        link = ["--link"] if self.args.mode == "link" else []
        rc, out, err = self.run([self.args.tool, "load", *link, source, target],
                                dict(self.base, HDF5_PLUGIN_PATH=self.args.plugin, H5BUCKET_TEST="hedge=0"),
                                cwd=os.path.join(self.bucket, "files", tool))
        return rc, (out + err).decode(errors="replace")

    def kept(self, domain, command, lines):
        return [line for line in lines if not self.differences.excused(domain, command, line)]

    def compared(self, domain, command, want, want_names, got, got_names):
        """The differences that are not allowed.  Most texts are equal, and some have 50 MB: rules are applied
        only to different ones."""
        for name in sorted(want_names, key=len, reverse=True):
            want = want.replace(name.encode(), b"FILE")
        for name in sorted(got_names, key=len, reverse=True):
            got = got.replace(name.encode(), b"FILE")
        if want == got:
            return []
        return self.kept(domain, command, differing(self.differences.lines(command, want, ()), self.differences.lines(command, got, ())))

    def dump(self, tool, name, want_rc, want):
        """h5dump of the domain; gives the lines that differ."""
        domain, target = f"{tool}/{name}", f"{self.store}/domains/{tool}/{name}"
        # in a folder of its own: HDF5 looks for the files of external links in the working folder, too
        rc, got, err = self.run([self.program("h5dump"), *self.options(domain), target], self.ours, cwd=self.work)
        if not sum(int(n) for n in STATS.findall(err)):
            return ["!the connector did not serve this call: " + err.decode(errors="replace")[-600:]]
        lines = []
        if rc != want_rc and not self.differences.excused(domain, "dump", f"!{rc}"):
            lines.append(f"!h5dump gave {rc}, on the file {want_rc}: " + err.decode(errors="replace")[-900:])
        return lines + self.compared(domain, "dump", want, {name}, got, {target, name})

    def get(self, tool, name):
        """Back into a file; h5diff and h5dump -p of both."""
        domain, target = f"{tool}/{name}", f"{self.store}/domains/{tool}/{name}"
        if self.differences.skipped(domain, "get"):
            self.count("get: skipped, with reasons")
            return []
        cwd = os.path.join(self.bucket, "files", tool)
        with tempfile.TemporaryDirectory(prefix="get.", dir=self.work) as folder:
            # under its own name among its neighbours, so that links lead to the same files
            back = os.path.join(folder, "back.h5" if "%" in name else name)
            for other in self.neighbours.all(cwd, [name]):
                if other != name:
                    os.symlink(os.path.join(cwd, other), os.path.join(folder, other))
            rc, out, err = self.run([self.args.tool, "get", target, back], dict(self.base, HDF5_PLUGIN_PATH=self.args.plugin), cwd=cwd)
            if rc:
                text = (out + err).decode(errors="replace")
                return [] if self.differences.excused(domain, "get", f"!{rc} {text}") else [f"!h5bucket get gave {rc}: {text[-600:]}"]
            lines = []
            if not self.differences.skipped(domain, "get-diff"):
                rc, out, err = self.run([self.program("h5diff"), "-v1", name, back], self.base, cwd=cwd)
                if rc:  # differences that h5diff finds between the file and itself are not ours
                    natural_rc, natural, _ = self.run([self.program("h5diff"), "-v1", name, name], self.base, cwd=cwd)
                    a, b = self.differences.lines("get-diff", natural, {name}), self.differences.lines("get-diff", out, {name, back})
                    extra = [line for line in differing(a, b) if line.startswith("+") and line[1:].strip()]
                    if rc != natural_rc and not extra:
                        extra = [f"!h5diff gave {rc}: " + err.decode(errors="replace")[-300:]]
                    lines += self.kept(domain, "get-diff", extra)
            lines += self.props(tool, name, folder, os.path.basename(back))
            self.count("files back: h5diff empty, h5dump -p the same", not lines)
            return lines

    def props(self, tool, name, folder, back):
        if self.differences.skipped(f"{tool}/{name}", "get-dump"):
            return []
        _, want = self.native(tool, name, "props")
        _, got, _ = self.run([self.program("h5dump"), "-p", "-H", back], self.base, cwd=folder)
        return self.compared(f"{tool}/{name}", "get-dump", want, {name}, got, {back})

    def one(self, job):
        tool, name, (rc, story) = job
        domain = f"{tool}/{name}"
        if rc:
            self.count("refused by load, with reasons")
            excused = self.differences.excused(domain, "load", f"!{rc} {story}")
            return domain, [] if excused else [f"!h5bucket load gave {rc}: {story[-900:]}"]
        lines = self.dump(tool, name, *self.native(tool, name, "dump"))
        self.count("domains: h5dump the same, byte by byte" if not lines else "domains that differ")
        return domain, lines + self.get(tool, name)

    def load_neighbours(self, pool, jobs):
        """A sample leaves out files that its links lead to."""
        files = os.path.join(self.bucket, "files")
        wanted = {(tool, other) for tool, name in jobs for other in self.neighbours.all(os.path.join(files, tool), [name])}
        there = {(tool, name) for tool in {tool for tool, _ in wanted} for name in names_of(os.path.join(files, tool))}
        list(pool.map(lambda job: self.load(*job), sorted(wanted & there - set(jobs))))

    def compare(self, jobs):
        failed = 0
        with self.pool() as pool:
            # All first: links lead from one to the other.
            self.load_neighbours(pool, jobs)
            loads = list(pool.map(lambda job: self.load(*job), jobs))
            for domain, lines in pool.map(self.one, [(*job, loaded) for job, loaded in zip(jobs, loads)]):
                if lines:
                    failed += 1
                    print(f"FAIL {domain}: {len(lines)} lines")
                    for line in lines if self.args.show else lines[:12]:
                        print("    " + line.encode("utf-8", "backslashreplace").decode())
        return failed

    def main(self):
        self.prepare()
        jobs = self.jobs(os.path.join(self.bucket, "files"))
        shown = [(tool, name) for tool, name in jobs if not self.differences.skipped(f"{tool}/{name}", "native")]
        self.count("h5dump itself can't show them, with reasons", len(jobs) - len(shown))
        taken = [(tool, name) for tool, name in shown if not self.differences.skipped(f"{tool}/{name}", "all")]
        self.count("left out, with reasons", len(shown) - len(taken))
        failed = self.compare(taken)
        print(f"{len(jobs)} files of HDF5's tests{sample.note()}, {self.args.store}, load by {self.args.mode}:")
        for what, number in sorted(self.counts.items()):
            print(f"  {number:4} {what}")
        stale = [] if self.args.only or sample.sampled() else self.stale()
        for where in stale:
            print(f"STALE {where}: nothing needed it")
        return 1 if failed or stale else 0

    def stale(self):
        d = self.differences
        return [s[2] for s in d.skips if not s[3]] + [r[3] for r in d.rules if not r[4]] + [e[4] for e in d.exceptions if not e[5]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="folder of h5dump and h5diff")
    parser.add_argument("--hdf5", required=True, help="prefix of HDF5, for config/libraries/hdf5-tests.sh")
    parser.add_argument("--native", required=True, help="folder for what h5dump says of the files")
    parser.add_argument("--plugin", help="folder of the plugin")
    parser.add_argument("--tool", help="h5bucket")
    parser.add_argument("--store", choices=("dir", "s3"))
    parser.add_argument("--mode", choices=("link", "copy"))
    parser.add_argument("--only", default="", help="only TOOL/FILE that match this shell pattern")
    parser.add_argument("--show", action="store_true", help="all lines of each difference")
    args = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    if not args.store:
        sys.exit(Native(args, "dir-s3-link-copy").main())
    with tempfile.TemporaryDirectory(prefix="bkt-load.") as work:
        sys.exit(Run(args, work).main())


if __name__ == "__main__":
    main()
