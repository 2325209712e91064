#!/usr/bin/env python3
"""load_forms.py: h5bucket load of every form of storage, by copy, by reference and by chunk map; and its
errors.

    load_forms.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_STORAGE --forms MAKE_FORMS

h5dump of the domain must be h5dump of the file, apart from the first line; its statistics prove that the connector was used.
"""
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

from load_testing import check, run_parts


SOURCES = {"plain": ("plain.h5",), "latest": ("latest.h5",), "userblock": ("userblock.h5",), "external": ("external.h5",),
           "family": ("family%04d.h5", "-f", "family"), "split": ("split", "-f", "split")}


def forms(b):
    for name, (source, *driver) in SOURCES.items():
        for mode in ("copy", "link"):
            target = f"{name}-{mode}.h5"
            rc, _, err = b.load(*(["--link"] if mode == "link" else []), source, b.domain(target))
            check(f"load {mode} {source}", rc == 0 and "note" not in err, err)
            b.same(f"{mode} of {source} dumps alike", source, target, *driver)


PLACES = {"super0.h5": (), "super1.h5": (), "super2.h5": (), "super3.h5": (), "paged.h5": (), "by-core.h5": (), "by-stdio.h5": (),
          "by-log.h5": (), "small%05d.h5": ("-f", "family"), "multi": ("-f", "multi"), "values.h5": ()}


def places(b):
    """Every chunk index of every superblock, other drivers, data that can't be linked, huge data
    (make_forms.c)."""
    rc, _, err = b.run(b.o.forms, b.files)
    check("all forms are made", rc == 0, err)
    for source, driver in PLACES.items():
        for mode in ((), ("--link",)):
            target = f"place{'-link' if mode else ''}-{source.replace('%', '')}"
            rc, _, err = b.load(*mode, source, b.domain(target))
            reported = sorted(re.findall(r"/(\S+): copied: ", err))
            check(f"load {' '.join(mode)} {source}: what can't be linked is reported", rc == 0 and
                  reported == (["lists", "pairs", "refs", "words"] if mode and source == "values.h5" else []), err)
            want, got = b.dump(source, *driver)[1], b.dump_domain(target)[1]
            check(f"{target} dumps alike", want.replace(source, "FILE") == got.replace(b.domain(target), "FILE"))
            rc, out, err = b.verify(target, "--deep")
            check(f"{target} is whole", rc == 0, out + err)
            linked = re.findall(r"(\d+) references", out)
            check(f"{target} has {'references' if mode else 'no reference'}",
                  source == "values.h5" or (int(linked[0]) > 0) == bool(mode), out)
    rc, _, err = b.load("--link", "huge.h5", b.domain("huge.h5"))
    end = ("-s", str((5 << 30) - 5), "-c", "5")
    check("elements behind 4 GiB are found", rc == 0 and b.values("huge.h5", "/huge", *end, domain=True)[-5:] == ["0", "7", "8", "9", "10"], err)
    rc, _, err = b.load("--link", "thin.h5", b.domain("thin.h5"))
    got = [b.values("thin.h5", "/thin", "-s", f"{i // 3},{1700 * (i % 11)},{300000 * (7 * i % 30) + i}", "-c", "1,1,1", domain=True)
           for i in (0, 1, 13, 29)] if rc == 0 else []
    check("a few chunks of a grid without end are found", [g[-1:] for g in got] == [["1"], ["2"], ["14"], ["30"]], err + str(got))


def prefixes(b):
    """External files by HDF5_EXTFILE_PREFIX: a folder, the HDF5 file's own folder, and none."""
    there = os.path.join(b.files, "sub", "raw")
    os.makedirs(there)
    shutil.copy(os.path.join(b.files, "external.h5"), os.path.join(b.files, "sub"))
    for k in range(1, 6):
        shutil.copy(os.path.join(b.files, f"raw{k}.bin"), there)
    want = b.dump("external.h5")[1]
    os.mkdir(os.path.join(b.root, "elsewhere"))
    for n, (prefix, cwd) in enumerate(((there, b.root), ("${ORIGIN}/raw", os.path.join(b.root, "elsewhere")), (".", there), ("", there))):
        for mode in ("copy", "link"):
            target = f"prefix{n}-{mode}.h5"
            rc, _, err = b.run(b.o.tool, "load", *(["--link"] if mode == "link" else []), os.path.join(b.files, "sub", "external.h5"),
                               b.domain(target), env={"HDF5_EXTFILE_PREFIX": prefix}, cwd=cwd)
            check(f"{mode} with the prefix '{prefix}'", rc == 0 and not err, err)
            check(f"{mode} with the prefix '{prefix}' dumps alike", b.dump_domain(target)[1] == want)
    rc, _, err = b.run(b.o.tool, "load", "--link", os.path.join(b.files, "sub", "external.h5"), b.domain("prefix.h5"), cwd=b.root)
    check("without it the files aren't found, and a read reports it", rc == 0 and b.dump_domain("prefix.h5")[0] != 0, err)


def layouts(b):
    """References are references: no chunk objects, files named as HSDS names them, many chunks in a table."""
    b.load("--link", "super3.h5", b.domain("tables.h5"))
    found = {}
    roots = [json.load(open(os.path.join(b.domain(name), ".domain.json")))["root"] for name in ("family-link.h5", "tables.h5")]
    for top, _, names in (step for root in roots for step in os.walk(os.path.join(b.root, "db", root[2:19]))):
        if ".dataset.json" in names:
            d = json.load(open(os.path.join(top, ".dataset.json")))
            found.setdefault(d["creationProperties"]["layout"]["class"], []).append((d, names))
    check("all classes of references are used", {"H5D_CONTIGUOUS_REF", "H5D_CHUNKED_REF", "H5D_CHUNKED_REF_INDIRECT"} <= set(found), found.keys())
    refs = [x for c in found for x in found[c] if c.endswith(("_REF", "_INDIRECT"))]
    check("a reference has no chunk objects", all(names == [".dataset.json"] for _, names in refs), refs)
    check("what straddles members names pieces", any("segments" in d["creationProperties"]["layout"] for d, _ in refs), refs)


def locators(b):
    """Chunk tables as hsload --fastlink leaves them, not made yet: read so, then filled in.  Extensible arrays among them, whose
    chunks HDF5 1.14 lists in the wrong places."""
    rc, _, err = b.load("--link", "super3.h5", b.domain("locators.h5"))
    root = json.load(open(os.path.join(b.domain("locators.h5"), ".domain.json")))["root"]
    folder, left = os.path.join(b.root, "db", root[2:19]), 0
    links = json.load(open(os.path.join(folder, ".group.json")))["links"]
    bucket = os.path.basename(b.root)
    for number, (name, link) in enumerate(links.items()):
        path = os.path.join(folder, "d", link["id"][20:], ".dataset.json")
        if not os.path.exists(path):
            continue
        document = json.load(open(path))
        layout = document["creationProperties"]["layout"]
        if "chunks" not in layout or any(len(place) != 2 for place in layout["chunks"].values()):
            continue  # hsload has no field for a filter mask
        table = f"d-{root[2:19]}-aaaa-000000-{number:06x}"
        del layout["chunks"]
        layout.update({"class": "H5D_CHUNKED_REF_INDIRECT", "chunk_table": table})
        if document["layout"]["class"] != "H5D_CHUNKED":
            document["layout"] = layout
        json.dump(document, open(path, "w"))
        grid = [-(-n // c) for n, c in zip(document["shape"]["dims"], layout["dims"])]
        os.mkdir(os.path.join(folder, "d", table[20:]))
        json.dump({"id": table, "root": root, "created": 1.0, "lastModified": 1.0, "attributes": {},
                   "type": {"class": "H5T_COMPOUND", "fields": [{"name": "offset", "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I64LE"}},
                                                                {"name": "size", "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}}]},
                   "shape": {"class": "H5S_SIMPLE", "dims": grid}, "layout": {"class": "H5D_CHUNKED", "dims": grid},
                   "creationProperties": {"initializer": ["chunklocator", f"--h5path=/{name}", "--filepath=files/super3.h5",
                                                          f"--bucket={bucket}"]}},
                  open(os.path.join(folder, "d", table[20:], ".dataset.json"), "w"))
        left += name.startswith("extensible_")
    check("tables of extensible arrays are left to be made", left > 8, left)
    b.same("chunks are found by a look into the file", "super3.h5", "locators.h5")
    with open(os.path.join(b.files, "super3.h5"), "rb") as written:
        fcntl.flock(written, fcntl.LOCK_EX)
        b.env["HDF5_USE_FILE_LOCKING"] = "TRUE"
        rc, _, err = b.dump_domain("locators.h5", "--enable-error-stack", "-d", "/extensible_last")
        check("unless a program has it open for writing", rc != 0 and "unable to lock file" in err, err)
        b.env["HDF5_USE_FILE_LOCKING"] = "FALSE"
    rc, out, err = b.run(b.o.tool, "chunks", "--fill", b.domain("locators.h5"))
    check("chunks --fill makes the tables", rc == 0 and int(out.split()[0]) > left, out + err)
    os.rename(os.path.join(b.files, "super3.h5"), os.path.join(b.files, "hidden.h5"))
    rc, out, err = b.run(b.o.tool, "chunks", "--fill", b.domain("locators.h5"))
    check("which then need no look any more", rc == 0 and out.startswith("0 "), out + err)
    os.rename(os.path.join(b.files, "hidden.h5"), os.path.join(b.files, "super3.h5"))
    b.same("and say the same", "super3.h5", "locators.h5")


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
    data["datasets"]["/many"]["chunks"]["03"] = data["datasets"]["/many"]["chunks"]["3"]
    open(name, "w").write(json.dumps(data))
    rc, _, err = b.load("--chunk-map", name, b.domain("bad.h5"))
    check("a chunk that is there twice is refused", rc == 1 and "twice" in err, err)
    del data["datasets"]["/many"]["chunks"]["03"]
    data["datasets"]["/many"]["chunks"]["3"][0] = 1 << 40
    open(name, "w").write(json.dumps(data))
    rc, _, err = b.load("--chunk-map", name, b.domain("bad.h5"))
    check("a chunk outside of the file is refused", rc == 1 and "/many" in err, err)


VIRTUAL = {"rows": "16,20", "frames": "4,4,20", "times": "16", "shifted": "12,20", "woven": "16,20", "combed": "16,20", "numbered": "16,20", "grown": "4,20"}


def virtual(b):
    """Flattened where boxes align: chunk tables that name each file; the same values."""
    rc, _, err = b.load("--link", "--flatten-vds", "virtual.h5", b.domain("flat.h5"))
    check("load --link --flatten-vds", rc == 0, err)
    check("only what isn't aligned stays virtual, and is reported why",
          sorted(re.findall(r"(\S+): stays virtual: .*border", err)) == ["/combed", "/shifted"] and err.count("stays virtual") == 2, err)
    rc, _, err = b.load("--link", *(f"step{k}.h5" for k in range(4)), b.domain(""))
    check("the sources of what stays virtual are loaded beside it", rc == 0, err)
    for name, count in VIRTUAL.items():
        part = ["-y", "-d", "/" + name, "-s", ",".join(["0"] * count.count(",") + ["4990" if "," in count else "0"]), "-c", count]
        want, got = b.dump("virtual.h5", *part), b.dump_domain("flat.h5", *part)
        values = [x[1].split("DATA {")[-1] for x in (want, got)]
        check(f"/{name} has the files' values", want[0] == got[0] == 0 and values[0] == values[1] and len(values[0]) > 60, (want, got))
        rc, out, err = b.run(b.o.tool, "stat", "--json", b.domain("flat.h5"), "/" + name)
        linked = "H5D_CHUNKED_REF_INDIRECT" in out
        virtual = name in ("shifted", "combed")
        check(f"/{name} is {'virtual' if virtual else 'linked'}", rc == 0 and linked == (not virtual), out + err)
    rc, _, err = b.run(b.o.tool, "verify", "--deep", b.domain("flat.h5"))
    check("verify --deep of it", rc == 0, err)
    rc, _, err = b.run(b.o.tool, "export", "--kerchunk", b.domain("flat.h5"), os.path.join(b.files, "flat.json"))
    check("a reference set lacks the large virtual one, and names it", rc == 1 and re.findall(r"(\w+): left out", err) == ["combed"],
          (rc, err))
    os.rename(os.path.join(b.files, "step3.h5"), os.path.join(b.files, "away.h5"))
    rc, _, err = b.load("--link", "--flatten-vds", "virtual.h5", b.domain("holes.h5"))
    os.rename(os.path.join(b.files, "away.h5"), os.path.join(b.files, "step3.h5"))
    check("a source that isn't there keeps it virtual", rc == 0 and re.search("/rows: stays virtual: .*step3.h5", err), err)
    rc, _, err = b.load("--flatten-vds", "virtual.h5", b.domain("bad.h5"))
    check("--flatten-vds without --link is refused", rc == 2 and "--flatten-vds" in err, err)


def progress(b):
    """On a terminal, the time to go is shown from the first object on; elsewhere nothing is."""
    for name, args in (("copy", ["plain.h5"]), ("link", ["--link", "plain.h5"]), ("gather", ["--extend", "0", "step0.h5", "step1.h5"])):
        try:
            ours, theirs = pty.openpty()
        except OSError as e:
            print(f"      not tried: progress on a terminal; this machine has none to give ({e})")
            break
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
    check("no terminal, no line that is written over", rc == 0 and not err and "\r" not in b.said, b.said)


def trouble(b):
    rc, _, err = b.load("-n", "plain.h5", b.domain("plain-copy.h5"))
    check("--no-clobber leaves a domain alone", rc == 1, err)
    shutil.copy(os.path.join(b.files, "plain.h5"), os.path.join(b.files, "changed.h5"))
    rc, _, err = b.load("--link", "changed.h5", b.domain("changed.h5"))
    check("load --link changed.h5", rc == 0, err)
    with open(os.path.join(b.files, "changed.h5"), "ab") as f:
        f.write(b"x")
    rc, out, err = b.dump_domain("changed.h5", "--enable-error-stack", "-d", "/many")
    check("a file that changed since is reported", rc != 0 and "changed since it was linked" in out + err, out + err)
    rc, _, err = b.load("nothing.h5", b.domain("nothing.h5"))
    check("a missing file is an error, and no domain", rc == 1 and not os.path.exists(b.domain("nothing.h5")), err)
    for wait in (0.02, 0.01, 0.005, 0.002, 0):  # a quick machine has loaded the file before the first signal
        shutil.rmtree(b.domain("killed.h5"), ignore_errors=True)
        big = subprocess.Popen([b.o.tool, "load", "plain.h5", b.domain("killed.h5")], cwd=b.files, env=b.env, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        big.send_signal(signal.SIGTERM)
        big.wait()
        there = os.path.exists(os.path.join(b.domain("killed.h5"), ".domain.json"))
        check("stopped half way: a whole domain or none", there == (big.returncode == 0), big.returncode)
        if not there:
            break
    check("a load was stopped", not there, big.returncode)
    rc, _, err = b.load("plain.h5", b.domain("killed.h5"))
    check("loading again finishes", rc == 0 and not os.path.exists(os.path.join(b.domain("killed.h5"), ".h5bucket-load")), err)
    b.same("and is right", "plain.h5", "killed.h5")


def flags(b):
    """Options that h5pyd's hsload has too."""
    name = b.domain("flags.h5")
    rc, _, err = b.load("-v", "plain.h5", name)
    check("-v names each dataset and counts", rc == 0 and "/many" in err and re.search(r"\d+ objects; 0 datasets linked, \d+ copied", err), err)
    before = b.dump_domain("flags.h5")[1]
    rc, _, err = b.load("-n", "external.h5", name)
    check("-n leaves a domain as it is, and fails", rc == 1 and b.dump_domain("flags.h5")[1] == before, err)
    rc, _, err = b.load("-a", "external.h5", name)
    got = b.dump_domain("flags.h5")[1]
    check("-a adds what isn't there", rc == 0 and all(f'DATASET "{d}"' in got for d in ("one", "three", "short", "many")), err)
    rc, _, err = b.load("-a", "latest.h5", name)
    check("-a: what is there stays, and is reported", rc == 0 and "/many" in err and b.dump_domain("flags.h5")[1] == got, err)
    rc, _, err = b.load("--nodata", "plain.h5", b.domain("nodata.h5"))
    heads = b.dump("plain.h5", "-H")[1], b.dump_domain("nodata.h5", "-H")[1]
    rc2, out, _ = b.run(b.o.tool, "info", "--json", b.domain("nodata.h5"))
    check("--nodata makes everything but data", rc == rc2 == 0 and heads[0] == heads[1] and json.loads(out)[0]["num_chunks"] == 0, err + out)
    rc, _, err = b.load("--link", "--linkpath", "s3://elsewhere/k/plain.h5", "plain.h5", b.domain("linkpath.h5"))
    rc2, out, _ = b.run(b.o.tool, "stat", "--json", b.domain("linkpath.h5"), "/contiguous")
    check("--linkpath is what references call the file", rc == rc2 == 0 and "s3://elsewhere/k/plain.h5" in out, err + out)
    check("and who reads it is reported what to allow", "H5BUCKET_ALLOW=s3://elsewhere" in err, err)


def jobs(b):
    """Several sources into a folder, several at once: a source that can't be loaded is reported, the others
    are there."""
    names = [f"job{k}.h5" for k in range(7)]
    for n in names:
        shutil.copy(os.path.join(b.files, "plain.h5"), os.path.join(b.files, n))
    open(os.path.join(b.files, "job3.h5"), "wb").write(b"nothing of HDF5's")
    for j in ("1", "3"):
        folder = b.domain(f"jobs{j}/")
        os.mkdir(folder)
        rc, _, err = b.load("--jobs", j, *names, folder)
        check(f"--jobs {j}: one of seven fails, which is reported", rc == 1 and "job3.h5" in err, err)
        made = sorted(n for n in os.listdir(folder) if n.endswith(".h5"))
        check(f"--jobs {j}: the others are there", made == [n for n in names if n != "job3.h5"], made)
        for n in ("job0.h5", "job6.h5"):
            b.same(f"--jobs {j}: {n} dumps alike", "plain.h5", f"jobs{j}/{n}")
    os.mkdir(b.domain("twins"))
    os.makedirs(os.path.join(b.files, "other"), exist_ok=True)
    shutil.copy(os.path.join(b.files, "plain.h5"), os.path.join(b.files, "other", "job0.h5"))
    rc, _, err = b.load("job0.h5", "job1.h5", "other/job0.h5", b.domain("twins/"))
    check("two sources of one name: nothing is loaded", rc == 2 and "job0.h5" in err and os.listdir(b.domain("twins")) == [], err)
    os.mkdir(b.domain("jobs2"))
    names = [f"many{k}.h5" for k in range(140)]
    for n in names:
        os.link(os.path.join(b.files, "plain.h5"), os.path.join(b.files, n))
    p = subprocess.Popen([b.o.tool, "load", "--jobs", "2", *names, b.domain("jobs2/")], cwd=b.files, env=b.env, stderr=subprocess.PIPE)
    while p.poll() is None and not os.listdir(b.domain("jobs2")):  # at work, with most of it to come
        time.sleep(0.01)
    p.send_signal(signal.SIGTERM)
    err = p.communicate(timeout=600)[1].decode()
    made = [n for n in os.listdir(b.domain("jobs2")) if n.endswith(".h5")]
    whole = [n for n in made if os.path.exists(os.path.join(b.domain("jobs2"), n, ".domain.json"))]
    check("stopped: every domain is whole or not there", p.returncode != 0 and sorted(whole) == sorted(made), (p.returncode, made, err[-500:]))
    for n in whole:
        b.same(f"stopped: {n} dumps alike", "plain.h5", f"jobs2/{n}")


if __name__ == "__main__":
    sys.exit(run_parts((forms, places, prefixes, layouts, locators, chunk_map, virtual, progress, trouble, flags, jobs), more=("forms",)))
