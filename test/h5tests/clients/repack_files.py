#!/usr/bin/env python3
"""h5repack of HDF5's own test files: into a domain as into a file, compared by h5dump's output.

    repack_files.py --hdf5 PREFIX --bin FOLDER --plugin FOLDER [--bucket URI] [--only FILE] [--show]

The files are those of config/libraries/hdf5-tests.sh; domains are made in folders, or below URI.  repack_exceptions.txt
lists allowed differences, a reason beside each; an unused line there fails.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import hdf5_files  # noqa: E402
import sample  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = re.compile(rb"\b(GROUP|DATASET|DATATYPE|COMMENT|ATTRIBUTE)  ?\d{3,} ")

NAMELESS = re.compile(rb"#(\d+|t-[0-9a-f-]+)")


class Repack:
    def __init__(self, args):
        self.args = args
        clean = {k: v for k, v in os.environ.items() if k not in ("HDF5_VOL_CONNECTOR", "HDF5_PLUGIN_PATH")}
        self.native = clean
        self.ours = dict(clean, HDF5_VOL_CONNECTOR="bucket", HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_STATS="1")
        if os.environ.get("BKT_PRELOAD"):
            self.ours["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]

    def tool(self, env, name, *args):
        try: # in the folder of the files: some have raw data beside them
            done = subprocess.run([os.path.join(self.args.bin, name), *args], env=env, cwd=self.folder, capture_output=True,
                                  timeout=30 if env is self.native and name == "h5dump" else 600)
        except subprocess.TimeoutExpired:
            return -99, b"", b"it did not end in time"
        return done.returncode, done.stdout, done.stderr

    def dump(self, env, name):
        rc, out, err = self.tool(env, "h5dump", name)
        out = out.replace(name.encode(), b"FILE")
        return rc, NAMELESS.sub(b"#N", ADDRESS.sub(rb"\1 N ", out.split(b"\n", 1)[-1])).decode(errors="replace").splitlines(), err

    def one(self, path, work):
        self.folder = os.path.dirname(path)
        """'' or the fault"""
        stores = (work, f"{self.args.bucket}/{os.path.basename(work)}" if self.args.bucket else work)
        length = max(map(len, stores)) + 10  # h5dump breaks lines where long names end: both are as long
        plain, domain = (f"{store}/{what * (length - len(store))}/x.h5" for store, what in zip(stores, "pd"))
        os.mkdir(os.path.dirname(plain))
        if not self.args.bucket:
            os.mkdir(os.path.dirname(domain))
        want, _, _ = self.tool(self.native, "h5repack", path, plain)
        got, _, err = self.tool(self.ours, "h5repack", path, domain)
        if want != 0:
            return None if got != 0 else "h5repack works here and not with HDF5's files"
        if got != 0:
            return f"h5repack gave {got}: " + err.decode(errors="replace")[-300:]
        if b"h5bucket: " not in err or b"PUT 0 " in err:
            return "the connector was not asked"
        rc, a, _ = self.dump(self.native, plain)
        if rc < 0:
            print(f"{os.path.basename(path)}: not compared, h5dump does not end with HDF5's own file either")
            return None
        rc2, b, err = self.dump(self.ours, domain)
        if rc != rc2:
            return f"h5dump gave {rc2}, of HDF5's file {rc}: " + err.decode(errors="replace")[-300:]
        if a != b:
            lines = [line for line in difflib.unified_diff(a, b, "file", "domain", lineterm="", n=1)]
            return "\n    ".join(lines[:12])
        return ""


def main():
    ap = argparse.ArgumentParser()
    for name in ("--hdf5", "--bin", "--plugin"):
        ap.add_argument(name, required=True)
    ap.add_argument("--bucket")
    ap.add_argument("--only")
    ap.add_argument("--show", action="store_true")
    args = ap.parse_args()
    with open(os.path.join(HERE, "repack_exceptions.txt"), encoding="utf-8") as file:
        excused = {line.split("|")[0].strip(): False for line in file if line.strip() and not line.startswith("#")}
    folder, run, good, bad = os.path.join(hdf5_files.folder(args.hdf5), "h5repack"), Repack(args), 0, 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".h5") or (args.only and args.only not in name) or not sample.takes(name, 4 if args.bucket else 2):
            continue
        with tempfile.TemporaryDirectory(prefix="bkt-repack.") as work:
            wrong = run.one(os.path.join(folder, name), work)
        if wrong is None:
            continue
        if wrong and name in excused:
            excused[name] = True
            if not args.show:
                continue
        good, bad = good + (not wrong), bad + bool(wrong)
        if wrong:
            print(f"FAIL {name}: {wrong}")
    stale = [] if args.only or sample.sampled() else [name for name, used in excused.items() if not used]
    for name in stale:
        print(f"STALE {name}: nothing needed it")
    print(f"{good} files repacked into domains as into files, {sum(excused.values())} excused, {bad} not{sample.note()}")
    return 1 if bad or stale or not good else 0


if __name__ == "__main__":
    sys.exit(main())
