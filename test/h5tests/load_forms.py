#!/usr/bin/env python3
"""load_forms.py: h5bucket load of every form of storage, by copy, by reference and by chunk map; aggregation; what goes wrong.

    load_forms.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_STORAGE

h5dump of the domain must be h5dump of the file, apart from the first line; its statistics prove that the connector was used.
"""
import argparse
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

failures = []


def check(what, good, more=""):
    print(("ok    " if good else "FAIL  ") + what + ("" if good else "\n" + str(more)[:2000]), flush=True)
    if not good:
        failures.append(what)


class Bench:
    def __init__(self, options, folder):
        self.o = options
        self.root = folder
        self.files = os.path.join(folder, "files")
        os.makedirs(self.files)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("H5BUCKET", "HDF5_VOL", "HDF5_EXTFILE"))}
        self.env = dict(env, HDF5_PLUGIN_PATH=options.plugin, HDF5_USE_FILE_LOCKING="FALSE")

    def run(self, *command, env=None, cwd=None):
        p = subprocess.run(command, capture_output=True, timeout=120, env=dict(self.env, **(env or {})), cwd=cwd or self.files)
        return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")

    def load(self, *args):
        return self.run(self.o.tool, "load", *args)

    def domain(self, name):
        return os.path.join(self.root, name)

    def dump(self, name, *args, env=None):
        env = dict(env or {})
        if os.environ.get("BKT_PRELOAD"):  # the runtime of a sanitizer that the plugin was built with
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


SOURCES = {"plain": ("plain.h5",), "latest": ("latest.h5",), "userblock": ("userblock.h5",), "external": ("external.h5",),
           "family": ("family%04d.h5", "-f", "family"), "split": ("split", "-f", "split")}


def forms(b):
    for name, (source, *driver) in SOURCES.items():
        for mode in ("copy", "link"):
            target = f"{name}-{mode}.h5"
            rc, _, err = b.load(*(["--link"] if mode == "link" else []), source, b.domain(target))
            check(f"load {mode} {source}", rc == 0 and "note" not in err, err)
            b.same(f"{mode} of {source} dumps alike", source, target, *driver)


def layouts(b):
    """References are references: no chunk objects, files named as HSDS names them, many chunks in a table."""
    root = json.load(open(os.path.join(b.domain("family-link.h5"), ".domain.json")))["root"]
    folder = os.path.join(b.root, "db", root[2:19])
    found = {}
    for top, _, names in os.walk(folder):
        if ".dataset.json" in names:
            d = json.load(open(os.path.join(top, ".dataset.json")))
            found.setdefault(d["creationProperties"]["layout"]["class"], []).append((d, names))
    check("all classes of references are used", {"H5D_CONTIGUOUS_REF", "H5D_CHUNKED_REF", "H5D_CHUNKED_REF_INDIRECT"} <= set(found), found.keys())
    refs = [x for c in found for x in found[c] if c.endswith(("_REF", "_INDIRECT"))]
    check("a reference has no chunk objects", all(names == [".dataset.json"] for _, names in refs), refs)
    check("what straddles members names pieces", any("segments" in d["creationProperties"]["layout"] for d, _ in refs), refs)


def chunk_map(b):
    rc, text, err = b.run(b.o.tool, "chunks", "plain.h5")
    check("chunks writes JSON", rc == 0 and json.loads(text)["format"] == "h5bucket-chunks", err)
    data = json.loads(text)
    check("masks are in it", len(data["datasets"]["/masks_few"]["chunks"]["0"]) == 3, data["datasets"]["/masks_few"])
    name = os.path.join(b.root, "map.json")
    open(name, "w").write(text)
    rc, _, err = b.load("--chunk-map", name, "plain.h5", b.domain("map.h5"))
    check("load --chunk-map with the file", rc == 0, err)
    b.same("it dumps alike", "plain.h5", "map.h5")
    rc, _, err = b.load("--chunk-map", name, b.domain("alone.h5"))
    check("load --chunk-map alone", rc == 0 and "/compact: no data" in err, err)
    want, got = b.dump("plain.h5", "-d", "/many"), b.dump_domain("alone.h5", "-d", "/many")
    check("data come from the file", want[1] == got[1], got)
    for what, change in (("version", {"version": 2}), ("format", {"format": "x"}), ("files", {"files": []})):
        open(name, "w").write(json.dumps(dict(data, **change)))
        rc, _, err = b.load("--chunk-map", name, b.domain("bad.h5"))
        check(f"a map with a bad {what} is refused", rc == 1 and what in err and not os.path.exists(b.domain("bad.h5")), err)
    data["datasets"]["/many"]["chunks"]["3"][0] = 1 << 40
    open(name, "w").write(json.dumps(data))
    rc, _, err = b.load("--chunk-map", name, b.domain("bad.h5"))
    check("a chunk outside of the file is refused", rc == 1 and "/many" in err, err)


def aggregation(b):
    for mode in ("--link", None):
        name = f"agg{mode or ''}.h5"
        flags = [mode] if mode else []
        rc, _, err = b.load(*flags, "--extend", "0", "step0.h5", "step1.h5", "other.h5", "odd.h5", b.domain(name))
        check(f"{name}: files that don't fit are named", rc == 1 and "other.h5: refused: /lat" in err and
              ("odd.h5: refused: /v" in err or mode is None), err)
        rc, _, err = b.load(*flags, "-a", "--extend", "0", "step2.h5", "step3.h5", b.domain(name))
        check(f"{name}: appended to later", rc == 0, err)
        for dset, cut in (("v", ["-s", "0,3", "-c", "16,2"]), ("time", []), ("lat", [])):
            got = re.findall(r"-?\d+", re.sub(r"\(\d[\d,]*\):|DATASPACE.*|START.*|STRIDE.*|COUNT.*|BLOCK.*|H5T\w+", "",
                                              b.dump_domain(name, "-d", "/" + dset, *cut)[1].split("DATA {")[-1]))
            files = ["step0.h5", "step1.h5"] + ([] if mode else ["odd.h5"]) + ["step2.h5", "step3.h5"]
            want = []
            for f in files if dset != "lat" else files[:1]:
                steps = 3 if f == "odd.h5" else 4
                own = ["-s", "0,3", "-c", f"{steps},2"] if dset == "v" else []
                want += re.findall(r"-?\d+", re.sub(r"\(\d[\d,]*\):|H5T\w+", "", b.dump(f, "-d", "/" + dset, *own)[1].split("DATA {")[-1]))
            check(f"{name}: /{dset} is the files' one after the other", got == want[:len(got)] and len(got) > 0, (got, want))


VIRTUAL = {"rows": "16,20", "frames": "4,4,20", "times": "16", "shifted": "12,20", "numbered": "16,20", "grown": "4,20"}


def virtual(b):
    """Flattened where boxes align: chunk tables that name each file; the same values."""
    rc, _, err = b.load("--link", "--flatten-vds", "virtual.h5", b.domain("flat.h5"))
    check("load --link --flatten-vds", rc == 0, err)
    check("only what isn't aligned stays virtual, and is told why",
          re.findall(r"(\S+): stays virtual: .*border", err) == ["/shifted"] and err.count("stays virtual") == 1, err)
    rc, _, err = b.load("--link", *(f"step{k}.h5" for k in range(4)), b.domain(""))
    check("the sources of what stays virtual are loaded beside it", rc == 0, err)
    for name, count in VIRTUAL.items():
        part = ["-y", "-d", "/" + name, "-s", ",".join(["0"] * count.count(",") + ["4990" if "," in count else "0"]), "-c", count]
        want, got = b.dump("virtual.h5", *part), b.dump_domain("flat.h5", *part)
        values = [x[1].split("DATA {")[-1] for x in (want, got)]
        check(f"/{name} has the files' values", want[0] == got[0] == 0 and values[0] == values[1] and len(values[0]) > 60, (want, got))
        rc, out, err = b.run(b.o.tool, "stat", "--json", b.domain("flat.h5"), "/" + name)
        linked = "H5D_CHUNKED_REF_INDIRECT" in out
        check(f"/{name} is {'virtual' if name == 'shifted' else 'linked'}", rc == 0 and linked == (name != "shifted"), out + err)
    rc, _, err = b.run(b.o.tool, "verify", "--deep", b.domain("flat.h5"))
    check("verify --deep of it", rc == 0, err)
    os.rename(os.path.join(b.files, "step3.h5"), os.path.join(b.files, "away.h5"))
    rc, _, err = b.load("--link", "--flatten-vds", "virtual.h5", b.domain("holes.h5"))
    os.rename(os.path.join(b.files, "away.h5"), os.path.join(b.files, "step3.h5"))
    check("a source that isn't there keeps it virtual", rc == 0 and re.search("/rows: stays virtual: .*step3.h5", err), err)
    rc, _, err = b.load("--flatten-vds", "virtual.h5", b.domain("bad.h5"))
    check("--flatten-vds without --link is refused", rc == 2 and "--flatten-vds" in err, err)


def progress(b):
    """On a terminal, the time to go is shown from the first object on; elsewhere nothing is."""
    for name, args in (("copy", ["plain.h5"]), ("link", ["--link", "plain.h5"]), ("gather", ["--extend", "0", "step0.h5", "step1.h5"])):
        ours, theirs = pty.openpty()
        p = subprocess.Popen([b.o.tool, "load", *args, b.domain(f"progress-{name}.h5")], cwd=b.files, env=b.env, stderr=theirs)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        text = text.decode()
        check(f"{name}: the time to go is shown", p.wait() == 0 and re.search(r"[1-9]\d* objects, .*, \d+:\d\d to go", text), text)
    rc, _, err = b.load("plain.h5", b.domain("progress-none.h5"))
    check("no terminal, no progress", rc == 0 and "objects" not in err, err)


def many(b, files=1000):
    """Many files of 100 chunks each: each row of the table names its own file."""
    rc, _, err = b.run(b.o.make, b.files, str(files))
    names = sorted((f for f in os.listdir(b.files) if f.startswith("many")), key=lambda f: int(re.findall(r"\d+", f)[0]))
    check(f"{files} files are made", rc == 0 and len(names) == files, err)
    rc, _, err = b.load("--link", "--extend", "0", *names, b.domain("many.h5"))
    check("they are gathered", rc == 0, err)
    rc, out, err = b.run(b.o.tool, "verify", b.domain("many.h5"))
    check("every chunk has its reference", f" {files * 100} references; 0 problems" in out, out + err)
    for k in (0, 1, files // 2, files - 1):
        out = b.dump_domain("many.h5", "-d", "/v", "-y", "-s", f"{k * 10},0", "-S", "1,200", "-c", "10,10")[1].split("DATA {")[-1]
        check(f"file {k} is in its place", [int(v) for v in re.findall(r"\d+", out)] == list(range(k * 100, k * 100 + 100)), out)


def trouble(b):
    rc, _, err = b.load("-n", "plain.h5", b.domain("plain-copy.h5"))
    check("--no-clobber leaves a domain alone", rc == 1, err)
    shutil.copy(os.path.join(b.files, "plain.h5"), os.path.join(b.files, "changed.h5"))
    rc, _, err = b.load("--link", "changed.h5", b.domain("changed.h5"))
    check("load --link changed.h5", rc == 0, err)
    with open(os.path.join(b.files, "changed.h5"), "ab") as f:
        f.write(b"x")
    rc, out, err = b.dump_domain("changed.h5", "--enable-error-stack", "-d", "/many")
    check("a file that changed since is told", rc != 0 and "changed since it was linked" in out + err, out + err)
    rc, _, err = b.load("nothing.h5", b.domain("nothing.h5"))
    check("a missing file is an error, and no domain", rc == 1 and not os.path.exists(b.domain("nothing.h5")), err)
    big = subprocess.Popen([b.o.tool, "load", "plain.h5", b.domain("killed.h5")], cwd=b.files, env=b.env, stderr=subprocess.DEVNULL)
    time.sleep(0.02)
    big.send_signal(signal.SIGTERM)
    big.wait()
    there = os.path.exists(os.path.join(b.domain("killed.h5"), ".domain.json"))
    check("stopped half way: a whole domain or none", there == (big.returncode == 0), big.returncode)
    rc, _, err = b.load("plain.h5", b.domain("killed.h5"))
    check("loading again finishes", rc == 0 and not os.path.exists(os.path.join(b.domain("killed.h5"), ".h5bucket-load")), err)
    b.same("and is right", "plain.h5", "killed.h5")


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "plugin", "tool", "make"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bkt-forms-") as folder:
        b = Bench(options, folder)
        rc, _, err = b.run(options.make, b.files)
        check("files are made", rc == 0, err)
        for part in (forms, layouts, chunk_map, aggregation, virtual, progress, many, trouble):
            part(b)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
