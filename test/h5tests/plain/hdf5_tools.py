#!/usr/bin/env python3
"""hdf5_tools.py: HDF5's tools print the same for a file in a store, opened by its name, as for the file itself.

    hdf5_tools.py --bin DIR --hdf5 PREFIX --plugin DIR --store http|s3|here [--only GLOB] [--programs NAME,...] [--show]

The files are those of HDF5's own tests, the tools' and the library's (config/libraries/hdf5-tests.sh).  They lie on a web
server, in S3 or on this machine (hsds+file://), and nothing is prepared: no domain is made.  Each program runs on the local file, with HDF5's
own connector, and on the name, from a folder in which no file lies.  Exit code, output and messages must be
equal, byte by byte but for the name.  Files that native HDF5 refuses are refused.  hdf5_tools_differences.txt lists
allowed differences, each with its reason; an unused line fails the run.

Every run must have printed a statistics line with requests in it: HDF5 falls back silently.  Standard library
only.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", folder) for folder in ("helpers", "load", "clients")]
import sample  # noqa: E402
from compare_domains import differing  # noqa: E402
from load_compare import ROOT, Tools  # noqa: E402
from web_folder import WebFolder  # noqa: E402

STATS = re.compile(rb"^h5bucket: GET (\d+).*\n", re.M)
# Program -> its arguments; IN is the file, COPY a local copy, OUT a new file.
PROGRAMS = {"h5dump": ["IN"], "h5dump-props": ["-p", "-H", "IN"], "h5ls": ["-r", "-v", "IN"], "h5stat": ["IN"],
            "h5diff": ["-v", "IN", "COPY"], "h5repack": ["IN", "OUT"],
            "h5copy": ["-i", "IN", "-o", "OUT", "-s", "/", "-d", "copy"]}
MAKERS = ("h5repack", "h5copy")
ENDED = (124, 125)  # exit codes of programs that ran too long or printed too much (Tools.run())


class Run(Tools):
    timeout = 300
    most = 1 << 26
    programs = list(PROGRAMS)
    allowed = "hdf5_tools_differences.txt"

    def __init__(self, args, work):
        super().__init__(args, args.store, os.path.join(HERE, self.allowed))
        self.work = work
        self.base["HDF5_PLUGIN_PATH"] = "/nonexistent"
        self.ours = dict(self.base, HDF5_PLUGIN_PATH=args.plugin, HDF5_VOL_CONNECTOR="bucket", H5BUCKET_STATS="1",
                         H5BUCKET_TEST="hedge=0")
        self.empty = os.path.join(work, "empty")
        os.mkdir(self.empty)
        if os.environ.get("BKT_PRELOAD"):
            self.ours["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
        self.folder = self.store = None

    def prepare(self):
        self.folder = self.files()
        shutil.copytree(self.folder, os.path.join(self.work, "copies"))
        if self.args.store == "http":
            self.store = WebFolder(self.folder).url
        elif self.args.store == "here":
            self.store = "hsds+file://" + self.folder
        else:
            self.store = f"s3://plain-{os.getpid()}"
            subprocess.run([sys.executable, os.path.join(ROOT, "test", "s3", "upload.py"), f"{self.store[5:]}={self.folder}"],
                           check=True, stdout=subprocess.DEVNULL)

    def command(self, program, name, copy, out):
        tool = program.split("-")[0]
        places = {"IN": name, "COPY": copy, "OUT": out}
        return [self.program(tool)] + [places.get(word, word) for word in PROGRAMS[program]]

    def made(self, out):
        """The content of a file that the program made."""
        if not os.path.exists(out):
            return b"no file\n"
        code, text, err = self.run([self.program("h5dump"), out], self.base, self.work)
        os.remove(out)
        if code in ENDED:
            self.count("a new file that is not compared: " + err.decode())
        return err if code in ENDED else text.split(b"\n", 1)[-1]

    def pair(self, program, tool, name, folder):
        """The program's output: for the local file, and for the name."""
        cwd = os.path.join(self.folder, tool)
        copy, full = os.path.join(self.work, "copies", tool, name), f"{self.store}/{tool}/{name}"
        out = [os.path.join(folder, which + ".h5") for which in ("native", "ours")]
        want = self.run(self.command(program, name, copy, out[0]), self.base, cwd)
        # a file that a program makes must not become a domain
        where = os.path.dirname(copy) if program == "h5diff" else self.empty  # the copy's raw files lie there
        got = self.run(self.command(program, full, copy, "native:" + out[1]), self.ours, where)
        if program in MAKERS:
            want, got = [(rc, text + self.made(file), err) for (rc, text, err), file in zip((want, got), out)]
        return want, got, (copy, name, out[0]), (full, full.replace("hsds+", ""), copy, name, "native:" + out[1], out[1])

    def text(self, program, result, names):
        text = b"exit code %d\n" % result[0] + result[1] + STATS.sub(b"", result[2])
        text = text.decode("utf-8", "surrogateescape")
        for name in names:
            text = text.replace(name, "FILE")
        return self.differences.normalise(program, text).split("\n")

    def one(self, job):
        tool, name, program = job
        case = f"{tool}/{name}"
        if self.differences.skipped(case, program):
            return case, []
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            return case, self.compared(case, program, *self.pair(program, tool, name, folder))

    def compared(self, case, program, want, got, want_names, got_names):
        requests = sum(int(n) for n in STATS.findall(got[2]))
        served = requests or (want[0] == got[0] and (want[0] < 0 or want[0] in ENDED))  # these take the line with them
        lines = [] if served else ["!the connector did not serve this call: " + got[2].decode(errors="replace")[-300:]]
        lines += differing(self.text(program, want, want_names), self.text(program, got, got_names))
        lines = [f"{program}: {line}" for line in lines if not self.differences.excused(case, program, line)]
        if want[0] < 0:
            self.count(f"{program}: crashes with native HDF5, too")
        if want[0] in ENDED:
            self.count(f"{program}: ended after {self.most >> 20} MiB or {self.timeout} s, with native HDF5, too")
        self.count(f"{program}: the same" if not lines else f"{program}: different")
        return lines

    def one_in(self):
        return 80 if self.args.store == "s3" else 40

    def main(self):
        self.prepare()
        programs = self.args.programs.split(",") if self.args.programs else self.programs
        jobs = [(*job, program) for job in self.jobs(self.folder) for program in programs]
        wrong = 0
        with self.pool() as pool:
            for case, lines in pool.map(self.one, jobs):
                if lines:
                    wrong += 1
                    shown = lines[:1000 if self.args.show else 6]
                    print("\n".join([f"FAIL {case}", *(f"     {line[:300]}" for line in shown)]), flush=True)
        unused = []
        if not self.args.only and not self.args.programs and not sample.sampled():
            unused = [f"FAIL {self.allowed}: unused: {line}" for line in self.differences.stale("all")]
        print("\n".join(unused + [f"{n} {what}" for what, n in sorted(self.counts.items())]))
        print(f"{len(jobs)} runs by name over {self.args.store}{sample.note()}, {wrong + len(unused)} differ")
        return 1 if wrong or unused else 0


def main(runner=Run, *more):
    parser = argparse.ArgumentParser()
    for name in ("bin", "hdf5", "plugin", "store", *more):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--only")
    parser.add_argument("--programs")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="bkt-plain-")
    try:
        return runner(args, work).main()
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
