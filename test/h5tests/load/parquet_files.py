"""A small writer of Parquet files, for tests of kerchunk's layout of reference sets."""
import struct

import numcodecs


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out) + bytes([v])


def number(v):
    return varint(v << 1 if v >= 0 else (-v << 1) - 1)


I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def field(kind, v):
    if kind in (I32, I64):
        return number(v)
    if kind == BINARY:
        return varint(len(v)) + v
    if kind == LIST:  # (kind of the entries, entries)
        n = len(v[1])
        return (bytes([n << 4 | v[0]]) if n < 15 else bytes([0xf0 | v[0]]) + varint(n)) + b"".join(field(v[0], x) for x in v[1])
    return message(v)


def message(fields):
    """A struct of Thrift's compact protocol: {id: (kind, value)}; kind True or False is a bool."""
    out, last = b"", 0
    for i, (kind, v) in sorted(fields.items()):
        code = 1 if kind is True else 2 if kind is False else kind
        out += bytes([(i - last) << 4 | code]) if 0 < i - last < 16 else bytes([code]) + number(i)
        out += b"" if isinstance(kind, bool) else field(kind, v)
        last = i
    return out + b"\0"


def runs(values, width):
    """RLE and bit-packed runs, in turns."""
    out, i = b"", 0
    while i < len(values):
        n = 1
        while i + n < len(values) and values[i + n] == values[i]:
            n += 1
        if n >= 8 or i + 8 > len(values):
            out += varint(n << 1) + values[i].to_bytes((width + 7) // 8, "little")
            i += n
        else:
            bits = sum(v << (width * k) for k, v in enumerate(values[i:i + 8]))
            out += varint(1 << 1 | 1) + bits.to_bytes(width, "little")
            i += 8
    return out


def snappy(data):
    out = varint(len(data))
    for i in range(0, len(data), 60):
        part = data[i:i + 60]
        out += bytes([(len(part) - 1) << 2]) + part
    return out


CODECS = {"plain": (0, bytes), "snappy": (1, snappy), "zstd": (6, lambda d: bytes(numcodecs.zstd.compress(d, 1))),
          "lz4": (7, lambda d: bytes(numcodecs.lz4.compress(d))[4:])}


def plain(v):
    return struct.pack("<q", v) if isinstance(v, int) else struct.pack("<I", len(v)) + v


class Writer:
    def __init__(self, codec, version, dictionary):
        self.codec, self.compress = CODECS[codec]
        self.version, self.dictionary, self.out = version, dictionary, bytearray(b"PAR1")

    def page(self, kind, header, levels, data):
        second = kind == 3
        body = data if second else levels + data
        packed = self.compress(body) if body else b""
        size = len(body) + (len(levels) if second else 0)
        stored = (levels if second else b"") + packed
        self.out += message({1: (I32, kind), 2: (I32, size), 3: (I32, len(stored)), {0: 5, 2: 7, 3: 8}[kind]: (STRUCT, header)}) + stored

    def column(self, name, values, optional, in_pages):
        begin, at_dict, dictionary = len(self.out), None, self.dictionary and name == "path"
        there = [v for v in values if v is not None]
        words = sorted(set(there)) if dictionary else []
        if dictionary:
            at_dict = len(self.out)
            self.page(2, {1: (I32, len(words)), 2: (I32, 0 if self.version == 2 else 2)}, b"", b"".join(map(plain, words)))
        data_at = len(self.out)
        width = max(1, (len(words) - 1).bit_length())
        for i in range(0, len(values), in_pages):
            part = values[i:i + in_pages]
            real = [v for v in part if v is not None]
            data = bytes([width]) + runs([words.index(v) for v in real], width) if dictionary else b"".join(map(plain, real))
            levels = runs([int(v is not None) for v in part], 1) if optional else b""
            encoding = (8 if self.version == 2 else 2) if dictionary else 0
            if self.version == 2:
                header = {1: (I32, len(part)), 2: (I32, len(part) - len(real)), 3: (I32, len(part)), 4: (I32, encoding), 5: (I32, len(levels)), 6: (I32, 0),
                          7: (True, None)}
                self.page(3, header, levels, data)
            else:
                self.page(0, {1: (I32, len(part)), 2: (I32, encoding), 3: (I32, 3), 4: (I32, 3)}, struct.pack("<I", len(levels)) + levels if optional else b"",
                          data)
        kind = 2 if name in ("offset", "size") else 6
        meta = {1: (I32, kind), 2: (LIST, (I32, [0, 3])), 3: (LIST, (BINARY, [name.encode()])), 4: (I32, self.codec), 5: (I64, len(values)),
                6: (I64, len(self.out) - begin), 7: (I64, len(self.out) - begin), 8: (LIST, (0, [])), 9: (I64, data_at)}  # 8: as fastparquet has it
        if at_dict is not None:
            meta[11] = (I64, at_dict)
        return {2: (I64, begin), 3: (STRUCT, meta)}

    def write(self, table, optional, in_pages=1 << 20, in_groups=1 << 20):
        """table: {name: values}; optional: names of columns with nulls."""
        n = len(next(iter(table.values())))
        schema = [{4: (BINARY, b"schema"), 5: (I32, len(table))}]
        for name in table:
            schema.append({1: (I32, 2 if name in ("offset", "size") else 6), 3: (I32, int(name in optional)), 4: (BINARY, name.encode())})
        groups = []
        for i in range(0, n, in_groups):
            chunks = [self.column(name, v[i:i + in_groups], name in optional, in_pages) for name, v in table.items()]
            groups.append({1: (LIST, (STRUCT, chunks)), 2: (I64, 0), 3: (I64, min(in_groups, n - i))})
        footer = message({1: (I32, 1), 2: (LIST, (STRUCT, schema)), 3: (I64, n), 4: (LIST, (STRUCT, groups)), 6: (BINARY, b"a test")})
        self.out += footer + struct.pack("<I", len(footer)) + b"PAR1"
        return bytes(self.out)


def folder(path, refs, record_size, codec="zstd", version=1, dictionary=True, in_pages=1 << 20, in_groups=1 << 20):
    """The Parquet layout of a set of version 0."""
    import base64
    import itertools
    import json
    import math
    import os

    data = lambda v: base64.b64decode(v[7:]) if v.startswith("base64:") else v.encode()
    metadata = {k: json.loads(v) if isinstance(v, str) else v for k, v in refs.items() if k.split("/")[-1].startswith(".z")}
    os.makedirs(path, exist_ok=True)
    json.dump({"metadata": metadata, "record_size": record_size}, open(os.path.join(path, ".zmetadata"), "w"))
    for key, zarray in metadata.items():
        if not key.endswith(".zarray"):
            continue
        name = key[:-8]
        grid = [math.ceil(d / c) for d, c in zip(zarray["shape"], zarray["chunks"])]
        keys = [name + "/" + (zarray.get("dimension_separator", ".").join(map(str, at)) or "0") for at in itertools.product(*map(range, grid))]
        for i in range(0, len(keys), record_size):
            rows = [refs.get(k) for k in keys[i:i + record_size]]
            if not any(rows):
                continue
            place = [r if isinstance(r, list) else [None, 0, 0] for r in rows]
            place = [p if len(p) == 3 else [p[0], 0, 0] for p in place]
            table = {"path": [p[0] and p[0].encode() for p in place], "offset": [p[1] for p in place], "size": [p[2] for p in place],
                     "raw": [data(r) if isinstance(r, str) else None for r in rows]}
            os.makedirs(os.path.join(path, name), exist_ok=True)
            out = Writer(codec, version, dictionary).write(table, ("path", "raw"), in_pages, in_groups)
            open(os.path.join(path, name, f"refs.{i // record_size}.parq"), "wb").write(out)
