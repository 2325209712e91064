#!/usr/bin/env python3
"""full_counts.py: requests and bytes of large reads, counted by the server, exactly, at full size.

    full_counts.py --plugin DIR --pattern PROGRAM

256 MiB slabs, points in them, and datasets of 1,000,000 chunks.  Bytes are made up when they are requested,
so nothing large is stored.  The server is request_counts.py's.  The program reports its peak memory, which
means nothing under a sanitizer.  Standard library only.
"""
import argparse
import array
import json
import os
import re
import struct
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from request_counts import OBJECTS, Domain, Handler, Server, Tests, longest_chain, put, run  # noqa: E402

MIB, KIB64 = 1 << 20, 1 << 16
ACROSS, SIDE = 16, 512  # chunks of 1 MiB of float32, 16 x 16 of them
CHUNKS = ACROSS * ACROSS
FLOAT = {"class": "H5T_FLOAT", "base": "H5T_IEEE_F32LE"}
MANY, ROW = 1000, 12    # MANY x MANY chunks; bytes of a row with one chunk's place
AT = 5550               # element (AT, AT) is the first of chunk (555, 555)
VARIABLES, ATTRIBUTES = 60, 20
OPEN = 3                # the documents on the way: domain, root, dataset


# --- bytes that are made when they are requested
# -------------------------------------------------------------------
class MadeUp:
    """The members of an object that Handler needs."""

    def __init__(self, size, make):
        self.size, self.make = size, make

    def __len__(self):
        return self.size

    def __getitem__(self, span):
        first, last, _ = span.indices(self.size)
        return self.make(first, last)


TILE = array.array("I", (0x3f000000 + i * 2654435761 % 0x800000 for i in range(SIDE * SIDE)))  # numbers near 1
TILES = TILE.tobytes() * 9


def tiles(period):
    """A chunk's MiB at each multiple of the period, zeros between them."""
    def make(first, last):
        if period == MIB:
            return TILES[first % MIB:first % MIB + last - first]
        out = bytearray()
        while first < last:
            at = first % period
            n = min(last - first, (MIB if at < MIB else period) - at)
            out += TILES[at:at + n] if at < MIB else bytes(n)
            first += n
        return bytes(out)
    return make


def checksum(chunked):
    """h5read's, of the whole field."""
    total = 0
    for i in range(0, CHUNKS * SIDE * SIDE, 61):
        row, col = divmod(i, ACROSS * SIDE)
        at = row % SIDE * SIDE + col % SIDE if chunked else i % (SIDE * SIDE)
        total = (total * 1099511628211 + TILE[at]) & 0xffffffffffffffff
    return f"{total:016x}"


def where(row, col):
    """The place of a chunk of many."""
    return 4096 + (row * MANY + col) * 400


def rows(base, width, name=b""):
    """A table's chunk: rows of place, size and, perhaps, a file's name, from `base` (row, column) on."""
    size = ROW + len(name)

    def make(first, last):
        begin = first // size
        out = b"".join(struct.pack("<qi", where(base[0] + i // width, base[1] + i % width), 400) + name
                       for i in range(begin, -(-last // size)))
        return out[first - begin * size:last - begin * size]
    return make


# --- domains --------------------------------------------------------------------------------------------------------
def make_field(name, number, layout=None, across=ACROSS):
    domain = Domain(name, number)
    ident = domain.dataset(domain.root, "field", [across * SIDE] * 2, [SIDE] * 2, kind=FLOAT, layout=layout)
    domain.finish()
    return f"db/{domain.half}/d/{ident[20:]}"


def listed(file, order, period, across=ACROSS):
    """A field whose chunks are listed."""
    return {"class": "H5D_CHUNKED_REF", "file_uri": "bucket/data/" + file, "dims": [SIDE, SIDE],
            "chunks": {f"{i // across}_{i % across}": [order(i) * period, MIB] for i in range(across * across)}}


SPACED, FAR = MIB + 32768, 4 * MIB


def make_fields():
    for name, period in (("dense", MIB), ("spaced", SPACED), ("far", FAR)):
        OBJECTS[f"data/{name}.bin"] = MadeUp(CHUNKS * period, tiles(period))
    make_field("dense.h5", 21, listed("dense.bin", lambda i: i, MIB))
    make_field("backward.h5", 22, listed("dense.bin", lambda i: CHUNKS - 1 - i, MIB))
    make_field("shuffled.h5", 23, listed("dense.bin", lambda i: i * 97 % CHUNKS, MIB))
    make_field("spaced.h5", 24, listed("spaced.bin", lambda i: i, SPACED))
    make_field("far.h5", 25, listed("far.bin", lambda i: i, FAR))
    whole = {"class": "H5D_CONTIGUOUS_REF", "file_uri": "bucket/data/dense.bin", "offset": 0, "size": CHUNKS * MIB}
    make_field("contiguous.h5", 26, whole)
    key = make_field("objects.h5", 27)
    for i in range(CHUNKS):
        OBJECTS[f"{key}/{i // ACROSS}_{i % ACROSS}"] = MadeUp(MIB, tiles(MIB))
    make_field("small_ref.h5", 29, listed("dense.bin", lambda i: i, MIB, 8), 8)
    key = make_field("small.h5", 28, across=8)
    for i in range(64):
        OBJECTS[f"{key}/{i // 8}_{i % 8}"] = MadeUp(MIB, tiles(MIB))


def make_many(name, number, layout=None, table=None):
    """A dataset of 1,000,000 chunks of 10 x 10; `table`: chunks across its table, and the file's name in each row."""
    domain = Domain(name, number)
    if table:
        across, file = table
        side, ident = MANY // across, domain.new_id("d")
        fields = [{"name": "offset", "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I64LE"}},
                  {"name": "size", "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}}]
        if file:
            fields.append({"name": "file_uri", "type": {"class": "H5T_STRING", "charSet": "H5T_CSET_ASCII", "length": len(file),
                                                        "strPad": "H5T_STR_NULLPAD"}})
        domain.dataset(None, None, [MANY] * 2, [side] * 2, kind={"class": "H5T_COMPOUND", "fields": fields}, ident=ident)
        for i in range(across * across):
            corner = (i // across * side, i % across * side)
            OBJECTS[f"db/{domain.half}/d/{ident[20:]}/{i // across}_{i % across}"] = MadeUp(
                side * side * (ROW + len(file)), rows(corner, side, file))
        layout = {"class": "H5D_CHUNKED_REF_INDIRECT", "dims": [10, 10], "chunk_table": ident}
        if not file:
            layout["file_uri"] = "bucket/data/many.bin"
    ident = domain.dataset(domain.root, "field", [10 * MANY] * 2, [10] * 2, kind=FLOAT, layout=layout)
    domain.finish()
    return f"db/{domain.half}/d/{ident[20:]}"


def make_manies():
    OBJECTS["data/many.bin"] = MadeUp(where(MANY, 0), lambda first, last: bytes(last - first))
    make_many("table16.h5", 31, table=(4, b""))
    make_many("table1.h5", 32, table=(1, b""))
    make_many("files.h5", 33, table=(4, b"bucket/data/many.bin".ljust(64, b"\0")))
    key = make_many("many_objects.h5", 34)
    put(f"{key}/555_555", bytes(400))
    # all million can't be listed in one MiB; one of a hundred can
    make_many("many_listed.h5", 35, layout={
        "class": "H5D_CHUNKED_REF", "file_uri": "bucket/data/many.bin", "dims": [10, 10],
        "chunks": {f"{i}_{k}": [where(i, k), 400] for i in range(5, MANY, 10) for k in range(5, MANY, 10)}})
    make_many("many_contiguous.h5", 36, layout={
        "class": "H5D_CONTIGUOUS_REF", "file_uri": "bucket/data/many.bin", "offset": 4096, "size": 400 * MANY * MANY})


def make_variables():
    domain = Domain("variables.h5", 41)
    text = {"class": "H5T_STRING", "charSet": "H5T_CSET_ASCII", "length": 24, "strPad": "H5T_STR_NULLPAD"}
    for i in range(VARIABLES):
        ident = domain.dataset(domain.root, f"var{i:02}", [100, 100], [100, 100], kind=FLOAT)
        key = f"db/{domain.half}/d/{ident[20:]}/.dataset.json"
        put(key, {**json.loads(OBJECTS[key]), "attributes": {
            f"attribute_{k:02}": {"type": text, "shape": {"class": "H5S_SCALAR"}, "value": f"value {k} of {i}", "created": 1.0}
            for k in range(ATTRIBUTES)}})
    domain.finish()


# --- server ---------------------------------------------------------------------------------------------------------
class Waves:
    """Answers to requests for certain keys wait until `size` of them have come, then until as many more have, up to `total`: so
    they take that many round trips and no more, however slow the machine is."""

    def __init__(self, pattern, size, total):
        self.pattern, self.size, self.total = pattern, size, total
        self.came, self.late, self.change = 0, 0, threading.Condition()

    def wait(self, key):
        if not re.search(self.pattern, key):
            return
        with self.change:
            self.came += 1
            self.change.notify_all()
            full = min(-(-self.came // self.size) * self.size, self.total)
            if not self.change.wait_for(lambda: self.came >= full, 250):
                self.late += 1


class InWaves(Handler):
    sized = None

    def do_GET(self):
        if InWaves.sized:
            InWaves.sized.wait(self.path)
        self.serve()


# --- tests ----------------------------------------------------------------------------------------------------------
class FullSize(Tests):
    def __init__(self, args, server):
        super().__init__(args, server)
        self.env.update(H5READ_PEAK="1")
        self.peak, self.sum = 0, ""

    def read(self, domain, *what, waves=None):
        """The requests, and the number of bytes besides documents."""
        InWaves.sized = waves
        done, _ = run([self.args.pattern, "bucket", f"s3://bucket/{domain}", *what], self.env, self.server)
        log, InWaves.sized = Handler.log, None
        peak = re.search(rb"peak (\d+) KiB", done.stderr)
        if done.returncode or not peak:
            self.check(False, f"{domain} {' '.join(what)} gave {done.returncode}: {done.stderr.decode()[-500:]}")
            return log, 0
        if waves:
            self.check(not waves.late and waves.came == waves.total,
                       f"{domain} {' '.join(what)}: {waves.came} of {waves.total} came, {waves.size} at once, {waves.late} waited in vain")
        self.peak, self.sum = int(peak[1]) // 1024, done.stdout.split()[0].decode()
        return log, Handler.sent - sum(len(OBJECTS[entry[1]]) for entry in log if entry[1].endswith(".json"))

    def memory(self, limit, text):
        if os.environ.get("BKT_PRELOAD"):
            print(f"     {text}: {self.peak} MiB of memory; not looked at under a sanitizer")
        else:
            self.check(self.peak <= limit, f"{text}: {self.peak} MiB of memory, at most {limit}")

    def slabs_by_reference(self):
        """At most 40 requests, by merging and splitting: the bytes, over 32 requests that are as long."""
        between = -(-CHUNKS // 7)  # 7 chunks and 6 gaps of 32 KiB are the most that is within 8 MiB
        for domain, requests, more in (("dense.h5", 32, 0), ("backward.h5", 32, 0), ("shuffled.h5", 32, 0), ("contiguous.h5", 32, 0),
                                       ("spaced.h5", between, (CHUNKS - between) * 32768), ("far.h5", CHUNKS, 0)):
            log, sent = self.read(domain, "field", "whole")
            text = f"256 MiB by references, {domain}"
            self.check(len(log) == OPEN + requests and (domain == "far.h5" or len(log) <= 40), f"{text}: {len(log)} GETs, {OPEN + requests} wanted")
            self.check(sent == CHUNKS * MIB + more, f"{text}: {sent} bytes, {CHUNKS * MIB + more} wanted")
            want = checksum(domain != "contiguous.h5")
            self.check(self.sum == want, f"{text}: checksum {self.sum}, {want} wanted")
            self.memory(CHUNKS + 160, text)

    def slab_of_objects(self):
        want = checksum(True)
        log, sent = self.read("objects.h5", "field", "whole")
        self.only_gets(log, "256 MiB in chunk objects")
        self.check(len(log) == OPEN + CHUNKS and sent == CHUNKS * MIB, f"256 MiB in chunk objects: {len(log)} GETs, {sent} bytes")
        self.check(self.sum == want, f"256 MiB in chunk objects: checksum {self.sum}, {want} wanted")
        self.memory(CHUNKS + 160, "256 MiB in chunk objects")
        log, sent = self.read("objects.h5", "field", "transformed")
        self.only_gets(log, "256 MiB in pieces")
        self.check(len(log) == OPEN + CHUNKS and sent == CHUNKS * MIB, f"256 MiB in pieces: {len(log)} GETs, {sent} bytes")
        self.check(self.sum == want, f"256 MiB in pieces: checksum {self.sum}, {want} wanted")
        log, sent = self.read("objects.h5", "field", "slabs", str(SIDE), "0")
        self.only_gets(log, "256 MiB in steps of 16")
        self.check(len(log) == OPEN + CHUNKS and sent == CHUNKS * MIB,
                   f"256 MiB in steps of 16: {len(log)} GETs, {sent} bytes: what is read ahead is read, once")

    def read_again(self):
        for domain, requests in (("small.h5", 64), ("small_ref.h5", 32)):
            log, sent = self.read(domain, "field", "whole", "2")
            self.check(len(log) == OPEN + requests and sent == 64 * MIB,
                       f"64 MiB read twice, {domain}: {len(log)} GETs, {OPEN + requests} wanted: none by the second time")

    def strided_points(self):
        waves = Waves(r"/data/dense\.bin", 64, CHUNKS)
        log, sent = self.read("dense.h5", "field", "strided", str(SIDE), str(SIDE), waves=waves)
        self.check(len(log) == OPEN + CHUNKS, f"a point of each of 256 chunks: {len(log)} GETs, {OPEN + CHUNKS} wanted")
        self.check(sent == CHUNKS * 4 and Handler.sent < 1000000, f"a point of each of 256 chunks: {sent} bytes, {Handler.sent} in all, at most 1 MB")

    def random_points(self):
        offsets, seed = [], 4711
        for _ in range(64):
            at = []
            for _ in range(2):
                seed = (seed * 1664525 + 1013904223) & 0xffffffff
                at.append(seed * ACROSS * SIDE >> 32)
            chunk = at[0] // SIDE * ACROSS + at[1] // SIDE
            offsets.append(chunk * MIB + (at[0] % SIDE * SIDE + at[1] % SIDE) * 4)
        blocks = len({offset // KIB64 for offset in offsets})
        log, sent = self.read("dense.h5", "field", "points", "0")
        self.check(len(log) == OPEN + blocks and sent == blocks * KIB64 and Handler.sent <= 5000000,
                   f"64 points, a call each: {len(log)} GETs, {OPEN + blocks} wanted; {Handler.sent} bytes, at most 5 MB")
        self.check(longest_chain(log) == OPEN + blocks, f"64 points, a call each: {longest_chain(log)} wait on one another")
        offsets.sort()
        groups = 1 + sum(b - a - 4 > KIB64 for a, b in zip(offsets, offsets[1:]))
        for how in ("1", "2"):
            log, sent = self.read("dense.h5", "field", "points", how, waves=Waves(r"/data/dense\.bin", groups, groups))
            self.check(len(log) == OPEN + groups and Handler.sent <= 5000000,
                       f"64 points at once: {len(log)} GETs, {OPEN + groups} wanted; {Handler.sent} bytes, at most 5 MB")

    def one_of_many(self):
        """One chunk of 1,000,000: its place is known after two more round trips at most, its value after one
        more."""
        for domain, lookup in (("table16.h5", 2), ("table1.h5", 2), ("files.h5", 2), ("many_objects.h5", 1), ("many_listed.h5", 0)):
            text = f"one chunk of 1,000,000, {domain}"
            log, _ = self.read(domain, "field", "lookup", str(AT), str(AT))
            self.asked(log, lookup, text)
            if domain != "many_objects.h5":
                self.check(self.sum == f"{where(555, 555) * 31 + 400:016x}", f"{text}: it lies at {self.sum}")
        for domain, read in (("table16.h5", 3), ("table1.h5", 3), ("files.h5", 3), ("many_objects.h5", 1), ("many_listed.h5", 1),
                             ("many_contiguous.h5", 1)):
            log, _ = self.read(domain, "field", "at", str(AT), str(AT))
            self.asked(log, read, f"one value of one of 1,000,000, {domain}")

    def asked(self, log, more, text):
        self.check(len(log) == OPEN + more and longest_chain(log) == OPEN + more,
                   f"{text}: {len(log)} requests in {longest_chain(log)} round trips, {more} after the open wanted")
        self.check(Handler.sent <= MIB, f"{text}: {Handler.sent} bytes, at most 1 MiB")
        self.memory(64, text)

    def header(self):
        waves = Waves(r"/d/", VARIABLES, VARIABLES)
        log, _ = self.read("variables.h5", "/", "header", waves=waves)
        self.check(len(log) == 2 + VARIABLES, f"60 variables with 20 attributes: {len(log)} GETs, 62 wanted: domain, root, and 60 at once")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--pattern", required=True, help="bench/programs/h5read.c")
    args = parser.parse_args()
    make_fields()
    make_manies()
    make_variables()
    server = Server(("127.0.0.1", 0), InWaves)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tests = FullSize(args, server)
    for test in (tests.one_of_many, tests.header, tests.strided_points, tests.random_points, tests.read_again, tests.slab_of_objects,
                 tests.slabs_by_reference):
        test()
    server.shutdown()
    sys.exit(tests.failed != 0)


if __name__ == "__main__":
    main()
