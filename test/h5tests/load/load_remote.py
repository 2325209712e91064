#!/usr/bin/env python3
"""load_remote.py: h5bucket load reads files in place, in S3 or behind HTTPS; the number of requests.

    load_remote.py --bin DIR --plugin DIR --tool H5BUCKET --make MAKE_STORAGE --forms MAKE_FORMS

A small S3 server (request_counts.py) counts.  The tool reads far less than the file, in few requests,
wherever the metadata lie.  The limits are the values measured with HDF5 1.14.5 and a fifth more.  An nginx
serves HTTPS (test/s3/faultproxy.sh).  Without nginx the HTTPS part is left out, and a line reports that.
"""
import json
import os
import re
import subprocess
import sys
import threading
import zlib

from load_testing import check, run_parts

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "counts"))
import request_counts  # noqa: E402


class Remote:
    """The server, and its counts of one command."""

    def __init__(self, b):
        self.b = b
        self.server = request_counts.Server(("127.0.0.1", 0), request_counts.Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        b.env.update(AWS_ENDPOINT_URL=self.url, AWS_NO_SIGN_REQUEST="1", AWS_REGION="us-east-1", H5BUCKET_ALLOW="s3://bucket",
                     **request_counts.PATIENT)
        for name in os.listdir(b.files):
            if os.path.getsize(os.path.join(b.files, name)) < 100 << 20:
                request_counts.OBJECTS["data/" + name] = open(os.path.join(b.files, name), "rb").read()

    def run(self, *command, env=None, delay=0.0, gate=None):
        """The results of Bench.run(); seen() is of this command."""
        request_counts.Handler.log, request_counts.Handler.sent, request_counts.Handler.delay = [], 0, delay
        request_counts.Handler.gate = gate
        result = self.b.run(*command, env=env)
        self.server.settle()
        return result

    def load(self, *args, env=None, delay=0.0, gate=None):
        return self.run(self.b.o.tool, "load", *args, env=env, delay=delay, gate=gate)

    def load_in_waves(self, *args):
        """The results of load() without the output, and how many requests waited on one another."""
        request_counts.Handler.delay, request_counts.Handler.gate = 0.0, None
        done, waves = request_counts.run((self.b.o.tool, "load", *args), self.b.env, self.server, True, cwd=self.b.files)
        return done.returncode, waves, done.stderr.decode(errors="replace")

    def seen(self):
        return request_counts.Handler.log, request_counts.Handler.sent


def metadata(b):
    """Groups and chunk indexes at the end of the file and all over it: few round trips, and a small part of the file."""
    for name, most, chain, share in (("late-old.h5", 300, 24, 0.25), ("late-new.h5", 150, 24, 0.25)):
        size = len(request_counts.OBJECTS["data/" + name])
        rc, waves, err = b.remote.load_in_waves("--link", f"s3://bucket/data/{name}", b.domain("remote-" + name))
        log, sent = b.remote.seen()
        keys = {entry[1] for entry in log}
        kinds = {entry[0] for entry in log}
        check(f"link {name} in S3: {len(log)} GETs, {most} at most; {waves} wait on one another, {chain}; {sent / size:.2f} of its bytes, {share}",
              rc == 0 and len(log) <= most and waves <= chain and sent <= size * share and kinds == {"GET"} and keys == {f"data/{name}"},
              err + str(log[:3]))
        got = b.values("remote-" + name, "/d", "-s", "32767990", "-c", "9", domain=True)
        check(f"{name}: the last chunk's values", got == [str(1999 % 251)] * 9, got)
        got = b.values("remote-" + name, "/g149/d3", "-s", "2498", "-c", "2", domain=True)
        check(f"{name}: the last dataset's values", got == ["1499998", "1499999"], got)
    rc, _, err = b.remote.load("--nodata", "s3://bucket/data/plain.h5", b.domain("remote-plain.h5"))
    log, sent = b.remote.seen()
    check(f"a small file is one GET: {len(log)}", rc == 0 and [entry[0] for entry in log] == ["GET"], err + str(log))


def copying(b):
    """By copy the chunks are read many at a time, each once."""
    name = "late-new.h5"
    size = len(request_counts.OBJECTS["data/" + name])
    rc, waves, err = b.remote.load_in_waves(f"s3://bucket/data/{name}", b.domain("copied.h5"))
    log, sent = b.remote.seen()
    check(f"copy {name}: {len(log)} GETs, {sent / size:.2f} of its bytes, {waves} wait on one another",
          rc == 0 and sent <= size * 1.6 and waves < len(log) / 2, err)
    rc, out, err = b.verify("copied.h5", "--deep")
    check("copied: whole", rc == 0, out + err)
    got = b.values("copied.h5", "/d", "-s", "32767990", "-c", "9", domain=True)
    check("copied: the last chunk's values", got == [str(1999 % 251)] * 9, got)


def gathered(b):
    """Each file is one GET, and the next ones are on their way while one is worked on."""
    names = [f"s3://bucket/data/many{k:05d}.h5" for k in range(12)]
    for jobs, at_once in (("8", 8), ("1", 1)):
        rc, _, err = b.remote.load("--link", "--jobs", jobs, "--extend", "0", *names, b.domain(f"gathered{jobs}.h5"), delay=0.3,
                                   gate=request_counts.Gate(at_once))
        log, _ = b.remote.seen()
        times = sorted((begin, end) for _, _, begin, end in log)[1:]  # the first file is opened before the others are requested
        together = sum(begin < min(end for _, end in times) for begin, _ in times)
        check(f"12 files, {jobs} ahead: {len(log)} GETs, {together} of them at once", rc == 0 and len(log) == 12 and at_once <= together <= at_once + 1, err)
        got = b.values(f"gathered{jobs}.h5", "/v", "-s", "115,1999", "-c", "1,1", domain=True)
        check("a value of the last file", got == [str(11 * 100 + 59)], got)


def flattened(b):
    """--flatten-vds: the virtual dataset and its sources are all in S3."""
    rc, _, err = b.remote.load("--link", "--flatten-vds", "s3://bucket/data/virtual.h5", b.domain("remote-flat.h5"))
    check("only what isn't aligned stays virtual", rc == 0 and sorted(re.findall(r"(\S+): stays virtual", err)) == ["/combed", "/shifted"], err)
    rows = ("-s", "0,4990", "-c", "16,20")
    for name, cut in (("/rows", rows), ("/numbered", rows), ("/grown", ("-s", "0,4990", "-c", "4,20")), ("/times", ())):
        want, got = b.values("virtual.h5", name, *cut), b.values("remote-flat.h5", name, *cut, domain=True)
        check(f"{name} has the files' values, out of S3", want == got and len(want) >= 16, (want, got))
        rc, out, err = b.run(b.o.tool, "stat", "--json", b.domain("remote-flat.h5"), name)
        check(f"{name} is linked", "H5D_CHUNKED_REF_INDIRECT" in out, out + err)


def external(b):
    """Raw data beside the file in S3; pieces of a family."""
    for source, target, driver in (("external.h5", "remote-external.h5", ()), ("family%04d.h5", "remote-family.h5", ("-f", "family")),
                                   ("split", "remote-split.h5", ("-f", "split")), ("multi", "remote-multi.h5", ("-f", "multi"))):
        for mode in ((), ("--link",)):
            rc, _, err = b.remote.load("--force", *mode, f"s3://bucket/data/{source}", b.domain(target))
            check(f"{' '.join(mode)} {source} in S3", rc == 0, err)
            b.same(f"{' '.join(mode)} {source} in S3 dumps alike", source, target, *driver)


def unclean(b):
    """A key that no reference may name is refused while the domain is made, not while it is read."""
    for key in ("data//twice.h5", "data/./dot.h5"):
        request_counts.OBJECTS[key] = request_counts.OBJECTS["data/plain.h5"]
        rc, _, err = b.remote.load("--link", f"s3://bucket/{key}", b.domain("unclean.h5"))
        check(f"{key} isn't linked", rc == 1 and "empty, \".\" or \"..\" components" in err and not os.path.exists(b.domain("unclean.h5")), err)


def verified(b, domain, writers):
    """verify reports a snapshot that is out of date, broken, wrong or gone, and makes it again; cp keeps one,
    mv moves it."""
    objects = request_counts.OBJECTS

    def verify(name, state, good, *args):
        rc, out, err = b.run(b.o.tool, "verify", "--json", *args, name, env=writers)
        shown = json.loads(out)[0] if out else {}
        check(f"verify {' '.join(args)}: snapshot {state}", shown.get("snapshot") == state and (rc == 0) == good, out[-600:] + err)

    half = json.loads(objects["snap.h5/.domain.json"])["root"][2:19]
    key, groups = f"db/{half}/.h5bucket-snapshot", [k for k in objects if k.startswith(f"db/{half}/g/")]
    verify(domain, "current", True)
    verify(domain, "current", True, "--deep")
    whole = objects[key]
    objects[groups[0]] = objects[groups[0]].replace(b'"lastModified": ', b'"lastModified":  ').replace(b'"lastModified":1', b'"lastModified": 1')
    verify(domain, "outdated", True)
    verify(domain, "made", True, "--repair")
    verify(domain, "current", True)
    head, _, packed = objects[key].partition(b"\n")
    text = zlib.decompress(packed)
    objects[key] = head + b"\n" + zlib.compress(text.replace(b'"H5L_TYPE_HARD"', b'"H5L_TYPE_SOFT"', 1))
    verify(domain, "current", True)
    verify(domain, "malformed", False, "--deep")
    verify(domain, "made", True, "--deep", "--repair")
    verify(domain, "current", True, "--deep")
    for broken, state in ((whole[:-50], "malformed"), (None, "missing")):
        del objects[key]
        if broken:
            objects[key] = broken
        verify(domain, state, False)
        verify(domain, "made", True, "--repair")
    for verb, name in (("cp", "copy.h5"), ("mv", "moved.h5")):
        rc, _, err = b.run(b.o.tool, verb, domain if verb == "cp" else "s3://bucket/copy.h5", f"s3://bucket/{name}", env=writers)
        check(f"{verb} of a domain with a snapshot", rc == 0 and not err, err)
        verify(f"s3://bucket/{name}", "current", True, "--deep")
    rc, _, err = b.run(b.o.tool, "acl", "s3://bucket/moved.h5", "+ru", "ted", env=writers)
    check("acl", rc == 0, err)
    verify("s3://bucket/moved.h5", "current", True)
    half = json.loads(objects["moved.h5/.domain.json"])["root"][2:19]
    rc, _, err = b.run(b.o.tool, "snapshot", "--remove", "s3://bucket/moved.h5", env=writers)
    check("snapshot --remove", rc == 0 and b"h5snapshot" not in objects["moved.h5/.domain.json"], err)
    verify("s3://bucket/moved.h5", "none", True)


def snapshots(b):
    """A domain of many objects in a bucket gets a snapshot: nothing is read again for it, and walking through takes few requests."""
    domain, writers = "s3://bucket/snap.h5", {"H5BUCKET_WRITERS": "one"}
    ours = {"HDF5_VOL_CONNECTOR": "bucket", **({"LD_PRELOAD": os.environ["BKT_PRELOAD"]} if os.environ.get("BKT_PRELOAD") else {})}

    def load(*args):
        rc, _, err = b.remote.load("--link", *args, env=writers)
        log, _ = b.remote.seen()
        check(f"load {' '.join(args)}", rc == 0 and not err, err)
        return [e[1] for e in log if e[0] == "PUT" and "snapshot" in e[1]], [e[1] for e in log if e[0] == "GET" and e[1].startswith("db/")]

    def walk():
        rc, out, err = b.remote.run(os.path.join(b.o.bin, "h5ls"), "-r", "hsds+" + domain, env=ours)
        check("h5ls -r", rc == 0, err)
        return out.splitlines(), [entry[0] for entry in b.remote.seen()[0]]

    stored, read = load("s3://bucket/data/late-new.h5", domain)
    check(f"one snapshot is stored, no object read again: {len(stored)}, {read[:3]}", len(stored) == 1 and not read)
    lines, asked = walk()  # of the GETs one is for a plain file of that name
    check(f"{len(lines)} lines of h5ls -r with {asked.count('GET')} GETs", len(lines) > 700 and asked.count("GET") == 4 and asked.count("LIST") <= 2)
    stored, read = load("-a", "s3://bucket/data/plain.h5", domain)
    check(f"an append makes it again, out of itself and what is new: {len(read)} GETs", len(stored) == 1 and len(read) < 20, read)
    verified(b, domain, writers)
    more, asked = walk()
    check(f"{len(more)} lines now, with {asked.count('GET')} GETs", len(more) > len(lines) and asked.count("GET") == 4)
    stored, _ = load("--force", "--no-snapshot", "s3://bucket/data/late-new.h5", domain)
    plain, asked = walk()
    check("--no-snapshot leaves none, nor a word of one", not stored and plain == lines and asked.count("GET") > 700 and not asked.count("LIST"))
    stored, _ = load("s3://bucket/data/plain.h5", "s3://bucket/small.h5")
    check("a small domain has none", not stored)


def progress(b):
    """Without a terminal: a plain line each 5 seconds, whole lines only."""
    rc, _, err = b.remote.load("--nodata", "s3://bucket/data/late-old.h5", b.domain("slow.h5"), delay=0.8)
    lines = re.findall(r"^.*slow\.h5: \d+ objects, \d+ chunks, [\d.]+ MB, [\d.]+ MB/s$", b.said, re.M)
    good = rc == 0 and not err and len(lines) >= 1 and "\r" not in b.said and "\033" not in b.said
    check("a slow load reports now and then how far it is", good, b.said)


def https(b):
    """A plain web server: read in place by ranges, checked by the ETag."""
    place = os.path.join(b.root, "proxy")
    start = subprocess.run([os.path.join(HERE, "..", "..", "s3", "faultproxy.sh"), "start", place, b.root], capture_output=True, text=True)
    if start.returncode:
        print("      not tried: https://; " + (start.stdout + start.stderr).strip())
        return
    try:
        env = dict(re.findall(r"export (\w+)=(\S+)", open(os.path.join(place, "env")).read()))
        url = env["BKT_PROXY_TLS"]
        b.env.update(AWS_CA_BUNDLE=env["BKT_PROXY_CA"], H5BUCKET_ALLOW=url)
        for source, driver in (("plain.h5", ()), ("external.h5", ()), ("family%04d.h5", ("-f", "family"))):
            for mode in ((), ("--link",)):
                target = f"https{len(mode)}-{source.replace('%', '')}"
                rc, _, err = b.load(*mode, f"{url}/files/{source}", b.domain(target))
                check(f"{' '.join(mode)} https://…/{source}", rc == 0, err)
                b.same(f"{target} dumps alike", source, target, *driver)
        rc, _, err = b.load("--link", f"{url}/files/nothing.h5", b.domain("https-nothing.h5"))
        check("a file that isn't there is reported", rc == 1 and "nothing.h5" in err and not os.path.exists(b.domain("https-nothing.h5")), err)
        plain = env["BKT_PROXY"]
        b.env["H5BUCKET_ALLOW"] = plain
        for retries, good in (("0", False), ("4", True)):
            subprocess.run(["curl", "-sf", "-o", "/dev/null", f"{plain}/__fault?next503=2"], check=True)
            rc, _, err = b.load("--retries", retries, "--link", f"{plain}/files/plain.h5", b.domain(f"retried{retries}.h5"))
            check(f"--retries {retries}: two 503s are {'got over' if good else 'the end'}", (rc == 0) == good, err)
            subprocess.run(["curl", "-sf", "-o", "/dev/null", f"{plain}/__fault?clear=1"], check=True)
        b.env.pop("AWS_CA_BUNDLE")
        rc, _, err = b.load("--link", f"{url}/files/plain.h5", b.domain("https-unknown.h5"))
        check("a certificate that nobody knows is refused", rc == 1 and not os.path.exists(b.domain("https-unknown.h5")), err)
    finally:
        subprocess.run([os.path.join(HERE, "..", "..", "s3", "faultproxy.sh"), "stop", place], check=False)


def prepare(b):
    for command in ((b.o.forms, b.files), (b.o.forms, b.files, "late"), (b.o.make, b.files, "40")):
        rc, _, err = b.run(*command)
        check("more files are made", rc == 0, err)
    b.remote = Remote(b)


if __name__ == "__main__":
    sys.exit(run_parts((metadata, copying, gathered, flattened, external, unclean, snapshots, progress, https), more=("forms",), prepare=prepare))
