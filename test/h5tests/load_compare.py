#!/usr/bin/env python3
"""load_compare.py: every file of HDF5's own tool tests becomes a domain, and h5dump shows no difference.

    load_compare.py --bin DIR --plugin DIR --tool H5BUCKET --hdf5 PREFIX --store dir|s3 --mode link|copy [--only GLOB] [--show]

For each file that h5dump can open: `h5bucket load` (by copy, or with --link) from the bucket into the same bucket, `h5dump` of
the domain against `h5dump` of the file, byte by byte; then `h5bucket get` back into a file, `h5diff` of both and `h5dump -p -H`
of both.  What may differ stands in load_differences.txt, each line with its reason (its form is that of differences.txt, the
domain being TOOL/FILE, the commands dump, get-dump and get-diff); a line that nothing needed is stale and fails the run.

The files come from config/hdf5-tests.sh.  Every h5dump of a domain must have printed a statistics line with requests in it:
HDF5 falls back to its native reader in silence.  Standard library only.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from compare_domains import Differences, differing

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STATS = re.compile(rb"h5bucket: GET (\d+)")
TOOLS = ("h5dump", "h5dump/vds", "h5dump/xml", "h5ls", "h5diff", "h5repack", "h5copy", "h5stat", "misc", "h5import", "h5jam", "h5format_convert")
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
    """What h5dump would be given: families and split files by their pattern, all others by name."""
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


class Run:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.base = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "HS_"))}
        self.base.update(LC_ALL="C.UTF-8", HDF5_USE_FILE_LOCKING="FALSE")
        self.ours = dict(self.base, HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_STATS="1", HDF5_VOL_CONNECTOR="bucket",
                         H5BUCKET_HEDGE="0")
        self.differences = Differences(os.path.join(HERE, "load_differences.txt"), args.store + "-" + args.mode)
        self.counts = collections.Counter()
        self.bucket = os.path.join(work, "bucket")
        self.store = self.bucket if args.store == "dir" else f"s3://load-{args.mode}"

    def prepare(self):
        done = subprocess.run([os.path.join(ROOT, "config", "hdf5-tests.sh"), self.args.hdf5], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print("skipped: HDF5's test files could not be made (config/hdf5-tests.sh)")
            sys.exit(77)
        files = os.path.join(done.stdout.strip(), "files")
        for tool in {tool.split("/")[0] for tool in TOOLS}:
            shutil.copytree(os.path.join(files, tool), os.path.join(self.bucket, "files", tool))
        for tool in TOOLS:
            os.makedirs(os.path.join(self.bucket, "domains", tool))
        # The first domain makes the folder that it is in a bucket; all others then lie in that bucket, below its folders.
        subprocess.run([self.args.tool, "load", os.path.join(files, "h5dump", "tgroup.h5"), os.path.join(self.bucket, "first.h5")],
                       env=self.base, check=True, stdout=subprocess.DEVNULL)
        if self.args.store == "s3":
            subprocess.run([sys.executable, os.path.join(ROOT, "test", "s3", "upload.py"),
                            f"load-{self.args.mode}={self.bucket}"], check=True, stdout=subprocess.DEVNULL)

    def run(self, command, env, cwd=None, timeout=300):
        """A hostile test file may make any program hang: it and its children end with the time."""
        with subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True) as child:
            try:
                out, err = child.communicate(timeout=timeout)
                return child.returncode, out, err
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
                return 124, b"", b"timed out"

    def program(self, name):
        return os.path.join(self.args.bin, name)

    def text(self, command, output, names):
        text = output.decode("utf-8", "surrogateescape")
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, "FILE")
        return self.differences.normalise(command, text).split("\n")

    def load(self, tool, name):
        source = f"{self.store}/files/{tool}/{name}"
        target = f"{self.store}/domains/{tool}/{name}"
        link = ["--link"] if self.args.mode == "link" else []
        rc, out, err = self.run([self.args.tool, "load", *link, source, target],
                                dict(self.base, HDF5_PLUGIN_PATH=self.args.plugin, H5BUCKET_HEDGE="0"),
                                cwd=os.path.join(self.bucket, "files", tool))
        return rc, (out + err).decode(errors="replace")

    def kept(self, domain, command, lines):
        return [line for line in lines if not self.differences.excused(domain, command, line)]

    def options(self, domain):
        """Terabytes of fill values would take hours to print: the headers alone."""
        return ["-H"] if self.differences.skipped(domain, "dump-data") else []

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
        a, b = self.text("dump", want, {name}), self.text("dump", got, {target, name})
        return lines + self.kept(domain, "dump", differing(a, b))

    def get(self, tool, name):
        """Back into a file; h5diff and h5dump -p of both."""
        domain, target = f"{tool}/{name}", f"{self.store}/domains/{tool}/{name}"
        if self.differences.skipped(domain, "get"):
            self.counts["get: skipped, with reasons"] += 1
            return []
        cwd = os.path.join(self.bucket, "files", tool)
        with tempfile.TemporaryDirectory(prefix="get.", dir=self.work) as folder:
            # under its own name among its neighbours, so that links lead where they led
            back = os.path.join(folder, "back.h5" if "%" in name else name)
            for other in os.listdir(cwd):
                if other != name:
                    os.symlink(os.path.join(cwd, other), os.path.join(folder, other))
            rc, out, err = self.run([self.args.tool, "get", target, back], dict(self.base, HDF5_PLUGIN_PATH=self.args.plugin), cwd=cwd)
            if rc:
                text = (out + err).decode(errors="replace")
                return [] if self.differences.excused(domain, "get", f"!{rc} {text}") else [f"!h5bucket get gave {rc}: {text[-600:]}"]
            lines = []
            if not self.differences.skipped(domain, "get-diff"):
                rc, out, err = self.run([self.program("h5diff"), "-v1", name, back], self.base, cwd=cwd)
                if rc:  # what h5diff says of the file and itself is not ours
                    natural_rc, natural, _ = self.run([self.program("h5diff"), "-v1", name, name], self.base, cwd=cwd)
                    a, b = self.text("get-diff", natural, {name}), self.text("get-diff", out, {name, back})
                    extra = [line for line in differing(a, b) if line.startswith("+") and line[1:].strip()]
                    if rc != natural_rc and not extra:
                        extra = [f"!h5diff gave {rc}: " + err.decode(errors="replace")[-300:]]
                    lines += self.kept(domain, "get-diff", extra)
            _, want, _ = self.run([self.program("h5dump"), "-p", "-H", name], self.base, cwd=cwd)
            shown = os.path.basename(back)
            _, got, _ = self.run([self.program("h5dump"), "-p", "-H", shown], self.base, cwd=folder)
            a, b = self.text("get-dump", want, {name}), self.text("get-dump", got, {shown})
            lines += self.kept(domain, "get-dump", differing(a, b))
            self.counts["files back: h5diff empty, h5dump -p the same"] += not lines
            return lines

    def native(self, job):
        tool, name = job
        options = self.options(f"{tool}/{name}")
        rc, out, _ = self.run([self.program("h5dump"), *options, name], self.base, cwd=os.path.join(self.bucket, "files", tool), timeout=300)
        return tool, name, rc, out

    def one(self, job):
        tool, name, want_rc, want, (rc, story) = job
        domain = f"{tool}/{name}"
        if rc:
            self.counts["refused by load"] += 1
            excused = self.differences.excused(domain, "load", f"!{rc} {story}")
            return domain, [] if excused else [f"!h5bucket load gave {rc}: {story[-900:]}"]
        lines = self.dump(tool, name, want_rc, want)
        self.counts["domains: h5dump the same, byte by byte" if not lines else "domains that differ"] += 1
        return domain, lines + self.get(tool, name)

    def main(self):
        self.prepare()
        jobs = [(tool, name) for tool in TOOLS for name in names_of(os.path.join(self.bucket, "files", tool))
                if fnmatch.fnmatch(f"{tool}/{name}", self.args.only or "*")]
        if not jobs:
            raise SystemExit("nothing to compare")
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
            natives = list(pool.map(self.native, jobs))
            opened = []
            for tool, name, rc, out in natives:
                if self.differences.skipped(f"{tool}/{name}", "dump"):
                    self.counts["skipped, with reasons"] += 1
                elif rc in (0, 1) and out.count(b"\n") > 4:  # 1: h5dump shows a file, but not all of it
                    opened.append((tool, name, rc, out))
                else:
                    self.counts["h5dump itself can't open them"] += 1
            # All first: external links lead from one to the other.
            loads = list(pool.map(lambda job: self.load(job[0], job[1]), opened))
            for domain, lines in pool.map(self.one, [(*job, loaded) for job, loaded in zip(opened, loads)]):
                if lines:
                    failed += 1
                    print(f"FAIL {domain}: {len(lines)} lines")
                    for line in lines if self.args.show else lines[:12]:
                        print("    " + line.encode("utf-8", "backslashreplace").decode())
        print(f"{len(jobs)} files of HDF5's tests, {self.args.store}, load by {self.args.mode}:")
        for what, number in sorted(self.counts.items()):
            print(f"  {number:4} {what}")
        stale = [] if self.args.only else self.stale()
        for where in stale:
            print(f"STALE {where}: nothing needed it")
        return 1 if failed or stale else 0

    def stale(self):
        d = self.differences
        return [s[2] for s in d.skips if not s[3]] + [r[3] for r in d.rules if not r[4]] + [e[4] for e in d.exceptions if not e[5]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="folder of h5dump and h5diff")
    parser.add_argument("--plugin", required=True, help="folder of the plugin")
    parser.add_argument("--tool", required=True, help="h5bucket")
    parser.add_argument("--hdf5", required=True, help="prefix of HDF5, for config/hdf5-tests.sh")
    parser.add_argument("--store", choices=("dir", "s3"), required=True)
    parser.add_argument("--mode", choices=("link", "copy"), required=True)
    parser.add_argument("--only", default="", help="only TOOL/FILE that match this shell pattern")
    parser.add_argument("--show", action="store_true", help="all lines of each difference")
    args = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    with tempfile.TemporaryDirectory(prefix="bkt-load.") as work:
        sys.exit(Run(args, work).main())


if __name__ == "__main__":
    main()
