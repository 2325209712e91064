#!/usr/bin/env python3
"""load_gather.py: h5bucket load --extend, many files into one domain: by copy and by reference.

    load_gather.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_STORAGE --gather MAKE_GATHER

h5dump of the domain must show the files' values one after the other.
"""
import http.server
import os
import re
import shutil
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import sample  # noqa: E402
from load_testing import check, run_parts  # noqa: E402


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


def many(b):
    """Many files of 100 chunks each: each row of the table names its own file."""
    files = 300 if sample.sampled() else 1000
    rc, _, err = b.run(b.o.make, b.files, str(files))
    names = sorted((f for f in os.listdir(b.files) if f.startswith("many")), key=lambda f: int(re.findall(r"\d+", f)[0]))
    check(f"{files} files are made", rc == 0 and len(names) == files, err)
    rc, _, err = b.load("--link", "--extend", "0", *names, b.domain("many.h5"))
    print(f"{files} files{sample.note()}")
    check("they are gathered", rc == 0, err)
    rc, out, err = b.run(b.o.tool, "verify", b.domain("many.h5"))
    check("every chunk has its reference", f" {files * 100} references; 0 problems" in out, out + err)
    for k in (0, 1, files // 2, files - 1):
        out = b.dump_domain("many.h5", "-d", "/v", "-y", "-s", f"{k * 10},0", "-S", "1,200", "-c", "10,10")[1].split("DATA {")[-1]
        check(f"file {k} is in its place", [int(v) for v in re.findall(r"\d+", out)] == list(range(k * 100, k * 100 + 100)), out)


class Web(http.server.BaseHTTPRequestHandler):
    """Files by ranges, of versions with long names."""
    folder, version = None, 1

    def do_GET(self):
        body = open(os.path.join(Web.folder, os.path.basename(self.path)), "rb").read()
        whole = "Range" not in self.headers
        first, last = (0, len(body) - 1) if whole else map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        last, etag = min(last, len(body) - 1), f'"{"x" * 80}{Web.version}"'
        self.send_response(412 if self.headers.get("If-Match", etag) != etag else 200 if whole else 206)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(last + 1 - first))
        if not whole:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[first:last + 1])

    do_HEAD = do_GET

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 1024  # all that connect at once


def long_etags(b):
    """A table's rows name the version that was gathered, however long its ETag is."""
    Web.folder = b.files
    server = Server(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    b.env["H5BUCKET_ALLOW"] = url
    rc, _, err = b.load("--link", "--extend", "0", f"{url}/step0.h5", f"{url}/step1.h5", b.domain("etags.h5"))
    check("files with long ETags are gathered", rc == 0, err)
    want = b.values("step0.h5", "/v", "-s", "0,3", "-c", "4,2")
    check("and read", b.values("etags.h5", "/v", "-s", "0,3", "-c", "4,2", domain=True) == want)
    Web.version = 2
    rc, _, err = b.dump_domain("etags.h5", "-d", "/v")
    check("other versions of them are reported", rc != 0, err)
    b.env.pop("H5BUCKET_ALLOW")
    server.shutdown()


DRIVERS = {"parts%04d.h5": ("-f", "family"), "halves": ("-f", "split")}


def cut(dset, steps):
    """Some elements of temp, over a border of chunks."""
    return ("-s", "0,3,998", "-c", f"{steps},1,4") if dset == "/temp" else ()


def in_order(b, what, name, files, steps=4):
    """Every dataset that grows is the files' one after the other, and no longer."""
    for dset in ("/time", "/small", "/temp"):
        want = []
        for f in files:
            want += b.values(f, dset, *cut(dset, steps), *DRIVERS.get(f, ())) if f else ["0"] * {"/time": 4, "/small": 28, "/temp": 16}[dset]
        got = b.values(name, dset, *cut(dset, steps * len(files)), domain=True)
        check(f"{what}: {dset}", got == want and want, (got, want))
    header = b.dump_domain(name, "-H", "-d", "/temp")[1]
    check(f"{what}: temp has {steps * len(files)} steps", f"SIMPLE {{ ( {steps * len(files)}, 7, 3000 )" in header, header)


def by_scale(b):
    """The dimension by its scale's name; coordinate variables follow, attributes stay the first file's."""
    for mode in ("--link", None):
        name, flags = f"scale{mode or ''}.h5", [mode] if mode else []
        rc, _, err = b.load(*flags, "--extend", "time", "run0.h5", "run1.h5", b.domain(name))
        check(f"{name}: gathered", rc == 0 and not err, err)
        in_order(b, name, name, ["run0.h5", "run1.h5"])
        rc, _, err = b.load(*flags, "-a", "--extend", "time", "run2.h5", "masked.h5", "halves", b.domain(name))
        check(f"{name}: appended to", rc == 0 and not err, err)
        in_order(b, f"{name}, appended to", name, ["run0.h5", "run1.h5", "run2.h5", "masked.h5", "halves"])
        if not mode:  # a chunk of 7 x 1000 integers and two steps has 56,000 bytes
            chunks = [re.findall(r"CHUNKED \( ([^)]*) \)", b.dump_domain(name, "-p", "-H", "-d", d)[1]) for d in ("/temp", "/small")]
            check(f"{name}: chunks of what is copied are of 64 KiB", chunks == [["2, 7, 1000"], ["1024, 7"]], chunks)
        check(f"{name}: lat stays", b.values(name, "/lat", domain=True) == b.values("run0.h5", "/lat"))
        history = b.dump_domain(name, "-a", "/time/history")[1]
        check(f"{name}: attributes are the first file's", '"run0.h5' in history, history)
        rc, out, err = b.verify(name, "--deep", "--min-age", "0")
        references = int((re.findall(r"(\d+) references", out) or ["0"])[0])
        check(f"{name}: whole, nothing lies about", rc == 0 and references == (5 * 6 if mode else 0), out + err)


def by_offset(b):
    for mode in ("--link", None):
        name, flags = f"offset{mode or ''}.h5", [mode] if mode else []
        rc, _, err = b.load(*flags, "--extend", "time", "run0.h5", "run1.h5", b.domain(name))
        rc, _, err = b.load(*flags, "-a", "--extend", "time", "--extend-offset", "4", "run3.h5", "run2.h5", b.domain(name))
        check(f"{name}: --extend-offset puts the first there, the next behind it", rc == 0, err)
        in_order(b, f"{name} with an offset", name, ["run0.h5", "run3.h5", "run2.h5"])
        rc, _, err = b.load(*flags, "-a", "--extend", "time", "--extend-offset", "16", "run1.h5", b.domain(name))
        check(f"{name}: beyond the end", rc == 0, err)
        in_order(b, f"{name} with a gap", name, ["run0.h5", "run3.h5", "run2.h5", None, "run1.h5"])
    rc, _, err = b.load("--link", "-a", "--extend", "time", "--extend-offset", "3", "run1.h5", b.domain("offset--link.h5"))
    check("an offset inside a chunk is refused", rc == 1 and "run1.h5: refused: /temp: step 3 is not the first of a chunk" in err, err)
    in_order(b, "and nothing changed", "offset--link.h5", ["run0.h5", "run3.h5", "run2.h5", None, "run1.h5"])


def grown(b):
    """A source that has grown since: copied values stay, linked values are an error that names the changed
    file.  --extend-offset puts the new file over the old one, and -a alone appends all of it."""
    for form in ("filtered", "unfiltered", "contiguous", "external"):
        for mode in ("--link", None):
            name, flags = f"grown-{form}{mode or ''}.h5", [mode] if mode else []
            now = lambda n: shutil.copy(os.path.join(b.files, f"{form}{n}.h5"), os.path.join(b.files, "grows.h5"))
            now(0)
            rc, _, err = b.load(*flags, "--extend", "time", "grows.h5", b.domain(name))
            linked = "H5D_CHUNKED_REF" in b.run(b.o.tool, "stat", b.domain(name), "/temp")[1]
            check(f"{name}: loaded, linked or not", rc == 0 and linked == (mode is not None and form != "external"), err)
            now(1)
            if not linked:
                in_order(b, f"{name}, the source has grown", name, [f"{form}0.h5"])
            else:
                err = b.dump_domain(name, "--enable-error-stack", "-d", "/temp", *cut("/temp", 4))[2]
                check(f"{name}: the file has changed, and that is reported", "grows.h5 changed since it was linked" in err, err)
            rc, _, err = b.load(*flags, "-a", "--extend", "time", "--extend-offset", "0", "grows.h5", b.domain(name))
            if linked and form == "contiguous":
                check(f"{name}: what is one piece can't be linked in others", rc == 1 and "are one piece" in err, err)
                continue
            check(f"{name}: put over what it was", rc == 0, err)
            in_order(b, f"{name}, put over what it was", name, [f"{form}1.h5"], steps=8)
            now(2)
            rc, _, err = b.load(*flags, "-a", "--extend", "time", "grows.h5", b.domain(name))
            if linked:
                check(f"{name}: half a chunk is refused", rc == 1 and "its 5 steps don't fill chunks of 2" in err, err)
                continue
            check(f"{name}: appended as a whole", rc == 0, err)
            got, want = b.values(name, "/time", domain=True), b.values(f"{form}1.h5", "/time") + b.values(f"{form}2.h5", "/time")
            check(f"{name}: behind what was there", got == want and len(got) == 13, (got, want))


def misfits(b):
    """Each is named with its reason and left out as a whole; the rest goes on, and the exit code shows it."""
    open(os.path.join(b.files, "garbage.h5"), "wb").write(b"no HDF5 file " * 100)
    reasons = {"units.h5": "/time: attribute units differs", "broken.h5": "/small: ", "garbage.h5": "", "absent.h5": "",
               "outside.h5": "/temp: the chunk shape differs", "parts%04d.h5": "/temp: a chunk lies in two files"}
    for mode in ("--link", None):
        name, flags = f"misfits{mode or ''}.h5", [mode] if mode else []
        fit = [] if mode else ["outside.h5", "parts%04d.h5"]  # by copy it doesn't matter where data lie
        order = ["absent.h5", "garbage.h5", "run0.h5", "units.h5", "broken.h5", "outside.h5", "run1.h5", "parts%04d.h5", "broken.h5"]
        rc, _, err = b.load(*flags, "--extend", "time", *order, b.domain(name))
        check(f"{name}: exit code and count", rc == 1 and f"{7 - len(fit)} of 9 files: they don't fit" in err, err)
        for f, why in reasons.items():
            check(f"{name}: {f} is {'taken' if f in fit else 'named'}", (f"{f}: refused: {why}" in err) == (f not in fit), err)
        in_order(b, name, name, [f for f in order if f.startswith("run") or f in fit])
        rc, out, err = b.verify(name, "--deep", "--min-age", "0")
        check(f"{name}: nothing of them is left", rc == 0, out + err)
        rc, _, err = b.load(*flags, "-a", "--extend", "time", "units.h5", "run2.h5", b.domain(name))
        check(f"{name}: an append may begin with one that doesn't fit", rc == 1 and "units.h5: refused" in err, err)
        in_order(b, f"{name}, appended to", name, [f for f in order if f.startswith("run") or f in fit] + ["run2.h5"])
    rc, _, err = b.load("--extend", "time", "garbage.h5", "absent.h5", b.domain("none.h5"))
    check("nothing fits: no domain", rc == 1 and not os.path.exists(b.domain("none.h5")), err)
    rc, _, err = b.load("--extend", "time", "broken.h5", "run0.h5", b.domain("none.h5"))
    check("the first doesn't fit itself: no domain, and a report", rc == 1 and "nothing is made" in err and not os.path.exists(b.domain("none.h5")), err)
    rc, _, err = b.load("--extend", "7", "run0.h5", "run1.h5", b.domain("none.h5"))
    check("no such dimension", rc == 1 and "no dataset has a dimension 7" in err and not os.path.exists(b.domain("none.h5")), err)


def leading(b):
    """A new dimension in front: each file is a step of it, whatever its storage."""
    files = ["run0.h5", "run3.h5", "halves"]
    for mode in ("--link", None):
        name, flags = f"leading{mode or ''}.h5", [mode] if mode else []
        rc, _, err = b.load(*flags, "--extend", "member", *files[:2], b.domain(name))
        check(f"{name}: gathered", rc == 0, err)
        rc, _, err = b.load(*flags, "-a", "--extend", "member", files[2], b.domain(name))
        check(f"{name}: appended to", rc == 0, err)
        for dset in ("/time", "/small", "/temp", "/lat"):
            want = []
            for f in files:
                want += b.values(f, dset, *cut(dset, 4), *DRIVERS.get(f, ()))
            part = ("-s", "0,0,3,998", "-c", "3,4,1,4") if dset == "/temp" else ()
            got = b.values(name, dset, *part, domain=True)
            check(f"{name}: {dset} has a step for each file", got == want and want, (got, want))


if __name__ == "__main__":
    def gather_files(b):
        rc, _, err = b.run(b.o.gather, b.files)
        check("files to gather are made", rc == 0, err)

    sys.exit(run_parts((aggregation, long_etags, by_scale, by_offset, grown, misfits, leading, many), more=("gather",), prepare=gather_files))
