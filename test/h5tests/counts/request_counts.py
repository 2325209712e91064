#!/usr/bin/env python3
"""request_counts.py: the number of requests for reading, counted by the server, exactly.

    request_counts.py --bin DIR --plugin DIR --tool H5BUCKET --read PROGRAM --pattern PROGRAM

A small S3 server (GET, HEAD and list of one public bucket) counts its requests, and how many requests wait on
one another's answers (request_waves.py).  The domains are made here.  The connector's own counts (H5BUCKET_STATS)
must agree with the server's.  Standard library only.
"""
import argparse
import array
import collections
import html
import http.server
import json
import os
import re
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse

import request_waves as waves

OBJECTS = {}
CHUNKS, GROUPS = 256, 1000
STEP_CHUNKS = 64  # of 256 KiB
TILES, TILE, TINY, VARIABLES, ROWS = 8, 256, 400, 60, 300  # of the domains read by --pattern
# While requests are counted, none is sent again because of a busy machine.
PATIENT = {"H5BUCKET_TEST": "hedge=0", "H5BUCKET_DEADLINE_MS": "7200000"}


# --- domains --------------------------------------------------------------------------------------------------------
def put(key, value):
    OBJECTS[key] = value if isinstance(value, bytes) else json.dumps(value).encode()


class Domain:
    """A domain with v2 ids, as HSDS would store it."""

    def __init__(self, path, number):
        self.half = f"{number:08x}-{number:08x}"
        rotated = "".join(f"{(int(c, 16) + 8) % 16:x}" for c in self.half.replace("-", ""))
        self.root = f"g-{self.half}-{rotated[:4]}-{rotated[4:10]}-{rotated[10:]}"
        self.groups, self.count = {self.root: {}}, 0
        put(path + "/.domain.json", {"root": self.root, "owner": "test", "acls": {"default": {"read": True}},
                                     "created": 1.0, "lastModified": 1.0})

    def new_id(self, letter):
        self.count += 1
        return f"{letter}-{self.half}-aaaa-000000-{self.count:06x}"

    def link(self, parent, name, target):
        self.groups[parent][name] = {"id": target, "class": "H5L_TYPE_HARD", "created": float(self.count + 1)}

    def group(self, parent, name):
        ident = self.new_id("g")
        self.groups[ident] = {}
        self.link(parent, name, ident)
        return ident

    def dataset(self, parent, name, dims, chunk, value=None, layout=None, kind=None, ident=None):
        ident = ident or self.new_id("d")
        key = f"db/{self.half}/d/{ident[20:]}"
        put(key + "/.dataset.json", {
            "id": ident, "root": self.root, "created": 1.0, "lastModified": 1.0, "attributes": {},
            "type": kind or {"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}, "shape": {"class": "H5S_SIMPLE", "dims": dims},
            "layout": {"class": "H5D_CHUNKED", "dims": chunk},
            "creationProperties": {"layout": layout or {"class": "H5D_CHUNKED", "dims": chunk}}})
        if value:
            elements = 1
            for n in chunk:
                elements *= n
            for i in range(-(-dims[0] // chunk[0])):
                index = "_".join([str(i)] + ["0"] * (len(dims) - 1))
                put(f"{key}/{index}", array.array("i", range(i * elements, (i + 1) * elements)).tobytes())
        if parent:
            self.link(parent, name, ident)
        return ident

    def finish(self):
        for ident, links in self.groups.items():
            key = f"db/{self.half}/.group.json" if ident == self.root else f"db/{self.half}/g/{ident[20:]}/.group.json"
            put(key, {"id": ident, "root": self.root, "created": 1.0, "lastModified": 1.0, "links": links, "attributes": {}})


def make_pattern_domains():
    """The data that bench/programs/h5read.c reads: references into one file, many small things, a large chunk table."""
    number = {"class": "H5T_FLOAT", "base": "H5T_IEEE_F32LE"}
    put("data/field.bin", array.array("f", range(TILES * TILES * TILE * TILE)).tobytes())
    field, size = Domain("field.h5", 5), TILE * TILE * 4
    field.dataset(field.root, "field", [TILES * TILE] * 2, [TILE] * 2, kind=number, layout={
        "class": "H5D_CHUNKED_REF", "file_uri": "bucket/data/field.bin", "dims": [TILE] * 2,
        "chunks": {f"{i // TILES}_{i % TILES}": [i * size, size] for i in range(TILES * TILES)}})
    field.finish()
    for name, referred in (("tiny.h5", False), ("tiny_ref.h5", True)):
        tiny, blob = Domain(name, 6 + referred), bytearray()
        group = tiny.group(tiny.root, "t")
        for i in range(TINY):
            blob += b"\0" * 500
            ident = tiny.dataset(group, f"d{i:05}", [16], [16], kind=number, layout=None if not referred else {
                "class": "H5D_CONTIGUOUS_REF", "file_uri": "bucket/data/tiny.bin", "offset": len(blob), "size": 64})
            values = array.array("f", [i + k / 16 for k in range(16)]).tobytes()
            if referred:
                blob += values
            else:
                put(f"db/{tiny.half}/d/{ident[20:]}/0", values)
        if referred:
            put("data/tiny.bin", bytes(blob))
        tiny.finish()
    steps = Domain("steps.h5", 11)
    ident = steps.dataset(steps.root, "x", [STEP_CHUNKS * 256, 256], [256, 256], kind=number)
    for i in range(STEP_CHUNKS):
        put(f"db/{steps.half}/d/{ident[20:]}/{i}_0", array.array("f", range(i, i + 65536)).tobytes())
    steps.finish()
    variables = Domain("vars.h5", 8)
    for i in range(VARIABLES):
        variables.dataset(variables.root, f"var{i:02}", [4], [4])
    variables.finish()
    make_table("table.h5", 9, ROWS)
    make_table("small_table.h5", 12, 40)


def make_table(name, number, rows_each):
    """A dataset of rows_each x rows_each chunks, found by a table of one chunk."""
    real = {"class": "H5T_FLOAT", "base": "H5T_IEEE_F32LE"}
    table = Domain(name, number)
    rows = table.new_id("d")
    row = {"class": "H5T_COMPOUND", "fields": [{"name": "o", "type": "H5T_STD_I64LE"}, {"name": "s", "type": "H5T_STD_I32LE"}]}
    table.dataset(None, None, [rows_each] * 2, [rows_each] * 2, kind=row, ident=rows)
    put(f"db/{table.half}/d/{rows[20:]}/0_0",
        b"".join((i * 400).to_bytes(8, "little") + (400).to_bytes(4, "little") for i in range(rows_each * rows_each)))
    table.dataset(table.root, "field", [10 * rows_each] * 2, [10, 10], kind=real, layout={
        "class": "H5D_CHUNKED_REF_INDIRECT", "file_uri": "bucket/data/absent.bin", "dims": [10, 10], "chunk_table": rows})
    table.finish()


def make_domains():
    one = Domain("one.h5", 1)
    one.dataset(one.root, "x", [8], [8], True)
    one.finish()
    own = Domain("own.h5", 10)
    own.dataset(own.root, "x", [8], [8], True)
    own.finish()
    document = json.loads(OBJECTS["own.h5/.domain.json"])
    put("own.h5/.domain.json", {**document, "h5first": [own.groups[own.root]["x"]["id"]]})
    many = Domain("many.h5", 2)
    many.dataset(many.root, "x", [CHUNKS * 16], [16], True)
    many.dataset(many.root, "empty", [64], [8])
    many.finish()
    tree = Domain("tree.h5", 3)
    for i in range(GROUPS // 10 - 1):
        parent = tree.group(tree.root, f"g{i:03}")
        for k in range(9):
            tree.group(parent, f"h{k}")
    for i in range(GROUPS - len(tree.groups)):
        tree.group(tree.root, f"last{i}")
    tree.finish()
    wide = Domain("wide.h5", 4)
    for i in range(100):
        wide.dataset(wide.root, f"d{i:03}", [4], [4], True)
    wide.finish()
    assert len(tree.groups) == GROUPS


def etag(body):
    return f'"{hash(body) & 0xffffffff:08x}"'


# --- server ---------------------------------------------------------------------------------------------------------
class Gate:
    """Holds back answers, but the first request's, until `count` others are under way: how many a client sends unanswered."""

    def __init__(self, count):
        self.count, self.came, self.change = count, 0, threading.Condition()

    def wait(self):
        with self.change:
            self.came += 1
            self.change.notify_all()
            if self.came > 1:
                self.change.wait_for(lambda: self.came > self.count, 250)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log, lock, delay, sent, gate, waves = [], threading.Lock(), 0.0, 0, None, None
    by_name = []  # requests for a plain file that has the name of a domain: they come beside those for the domain

    def log_message(self, *args):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            with self.lock:
                Handler.sent += len(body)
            self.wfile.write(body)

    def list(self, query):
        """S3's list of keys, 1000 at a time."""
        args = {name: values[0] for name, values in urllib.parse.parse_qs(query).items()}
        after = args.get("continuation-token", args.get("start-after", ""))
        keys = sorted(key for key in OBJECTS if key.startswith(args.get("prefix", "")) and key > after)
        more = len(keys) > 1000
        text = [f"<?xml version='1.0'?><ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>"]
        text += [f"<Contents><Key>{key}</Key><ETag>{html.escape(etag(OBJECTS[key]))}</ETag><Size>{len(OBJECTS[key])}</Size></Contents>"
                 for key in keys[:1000]]
        if more:
            text.append(f"<NextContinuationToken>{keys[999]}</NextContinuationToken>")
        self.answer(200, "".join(text + ["</ListBucketResult>"]).encode(), [("Content-Type", "application/xml")])

    def store(self):
        key = self.path.partition("?")[0].removeprefix("/bucket/")
        put(key, self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            self.log.append((self.command, key, 0, 0))
        self.answer(200, b"", [("ETag", etag(OBJECTS[key]))])

    def serve(self):
        begin = time.monotonic()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))  # unread bytes would be the connection's next request
        if self.gate:
            self.gate.wait()
        if self.waves:
            self.waves.hold()
        time.sleep(self.delay)
        path, _, query = self.path.partition("?")
        if path.rstrip("/") == "/bucket" and "list-type=2" in query:
            with self.lock:
                self.log.append(("LIST", query, begin, time.monotonic()))
            self.list(query)
            return
        key = self.path.partition("?")[0].removeprefix("/bucket/")
        body = OBJECTS.get(key)
        if self.command == "DELETE":  # objects deleted here are requested again by the next scenario
            body = b""
        ended = time.monotonic()  # before the answer leaves: the client's next request is counted as later
        with self.lock:
            self.log.append((self.command, key, begin, ended))
        if body is None:
            self.answer(404, NO_SUCH_KEY, [("Content-Type", "application/xml")])
            return
        if self.command == "DELETE":
            self.answer(204, b"")
            return
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not span:
            self.answer(200, body, [("ETag", etag(body))])
            return
        first, last = int(span[1]), min(int(span[2] or len(body) - 1), len(body) - 1)
        if first >= len(body):
            self.answer(416, b"<Error><Code>InvalidRange</Code></Error>", [("Content-Type", "application/xml")])
            return
        self.answer(206, body[first:last + 1], [("Content-Range", f"bytes {first}-{last}/{len(body)}"),
                                                ("ETag", etag(body))])

    do_GET = do_HEAD = do_DELETE = do_POST = serve
    do_PUT = store


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, *args):
        super().__init__(*args)
        self.open, self.newest, self.change = 0, None, threading.Condition()

    def process_request(self, request, client_address):
        with self.change:
            self.open, self.newest = self.open + 1, client_address
            self.change.notify_all()
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self.change:
                self.open -= 1
                self.change.notify_all()

    def settle(self):
        """All requests of a program that has ended are counted: none is left over for the next program's
        count."""
        with socket.create_connection(self.server_address) as last:  # is accepted after the program's connections
            with self.change:
                self.change.wait_for(lambda: self.newest == last.getsockname())
        with self.change:
            self.change.wait_for(lambda: not self.open)


def longest_chain(log):
    """Most requests of which each began after the one before had ended: exact only where that is all of them."""
    best = []
    for begin, end in sorted((begin, end) for _, _, begin, end in log):
        depth = 1 + max((d for e, d in best if e <= begin), default=0)
        best.append((end, depth))
    return max((d for _, d in best), default=0)


NO_SUCH_KEY = b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>"


def set_apart_names():
    """A name may be a plain file's: the key itself is asked for beside the domain's document."""
    names = [entry for entry in Handler.log if entry[0] == "GET" and entry[1] not in OBJECTS and entry[1] + "/.domain.json" in OBJECTS]
    Handler.by_name = names
    Handler.log = [entry for entry in Handler.log if entry not in names]
    Handler.sent -= len(names) * len(NO_SUCH_KEY)


def run(command, env, server, in_waves=False, **more):
    """subprocess.run(), and the number of waves of requests.  Handler.log and Handler.sent are this program's,
    without the requests for plain files that have a domain's name, which are in Handler.by_name."""
    Handler.log, Handler.sent = [], 0
    Handler.waves = waves.Waves(server.server_address[1]) if in_waves else None
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more) as process:
        if in_waves:
            Handler.waves.follow(process)
        try:
            out, err = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\nended after 300 seconds"
        number = Handler.waves.end() if in_waves else 0
        server.settle()
        Handler.waves = None
        set_apart_names()
        return subprocess.CompletedProcess(command, process.returncode, out, err), number


# --- tests ----------------------------------------------------------------------------------------------------------
class Tests:
    def __init__(self, args, server):
        self.args, self.failed, self.server, self.waves = args, 0, server, 0
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HDF5_", "H5BUCKET_", "HS_"))}
        self.env.update(HDF5_PLUGIN_PATH=args.plugin, HDF5_VOL_CONNECTOR="bucket", H5BUCKET_STATS="1", **PATIENT,
                        AWS_NO_SIGN_REQUEST="1", AWS_REGION="us-east-1",
                        AWS_ENDPOINT_URL=f"http://127.0.0.1:{server.server_address[1]}")
        if os.environ.get("BKT_PRELOAD"):
            self.env["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]

    def run(self, *command, in_waves=False):
        done, self.waves = run(command, self.env, self.server, in_waves)
        log = Handler.log
        stats = re.search(rb"h5bucket: GET (\d+) HEAD (\d+) PUT (\d+) DELETE (\d+) LIST (\d+)", done.stderr)
        if done.returncode or not stats:
            self.check(False, f"{' '.join(command)} gave {done.returncode}: {done.stderr.decode()[-500:]}")
            return log, b""
        gets = sum(entry[0] in ("GET", "LIST") for entry in log) + len(Handler.by_name)
        self.check(len(Handler.by_name) == 1, f"{len(Handler.by_name)} requests for a plain file of the domain's name, 1 wanted")
        self.check(int(stats[1]) + int(stats[5]) == gets, f"the connector counts {stats[0].decode()}, the server {gets} GETs")
        return log, done.stdout

    def check(self, ok, text):
        print(("ok   " if ok else "FAIL ") + text)
        self.failed += not ok

    def only_gets(self, log, what):
        keys = collections.Counter(entry[1] for entry in log)
        twice = [key for key, n in keys.items() if n > 1]
        self.check(all(entry[0] == "GET" for entry in log), f"{what}: no HEAD, no list, nothing but GETs")
        self.check(not twice, f"{what}: no object twice {twice[:3]}")

    def cold_open(self):
        log, _ = self.run(self.args.read, "s3://bucket/one.h5", "x", "first", in_waves=True)
        self.only_gets(log, "cold open and first value")
        self.check(len(log) == 4, f"cold open and first value: {len(log)} GETs, 4 wanted")
        self.check(Handler.sent <= 131072, f"cold open and first value: {Handler.sent} bytes")
        print("       " + " ".join(entry[1] for entry in log))
        # The root's id comes from the domain, a member's from the root group: domain, root, dataset; the
        # chunk waits for the dataset's layout.  With ids that contain their domain no more can be requested
        # at once, so 4 is the minimum.
        self.check(self.waves == 4, f"cold open and first value: {self.waves} wait on one another")
        # A domain of our own writing names the root's members where they are few.
        log, _ = self.run(self.args.read, "s3://bucket/own.h5", "x", "first", in_waves=True)
        self.check(len(log) == 4 and self.waves == 3,
                   f"cold open and first value, members named: {len(log)} GETs in {self.waves} waves, 4 in 3 wanted")

    def whole_dataset(self):
        log, _ = self.run(self.args.read, "s3://bucket/many.h5", "x", "all", in_waves=True)
        self.only_gets(log, "256 chunks")
        chunks = [entry for entry in log if re.search(r"/\d+$", entry[1])]
        self.check(len(chunks) == CHUNKS, f"256 chunks: {len(chunks)} chunk GETs")
        self.check(len(log) == CHUNKS + 3, f"256 chunks: {len(log)} requests in all, 259 wanted")
        # 64 connections at first, later more: 4 waves at most, and a connection may take one more than its share
        self.check(self.waves <= 3 + CHUNKS // 64 + 1, f"256 chunks: {self.waves} wait on one another, at most 8")

    def read_twice(self):
        once, text1 = self.run(self.args.read, "s3://bucket/many.h5", "x", "all")
        twice, text2 = self.run(self.args.read, "s3://bucket/many.h5", "x", "all", "2")
        self.check(text1 != text2 and len(once) == len(twice), f"read a second time: {len(twice) - len(once)} more GETs")
        rows, text = self.run(self.args.read, "s3://bucket/many.h5", "x", "rows")
        self.check(len(rows) == len(once) and text == text1, f"read one element after another: {len(rows) - len(once)} more GETs")

    def count_chunks(self):
        """A plain web server has no lists: each chunk object is requested, many at once."""
        log, text = self.run(self.args.read, f"http://127.0.0.1:{self.server.server_address[1]}/bucket/many.h5", "x", "chunks", in_waves=True)
        heads = [entry for entry in log if entry[0] == "HEAD"]
        self.check(len(heads) == CHUNKS and int(text, 16) == CHUNKS, f"chunks are counted without a list: {len(heads)} HEADs, {int(text, 16)} found")
        self.check(self.waves <= 3 + CHUNKS // 64 + 1, f"chunks are counted: {self.waves} wait on one another, at most 8")

    def missing_chunks(self):
        log, _ = self.run(self.args.read, "s3://bucket/many.h5", "empty", "all", "2")
        missing = [entry for entry in log if entry[1] not in OBJECTS]
        self.check(len(missing) == 8, f"chunks that are not stored: asked {len(missing)} times, 8 wanted, also when read twice")

    def traversal(self):
        log, text = self.run(os.path.join(self.args.bin, "h5ls"), "-r", "hsds+s3://bucket/tree.h5", in_waves=True)
        self.only_gets(log, "h5ls -r of 1000 groups")
        self.check(text.count(b"\n") == GROUPS, f"h5ls -r lists {text.count(bytes([10]))} groups")
        self.check(len(log) == GROUPS + 1, f"h5ls -r: {len(log)} GETs, one per object is {GROUPS + 1}")
        # Domain, root, and the others: 64 connections must go for them 16 times, and some waves aren't full.  More connections,
        # which come where they help, need 8 to 15.
        most = 2 + 16 + 6
        self.check(self.waves <= most, f"h5ls -r: {self.waves} wait on one another, at most {most}")
        log, text = self.run(os.path.join(self.args.bin, "h5dump"), "-H", "hsds+s3://bucket/tree.h5", in_waves=True)
        self.only_gets(log, "h5dump -H of 1000 groups")
        self.check(len(log) == GROUPS + 1 and text.count(b"GROUP ") == GROUPS, f"h5dump -H: {len(log)} GETs, {GROUPS + 1} wanted")
        self.check(self.waves <= most, f"h5dump -H: {self.waves} wait on one another, at most {most}")

    def snapshot(self):
        """The same traversal when the domain has a snapshot: made by the tool, current, in part out of date, broken."""
        h5ls = [os.path.join(self.args.bin, "h5ls"), "-r", "hsds+s3://bucket/tree.h5"]
        _, plain = self.run(*h5ls)
        half = re.search(r'"root": "g-(.{17})', OBJECTS["tree.h5/.domain.json"].decode())[1]
        made, _ = run([self.args.tool, "snapshot", "s3://bucket/tree.h5"], {**self.env, "H5BUCKET_WRITERS": "one"}, self.server)
        self.check(made.returncode == 0, f"h5bucket snapshot: {made.stderr.decode()[-300:]}")
        log, text = self.run(*h5ls, in_waves=True)
        asked = collections.Counter(entry[0] for entry in log)
        # domain, root, snapshot; 1001 keys are listed in two parts
        self.check(text == plain and asked == {"GET": 3, "LIST": 2}, f"with a snapshot: {dict(asked)}, 3 GETs and 2 LISTs wanted")
        self.check(self.waves == 3, f"with a snapshot: {self.waves} wait on one another, 3 wanted: it is listed beside it")
        group = next(key for key in OBJECTS if key.startswith(f"db/{half}/g/") and b"h5" in OBJECTS[key])
        put(group, OBJECTS[group].replace(b'"h5"', b'"new_name"'))
        log, text = self.run(*h5ls)
        asked = collections.Counter(entry[0] for entry in log)
        self.check(b"new_name" in text and asked == {"GET": 4, "LIST": 2}, f"one object changed since: {dict(asked)}, 4 GETs wanted, and seen")
        _, now = self.run(*h5ls)
        self.env["H5BUCKET_SNAPSHOT"] = "trust"
        log, text = self.run(*h5ls)
        self.check(len(log) == 3 and text == plain, f"snapshot=trust: {len(log)} requests, 3 wanted")
        self.env["H5BUCKET_SNAPSHOT"] = "no"
        log, text = self.run(*h5ls)
        self.check(len(log) == GROUPS + 1 and text == now, f"snapshot=no: {len(log)} requests, {GROUPS + 1} wanted")
        del self.env["H5BUCKET_SNAPSHOT"]
        key = f"db/{half}/.h5bucket-snapshot"
        for what, bytes_ in (("cut off", OBJECTS[key][:-100]), ("another's", OBJECTS[key].replace(b"snapshot 1", b"snapshot 9")), ("gone", None)):
            OBJECTS[key] = bytes_
            if bytes_ is None:
                del OBJECTS[key]
            log, text = self.run(*h5ls)
            asked = collections.Counter(entry[0] for entry in log)
            self.check(asked == {"GET": GROUPS + 2, "LIST": 2} and text == now, f"the snapshot is {what}: {dict(asked)}, all objects wanted")
        log, _ = self.run(self.args.read, "s3://bucket/one.h5", "x", "first")
        self.check(not any("snapshot" in entry[1] for entry in log), "without a snapshot nobody asks for one")

    def wide_dump(self):
        log, text = self.run(os.path.join(self.args.bin, "h5dump"), "hsds+s3://bucket/wide.h5", in_waves=True)
        self.only_gets(log, "h5dump of 100 datasets")
        self.check(len(log) == 2 + 200, f"h5dump of 100 datasets: {len(log)} GETs, 202 wanted")
        # domain, root, datasets in two waves, and the chunks of ever more datasets at a time
        self.check(self.waves <= 14, f"h5dump of 100 datasets: {self.waves} wait on one another, at most 14")
        self.check(text.count(b"DATASET ") == 100, "h5dump prints 100 datasets")

    def pattern(self, domain, dataset, *what, in_waves=False):
        return self.run(self.args.pattern, "bucket", f"s3://bucket/{domain}", dataset, *what, in_waves=in_waves)[0]

    def ranges(self):
        """64 chunks of 256 KiB that lie side by side in one file, whole and in parts."""
        log = self.pattern("field.h5", "field", "whole")
        self.check(len(log) == 3 + 16, f"16 MiB in 64 neighbouring chunks: {len(log)} GETs, 19 wanted: ranges of 1 MiB and no more")
        documents = sum(len(OBJECTS[entry[1]]) for entry in log if entry[1].endswith(".json"))
        self.check(Handler.sent == (16 << 20) + documents, f"16 MiB in 64 neighbouring chunks: {Handler.sent - documents} bytes, not one more")
        log = self.pattern("field.h5", "field", "strided", str(TILE), str(TILE), in_waves=True)
        self.check(len(log) == 3 + TILES * TILES, f"a point of each chunk: {len(log)} GETs, 67 wanted")
        self.check(Handler.sent - documents == TILES * TILES * 8192, f"a point of each chunk: {Handler.sent - documents} bytes, 8 KiB around each")
        # 64 connections, of which one may take a second range
        self.check(self.waves <= 5, f"a point of each chunk: {self.waves} wait on one another, at most 5")
        log = self.pattern("field.h5", "field", "points", "0")
        # of 64 points 9 lie in the 64 KiB around an earlier one
        self.check(len(log) == 3 + 55 and Handler.sent - documents == 55 * 65536,
                   f"64 points, a call each: {len(log)} GETs, {Handler.sent - documents} bytes, 58 and 55 times 64 KiB wanted")
        for how in ("1", "2"):
            log = self.pattern("field.h5", "field", "points", how, in_waves=True)
            self.check(len(log) == 3 + 49, f"64 points at once: {len(log)} GETs, 52 wanted: those of neighbours come together")
            self.check(self.waves <= 5, f"64 points at once: {self.waves} wait on one another, at most 5")

    def steps(self):
        """Slabs one after another: the bytes read ahead are the bytes that the program reads then, once each."""
        log = self.pattern("steps.h5", "x", "slabs", "1024", "20", in_waves=True)
        self.only_gets(log, "slabs one after another")
        self.check(len(log) == 3 + STEP_CHUNKS, f"slabs one after another: {len(log)} GETs, {3 + STEP_CHUNKS} wanted")
        # 16 slabs without reading ahead are 3 + 16 that wait on one another
        self.check(self.waves <= 14, f"slabs one after another: {self.waves} wait on one another, at most 14")
        for rows in ("64", "4"):  # of 64 and 4 KiB, fetched many at a time: the 16 MiB were 258 GETs in 69 waves, 70 in 70
            log = self.pattern("steps.h5", "x", "slabs", rows, "0", in_waves=True)
            self.check(len(log) <= 120 and self.waves <= 24, f"slabs of {rows} KiB: {len(log)} GETs in {self.waves} waves, at most 120 in 24")

    def many_small(self):
        """400 datasets opened, read and closed in order."""
        log = self.pattern("tiny.h5", "t", "tiny", str(TINY), in_waves=True)
        self.only_gets(log, "400 tiny datasets")
        self.check(len(log) == 3 + 2 * TINY, f"400 tiny datasets: {len(log)} GETs, 803 wanted")
        # To open 3; 800 others over 64 connections 13; and for each of 6 windows of siblings (16, 32, ...) two incomplete waves
        self.check(self.waves <= 28, f"400 tiny datasets: {self.waves} wait on one another, at most 28")
        log = self.pattern("tiny_ref.h5", "t", "tiny", str(TINY), in_waves=True)
        data = [entry for entry in log if entry[1] == "data/tiny.bin"]
        self.check(len(log) == 3 + TINY + len(data) and len(data) == 2, f"400 tiny datasets in one file: {len(data)} GETs for their data, 2 wanted")
        self.check(self.waves <= 22, f"400 tiny datasets in one file: {self.waves} wait on one another, at most 22")
        log = self.pattern("vars.h5", "/", "header", in_waves=True)
        self.check(len(log) == 2 + VARIABLES and self.waves == 3,
                   f"60 variables: {len(log)} GETs in {self.waves} waves, 62 in 3 wanted")

    def variables_with_snapshot(self):
        """As `load` leaves them."""
        made, _ = run([self.args.tool, "snapshot", "s3://bucket/vars.h5"], {**self.env, "H5BUCKET_WRITERS": "one"}, self.server)
        self.check(made.returncode == 0, f"h5bucket snapshot: {made.stderr.decode()[-300:]}")
        log = self.pattern("vars.h5", "/", "header", in_waves=True)
        asked = collections.Counter(entry[0] for entry in log)
        self.check(asked == {"GET": 3, "LIST": 1} and self.waves == 3,
                   f"60 variables, with a snapshot: {dict(asked)} in {self.waves} waves, 3 GETs and 1 LIST in 3 wanted")

    def lookup(self):
        log = self.pattern("table.h5", "field", "lookup", "1550", "1550", in_waves=True)
        self.check(len(log) == 5 and self.waves == 5,
                   f"one chunk of 90,000 looked up: {len(log)} GETs, 5 wanted: two after the open")
        self.check(Handler.sent <= 100000, f"one chunk of 90,000 looked up: {Handler.sent} bytes")
        log = self.pattern("small_table.h5", "field", "lookup", "350", "350", in_waves=True)
        # the JSON of a table of one chunk and that chunk come together
        self.check(len(log) == 5 and self.waves == 4,
                   f"one chunk of 1,600 looked up: {len(log)} GETs in {self.waves} waves, 5 in 4 wanted")

    def absent(self):
        done, _ = run([os.path.join(self.args.bin, "h5ls"), "hsds+s3://bucket/none.h5"], self.env, self.server)
        self.check(done.returncode != 0, "a domain that is not there is an error")
        self.check(len(Handler.log) == 2, f"a domain that is not there: {len(Handler.log)} requests, 2 wanted: both kinds are asked for")
        env = {k: v for k, v in self.env.items() if k != "HDF5_VOL_CONNECTOR"}
        done, _ = run([self.args.read, "s3://bucket/none.h5", "/x", "first"], env, self.server)
        self.check(done.returncode != 0 and len(Handler.log) == 2, f"asked whether it is one: {len(Handler.log)} requests, 2 wanted")
        done, _ = run([os.path.join(self.args.bin, "h5ls"), "/nonexistent/file.h5"], env, self.server)
        self.check(done.returncode != 0 and not Handler.log, f"a name that is not ours: {len(Handler.log)} requests")
        self.check(b"bucket" not in done.stderr.replace(b"h5bucket: GET 0", b""), "a name that is not ours: not a word from us")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--tool", required=True, help="h5bucket")
    parser.add_argument("--read", required=True, help="the program read_dataset")
    parser.add_argument("--pattern", required=True, help="bench/programs/h5read.c")
    args = parser.parse_args()
    make_domains()
    make_pattern_domains()
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tests = Tests(args, server)
    for test in (tests.cold_open, tests.whole_dataset, tests.read_twice, tests.count_chunks, tests.missing_chunks, tests.traversal, tests.snapshot,
                 tests.wide_dump, tests.ranges, tests.steps, tests.many_small, tests.variables_with_snapshot, tests.lookup,
                 tests.absent):
        test()
    server.shutdown()
    sys.exit(tests.failed != 0)


if __name__ == "__main__":
    main()
