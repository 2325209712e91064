#!/usr/bin/env python3
"""h5copy of HDF5's own test files, h5import of its texts and binaries, and h5repack with its options: into domains as into files.

    copy_tools.py --hdf5 PREFIX --bin FOLDER --plugin FOLDER [--bucket URI] [--only WORD]

h5dump must print the same for both results.  The files are those of config/libraries/hdf5-tests.sh.  Domains lie in
folders, or below URI.
"""
import argparse
import difflib
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import hdf5_files  # noqa: E402
import sample  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBERS = ((re.compile(r"\b(GROUP|DATASET|DATATYPE|COMMENT|ATTRIBUTE)  ?\d{3,} "), r"\1 N "),
           (re.compile(r"#(\d+|t-[0-9a-f-]+)"), "#N"),
           (re.compile(r"~obj_pointed_by_\d+"), "~obj_pointed_by_N"),
           (re.compile(r'(DATATYPE "#N") *\n? *'), r"\1 "),  # h5dump begins a new line after a longer number
           (re.compile(r"\n *(SIZE|OFFSET) [^\n]*"), ""))      # its place and size are another matter


class Tools:
    def __init__(self, args):
        self.args = args
        self.native = {k: v for k, v in os.environ.items() if k not in ("HDF5_VOL_CONNECTOR", "HDF5_PLUGIN_PATH")}
        self.ours = dict(self.native, HDF5_VOL_CONNECTOR="bucket", HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_STATS="1", H5BUCKET_FSYNC="no")
        if os.environ.get("BKT_PRELOAD"):
            self.ours["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
        self.good, self.bad = 0, 0

    def domain(self, folder, name):
        """The place of a new domain: in a new folder below `folder`, or in the bucket under the same name."""
        if self.args.bucket:
            return f"{self.args.bucket}{folder}/{name}"
        where = os.path.join(folder, "bucket-" + name)
        os.makedirs(where)
        return os.path.join(where, name)

    def run(self, env, folder, name, *args):
        done = subprocess.run([os.path.join(self.args.bin, name), *args], env=env, cwd=folder, capture_output=True, timeout=600)
        if env is self.ours and b"h5bucket: " not in done.stderr:
            sys.exit(f"{name} {' '.join(args)}: the connector was not asked\n{done.stderr[-300:]}")
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def dump(self, env, folder, name, options=()):
        rc, out, err = self.run(env, folder, "h5dump", *options, name)
        out = out.replace(name, "FILE")
        for pattern, to in NUMBERS:
            out = pattern.sub(to, out)
        return rc, out.splitlines(), err

    def compare(self, what, plain, domain):
        (rc, a, _), (rc2, b, err) = plain, domain
        if rc == rc2 and a == b and a:
            self.good += 1
            return
        self.bad += 1
        lines = list(difflib.unified_diff(a, b, "file", "domain", lineterm="", n=1))[:14]
        print(f"FAIL {what}: h5dump {rc} and {rc2} {err[-200:] if rc != rc2 else ''}", *lines, sep="\n    ")

    def same_end(self, what, plain, domain):
        if (plain[0] == 0) == (domain[0] == 0):
            return plain[0] == 0
        self.bad += 1
        print(f"FAIL {what}: {plain[0]} with a file, {domain[0]} with a domain: {plain[2][-200:]}{domain[2][-300:]}")
        return False


def members(tools, path):
    _, out, _ = tools.run(tools.native, ".", "h5ls", path)
    return [line.split()[0] for line in out.splitlines() if line.strip()]


def copy_all(t, files, work):
    """Every object of each file, one after the other: file to domain, domain to domain, domain to file."""
    for name in ("h5copytst.h5", "h5copytst_new.h5", "h5copy_ref.h5", "h5copy_extlinks_src.h5"):
        if t.args.bucket and not sample.takes(name, 2):
            continue
        source = os.path.join(files, "h5copy", name)
        folder = os.path.join(work, name)
        os.makedirs(folder)
        d1, d2 = t.domain(folder, "d1.h5"), t.domain(folder, "d2.h5")
        ends = []
        for member in members(t, source):
            where = ("-s", "/" + member, "-d", "/new/" + member, "-p")
            ends.append(t.same_end(f"{name} {member}", t.run(t.native, os.path.dirname(source), "h5copy", "-i", source, "-o", f"{folder}/p1.h5", *where),
                                   t.run(t.ours, os.path.dirname(source), "h5copy", "-i", source, "-o", d1, *where)))
        if not any(ends):
            continue
        t.compare(f"h5copy {name} into a domain", t.dump(t.native, folder, f"{folder}/p1.h5"), t.dump(t.ours, folder, d1))
        again = ("-s", "/new", "-d", "/all")
        t.same_end(name, t.run(t.native, folder, "h5copy", "-i", f"{folder}/p1.h5", "-o", f"{folder}/p2.h5", *again),
                   t.run(t.ours, folder, "h5copy", "-i", d1, "-o", d2, *again))
        t.same_end(name, (0, "", ""), t.run(t.ours, folder, "h5copy", "-i", d1, "-o", f"native:{folder}/back.h5", *again))
        want = t.dump(t.native, folder, f"{folder}/p2.h5")
        t.compare(f"h5copy {name} between domains", want, t.dump(t.ours, folder, d2))
        t.compare(f"h5copy {name} out of a domain", want, t.dump(t.native, folder, f"{folder}/back.h5"))


def copy_flags(t, files, work):
    for flag in ("shallow", "soft", "ext", "ref", "noattr", "allflags", "nullmsg"):
        for name, member in (("h5copytst.h5", "grp_nested"), ("h5copytst.h5", "grp_attr"), ("h5copy_ref.h5", "Dset_OBJREF"),
                             ("h5copy_ref.h5", "Dset_REGREF"), ("h5copy_extlinks_src.h5", "group_ext")):
            if not sample.takes(f"{flag} {member}", 12 if t.args.bucket else 3):
                continue
            source = os.path.join(files, "h5copy", name)
            folder = os.path.join(work, f"{flag}-{member}")
            os.makedirs(folder)
            domain = t.domain(folder, "d.h5")
            what  = f"h5copy -f {flag} {name} {member}"
            where = ("-i", source, "-s", "/" + member, "-d", "/" + member, "-f", flag)
            if t.same_end(what, t.run(t.native, os.path.dirname(source), "h5copy", "-o", f"{folder}/p.h5", *where),
                          t.run(t.ours, os.path.dirname(source), "h5copy", "-o", domain, *where)):
                t.compare(what, t.dump(t.native, folder, f"{folder}/p.h5"), t.dump(t.ours, folder, domain))


def imports(t, files, work):
    texts = os.path.join(files, "h5import")
    binary = os.path.join(work, "binary")
    os.makedirs(binary)
    cases = [(texts, name + ".txt", name + ".conf") for name in ("txtin8", "txtin16", "txtin32", "txtuin16", "txtuin32", "txtfp32", "txtfp64", "txtstr")]
    for code, kind, size, name in (("b", "IN", 8, "in8"), ("h", "IN", 16, "in16"), ("i", "IN", 32, "in32"), ("d", "FP", 64, "fp64"), ("H", "UIN", 16, "uin16")):
        with open(os.path.join(binary, name + ".bin"), "wb") as f:
            f.write(struct.pack("=24" + code, *range(24)))
        with open(os.path.join(binary, name + ".conf"), "w", encoding="ascii") as f:
            f.write(f"PATH /bin/{name}\nINPUT-CLASS {kind}\nINPUT-SIZE {size}\nRANK 2\nDIMENSION-SIZES 4 6\nOUTPUT-CLASS {kind}\n"
                    f"OUTPUT-SIZE {size}\nCHUNKED-DIMENSION-SIZES 2 3\nCOMPRESSION-TYPE GZIP\nCOMPRESSION-PARAM 6\n"
                    "MAXIMUM-DIMENSIONS -1 6\n")
        cases.append((binary, name + ".bin", name + ".conf"))
    for folder, data, conf in (case for case in cases if sample.takes(case[1], 6 if t.args.bucket else 2)):
        out = os.path.join(work, "import-" + data)
        os.makedirs(out)
        domain = t.domain(out, "d.h5")
        if t.same_end(f"h5import {data}", t.run(t.native, folder, "h5import", data, "-c", conf, "-o", f"{out}/p.h5"),
                      t.run(t.ours, folder, "h5import", data, "-c", conf, "-o", domain)):
            t.compare(f"h5import {data}", t.dump(t.native, out, f"{out}/p.h5", ("-p",)), t.dump(t.ours, out, domain, ("-p",)))


def repack_options(t, files, work):
    source = os.path.join(files, "h5repack", "h5repack_layout.h5")
    for n, options in enumerate((("-f", "GZIP=1"), ("-f", "SHUF", "-f", "GZIP=5"), ("-f", "FLET"), ("-f", "NBIT"), ("-f", "SOFF=31,IN"),
                                 ("-f", "dset2:GZIP=1"), ("-l", "CHUNK=20x10"), ("-l", "CONTI"), ("-l", "COMPA"), ("-l", "dset1,dset2:CHUNK=5x5"),
                                 ("-L",), ("-m", "1024", "-f", "GZIP=1"), ("-n", "-f", "GZIP=1"), ("-S", "PAGE"))):
        if not sample.takes(" ".join(options), 4 if t.args.bucket else 1):
            continue
        folder = os.path.join(work, f"repack{n}")
        os.makedirs(folder)
        domain = t.domain(folder, "d.h5")
        what = "h5repack " + " ".join(options)
        if t.same_end(what, t.run(t.native, folder, "h5repack", *options, source, f"{folder}/p.h5"),
                      t.run(t.ours, folder, "h5repack", *options, source, domain)):
            t.compare(what, t.dump(t.native, folder, f"{folder}/p.h5"), t.dump(t.ours, folder, domain))
    block = os.path.join(work, "block")
    with open(block, "wb") as f:
        f.write(b"x" * 600)
    rc, out, err = t.run(t.ours, work, "h5repack", "-u", block, "-b", "1024", source, t.domain(work, "ub.h5"))
    if rc == 0 or "Error" not in out + err:  # a domain has no bytes in front
        t.bad += 1
        print(f"FAIL h5repack -u: {rc}, {out}{err}")


def main():
    ap = argparse.ArgumentParser()
    for name in ("--hdf5", "--bin", "--plugin"):
        ap.add_argument(name, required=True)
    ap.add_argument("--bucket")
    ap.add_argument("--only", default="")
    args = ap.parse_args()
    files, tools = hdf5_files.folder(args.hdf5), Tools(args)
    for fn in (copy_all, copy_flags, imports, repack_options):
        if args.only in fn.__name__:
            with tempfile.TemporaryDirectory(prefix="bkt-copies.") as work:
                fn(tools, files, work)
    print(f"{tools.good} results in domains are as those in files, {tools.bad} are not{sample.note()}")
    return 1 if tools.bad or not tools.good else 0


if __name__ == "__main__":
    sys.exit(main())
