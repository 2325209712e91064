#!/usr/bin/env python3
"""write_counts.py: the number of requests for writing, counted by the server, exactly.

    write_counts.py --plugin DIR --write PROGRAM

A small S3 server (GET, HEAD, PUT with conditions, DELETE, list of one bucket) counts its requests.  Standard
library only.
"""
import argparse
import collections
import hashlib
import html
import http.server
import os
import re
import subprocess
import sys
import threading
import urllib.parse
import xml.sax.saxutils

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from request_counts import PATIENT, Server  # noqa: E402

OBJECTS, LOG, LOCK = {}, [], threading.Lock()
HOLD = None  # (expression, event, expression): PUTs of keys that the first finds are answered after one that the last finds
GATES = []  # (method, expression, barrier): requests of keys that it finds are answered once so many came
REFUSE = False  # DELETE of anything but the probe is answered 403
CHUNK = 65536 * 4


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code):
        self.answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode(),
                    [("Content-Type", "application/xml")])

    def list(self, query):
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        keys, prefixes = [], set()
        for key in sorted(OBJECTS):
            if key.startswith(prefix):
                cut = key.find(delimiter, len(prefix)) if delimiter else -1
                if cut >= 0:
                    prefixes.add(key[:cut + 1])
                else:
                    keys.append(key)
        text = "".join(f"<Contents><Key>{xml.sax.saxutils.escape(k)}</Key><Size>{len(OBJECTS[k])}</Size>"
                       f"<ETag>&quot;{hashlib.md5(OBJECTS[k]).hexdigest()}&quot;</ETag></Contents>" for k in keys)
        text += "".join(f"<CommonPrefixes><Prefix>{p}</Prefix></CommonPrefixes>" for p in sorted(prefixes))
        self.answer(200, f"<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated>{text}</ListBucketResult>".encode(),
                    [("Content-Type", "application/xml")])

    def delete_many(self, body):
        """DeleteObjects; a key that may not be deleted is named in the answer."""
        keys = [html.unescape(key) for key in re.findall(r"<Key>(.*?)</Key>", body.decode())]
        text = "".join(f"<Error><Key>{xml.sax.saxutils.escape(key)}</Key><Code>AccessDenied</Code></Error>" for key in keys) if REFUSE else ""
        with LOCK:
            LOG.append(("DELETE", "?delete", len(body), keys))
            for key in keys if not REFUSE else ():
                OBJECTS.pop(key, None)
        self.answer(200, f"<DeleteResult>{text}</DeleteResult>".encode(), [("Content-Type", "application/xml")])

    def serve(self):
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path.removeprefix("/bucket").removeprefix("/"))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command == "POST" and query == "delete=":
            return self.delete_many(body)
        held = HOLD if self.command == "PUT" else None
        if held and re.search(held[0], key):
            held[1].wait(250)
        asked = {self.command: key} if key else {self.command: "", "LIST": urllib.parse.parse_qs(query).get("prefix", [""])[0]}
        for method, what, barrier in GATES:
            if method in asked and re.search(what, asked[method]):
                barrier.wait(250)
        with LOCK:
            LOG.append((self.command if key else "LIST", key, len(body), [key]))
            if held and re.search(held[2], key):
                held[1].set()
            have = OBJECTS.get(key)
            etag = f'"{hashlib.md5(have).hexdigest()}"' if have is not None else None
            match, none = self.headers.get("If-Match"), self.headers.get("If-None-Match")
            if self.command in ("PUT", "DELETE"):
                if none == "*" and have is not None or match and (etag is None or match.strip('"') != etag.strip('"')):
                    return self.error(412, "PreconditionFailed")
                if self.command == "DELETE" and REFUSE and not key.startswith(".h5bucket/probe-"):
                    return self.error(403, "AccessDenied")
                if self.command == "DELETE":
                    OBJECTS.pop(key, None)
                    return self.answer(204)
                OBJECTS[key] = body
                return self.answer(200, headers=[("ETag", f'"{hashlib.md5(body).hexdigest()}"')])
        if not key:
            return self.list(urllib.parse.parse_qs(query))
        if have is None:
            return self.error(404, "NoSuchKey")
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not span:
            return self.answer(200, have, [("ETag", etag)])
        first, last = int(span[1]), min(int(span[2] or len(have) - 1), len(have) - 1)
        return self.answer(206, have[first:last + 1], [("Content-Range", f"bytes {first}-{last}/{len(have)}"), ("ETag", etag)])

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = serve


class Tests:
    def __init__(self, args, server):
        self.args, self.failed, self.server, self.said = args, 0, server, b""
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HDF5_", "H5BUCKET_", "HS_"))}
        self.env.update(HDF5_PLUGIN_PATH=args.plugin, HDF5_VOL_CONNECTOR="bucket", H5BUCKET_STATS="1", AWS_ACCESS_KEY_ID="a",
                        AWS_SECRET_ACCESS_KEY="b", AWS_ENDPOINT_URL=f"http://127.0.0.1:{server.server_address[1]}",
                        AWS_REGION="us-east-1", **PATIENT)
        if os.environ.get("BKT_PRELOAD"):
            self.env["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]

    def check(self, ok, text):
        print(("ok   " if ok else "FAIL ") + text)
        self.failed += not ok

    def start(self, way, n, there=None, **more):
        OBJECTS.clear()
        OBJECTS.update(there or {})
        LOG.clear()
        done = subprocess.run([self.args.write, f"s3://bucket/{way}.h5", way.rsplit("/", 1)[-1], str(n)], env={**self.env, **more},
                              capture_output=True, timeout=600)
        self.server.settle()
        return done

    def run(self, way, n, there=None, **more):
        done = self.start(way, n, there, **more)
        # how the store answers conditions is found out once per process and bucket, which the connector doesn't count
        probe = [entry for entry in LOG if entry[1].startswith(".h5bucket/probe-")]
        self.check(len(probe) == 7, f"{way}: the store is tried out with {len(probe)} requests, 7 wanted")
        log = [entry for entry in LOG if entry not in probe]
        stats = re.search(rb"h5bucket: GET (\d+) HEAD (\d+) PUT (\d+) DELETE (\d+) LIST (\d+)", done.stderr)
        if done.returncode or not stats:
            self.check(False, f"{way} gave {done.returncode}: {done.stderr.decode()[-600:]}")
            return []
        self.said = done.stdout
        counts = collections.Counter(entry[0] for entry in log)
        print(f"     {way}: " + " ".join(f"{op} {counts[op]}" for op in sorted(counts)))
        for number, op in enumerate(("GET", "HEAD", "PUT", "DELETE", "LIST"), 1):
            self.check(int(stats[number]) == counts[op], f"{way}: the connector counts {int(stats[number])} {op}, the server {counts[op]}")
        return log

    def objects_once(self, way, n, puts):
        """A new domain: each object is stored once, and no object is requested that can't exist."""
        log = self.run(way, n)
        keys = collections.Counter(entry[1] for entry in log if entry[0] == "PUT")
        twice = [key for key, times in keys.items() if times > 1]
        self.check(sum(keys.values()) == puts, f"{way}: {sum(keys.values())} PUTs, {puts} wanted")
        self.check(not twice, f"{way}: nothing is stored twice {twice[:3]}")
        others = sorted(entry[:2] for entry in log if entry[0] != "PUT")
        self.check(others == [("GET", f"{way}.h5/.domain.json"), ("LIST", "")],
                   f"{way}: all else is one look for the domain, and for what is below it: {others[:4]}")

    def beside(self, way, n):
        """New objects don't wait for their chunks, the document of a new domain waits for all: three waves of requests."""
        global HOLD
        came = threading.Event()
        HOLD = (r"/\d+$", came, r"\.dataset\.json$")
        log = self.run(way, n, H5BUCKET_TEST="hedge=0,write_cache=" + ("1M" if way == "large" else "64M"))
        HOLD = None
        self.check(came.is_set() and log and log[-1][1].endswith("/.domain.json"),
                   f"{way}: the dataset is stored while its chunks are under way, the document comes last")
        held = [i for i, entry in enumerate(log) if entry[0] == "PUT" and re.search(r"/\d+$", entry[1])]
        first = min((i for i, entry in enumerate(log) if entry[1].endswith(".dataset.json")), default=len(log))
        self.check(held and first < held[0], f"{way}: no chunk had to be answered before that")

    def bounded(self, way, mib):
        """Data written in pieces stay in memory as far as the settings allow, and only the chunks are PUT."""
        log = self.run(way, mib, H5BUCKET_TEST="hedge=0,write_cache=16M,in_flight=16M")
        memory = int(self.said or 0)
        puts = [entry for entry in log if entry[0] == "PUT"]
        chunks = [entry for entry in puts if re.search(r"/\d+$", entry[1])]
        self.check(len(chunks) == mib and len(puts) == mib + 3, f"{way}: {len(chunks)} chunks and {len(puts) - len(chunks)} others")
        if not os.environ.get("BKT_PRELOAD"):  # a sanitizer takes memory of its own
            self.check(0 < memory <= 16 + 160, f"{way}: {memory} MiB of memory at most, for {mib} MiB")

    def append(self, rows):
        """A flush every 100 rows stores the chunks that changed, and the dataset for its extent: little more than the rows."""
        log = self.run("append", rows)
        puts = [entry for entry in log if entry[0] == "PUT"]
        sent, chunks = sum(entry[2] for entry in puts), sum(entry[2] for entry in puts if re.search(r"/\d+$", entry[1]))
        # between two flushes 400 KiB are written, into 2 or 3 chunks of 256 KiB of which the first was partly there before
        touched = sum((end * 4096 - 1) // CHUNK - (end - 100) * 4096 // CHUNK + 1 for end in range(100, rows + 1, 100)) * CHUNK
        self.check(chunks == touched, f"append: {chunks} bytes of chunks are sent, {touched} were dirty")
        self.check(sent <= 1.01 * touched, f"append: {sent} bytes are sent in all, a hundredth more at most")
        gets = [entry for entry in log if entry[0] == "GET" and re.search(r"/\d+$", entry[1])]
        self.check(not gets, f"append: no chunk is read back ({len(gets)})")

    def refused(self, n):
        """A store that refuses to delete: each object is tried once, one flush reports that, and the work
        goes on."""
        global REFUSE
        REFUSE = True
        log = self.run("refused", n)
        REFUSE = False
        tried = collections.Counter(key for entry in log if entry[0] == "DELETE" for key in entry[3])
        self.check(sum(entry[0] == "DELETE" for entry in log) == 1, f"refused: {n} objects in one request")
        self.check(len(tried) == n and set(tried.values()) == {1}, f"refused: {len(tried)} of {n} objects were to be deleted, once each")
        self.check(any(b'"after"' in body for key, body in OBJECTS.items() if key.endswith("/.group.json")), "refused: what came after is stored")

    def emptied(self, n):
        """A group with n datasets is removed: they are examined side by side, listed side by side, and
        deleted with one request.  Two lists before that show that no other writer has changed a group, so no
        group is read for that.  One list shows that HSDS keeps no derived objects."""
        self.run("filled", n)
        there = {key.replace("filled.h5", "emptied.h5"): body for key, body in OBJECTS.items()}
        GATES[:] = [("GET", r"\.dataset\.json$", threading.Barrier(n)), ("LIST", "/d/", threading.Barrier(n))]
        log = self.run("emptied", n, there)
        GATES.clear()
        counts = collections.Counter(entry[0] if entry[0] != "GET" else entry[1].rsplit("/", 1)[-1] for entry in log)
        self.check(counts[".dataset.json"] == n and counts["LIST"] == n + 3 and counts[".group.json"] == 3 and counts["DELETE"] == 1 and
                   counts["PUT"] == 1, f"emptied: {dict(counts)}")
        left = sorted(key.rsplit("/", 1)[-1] for key in OBJECTS)
        self.check(left == [".domain.json", ".group.json"], f"emptied: what is left: {left[:9]}")

    def external(self, n):
        """Raw files are looked at once in an open file, all at the same time."""
        GATES[:] = [("HEAD", "^raw", threading.Barrier(n))]
        log = self.run("external", n, {f"raw{i}": i.to_bytes(4, "little") for i in range(n)})
        GATES.clear()
        heads = collections.Counter(entry[1] for entry in log if entry[0] == "HEAD")
        self.check(len(heads) == n and set(heads.values()) == {1}, f"external: {sum(heads.values())} HEADs, {n} wanted")

    def deep(self, n):
        """Groups and folders that are missing on the way: the folders above are looked for at once, and
        groups are stored at once.  Folders are stored one after the other, so that a killed writer leaves
        none without those above it."""
        GATES[:] = [("GET", r"\.domain\.json$|^$", threading.Barrier(5)), ("PUT", r"\.group\.json$", threading.Barrier(n + 1))]
        log = self.run("f1/f2/f3/deep", n)
        GATES.clear()
        counts = collections.Counter((entry[0], entry[1].rsplit("/", 1)[-1]) for entry in log)
        self.check(counts == {("GET", ".domain.json"): 4, ("LIST", ""): 1, ("PUT", ".group.json"): n + 1, ("PUT", ".domain.json"): 4},
                   f"deep: {dict(counts)}")
        docs = [entry[1] for entry in log if entry[0] == "PUT" and entry[1].endswith("/.domain.json")]
        self.check(docs == [f"{path}/.domain.json" for path in ("f1", "f1/f2", "f1/f2/f3", "f1/f2/f3/deep.h5")], f"deep: stored as {docs}")

    def below(self, n):
        """No domain is made over keys that belong to no domain, as in a directory: they would come to lie
        below one."""
        for key, free in (("groups.h5/data/x", False), ("groups.h5/sub.h5/.domain.json", False), ("groups.h5/", True),
                          ("groups.h5/.h5bucket-load", True), ("groups.h5x/data", True)):
            done = self.start("groups", n, {key: b"{}"})
            text = done.stderr.decode()
            self.check((done.returncode == 0) == free, f"below: {key} {'lets' if free else 'keeps'} groups.h5 be{'' if free else ' from being'} made")
            self.check(free or "it is not empty (" in text, f"below: {'' if free else text[-200:]}")
            left = {key for key in OBJECTS if not key.startswith(".h5bucket/")}
            self.check(key in left and (free or len(left) == 1), f"below: {sorted(left)[:4]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--write", required=True, help="the program write_counts")
    args = parser.parse_args()
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tests = Tests(args, server)
    # besides those in the table: the root group and .domain.json
    tests.objects_once("groups", 10000, 10000 + 2)
    tests.objects_once("attributes", 10000, 2)
    tests.objects_once("datasets", 200, 200 + 200 + 2)
    tests.objects_once("chunks", 16, 16 + 1 + 2)
    tests.objects_once("partial", 16, 16 + 1 + 2)
    tests.objects_once("deflate", 16, 16 + 1 + 2)
    tests.objects_once("large", 160, 160 + 1 + 2)
    tests.bounded("bulk", 256)
    tests.bounded("bulk_deflate", 256)
    tests.beside("chunks", 16)
    tests.beside("large", 32)
    tests.append(1000)
    tests.refused(20)
    tests.emptied(30)
    tests.external(8)
    tests.deep(5)
    tests.below(3)
    server.shutdown()
    sys.exit(tests.failed != 0)


if __name__ == "__main__":
    main()
