"""Claims about objects that HSDS changes in turn with the connector.  A stand-in follows HSDS 0.9.4's rules for chunks: how it chooses
from the list of filters, decodes, and stores again.  Run by tool.py."""
import json, os, struct, zlib

from sandbox import dir_only, ok

COMPRESSORS = {"H5Z_FILTER_" + c for c in ("DEFLATE", "SZIP", "SCALEOFFSET", "LZF", "BLOSC", "SNAPPY", "LZ4", "LZ4HC", "ZSTD")}
NAMES = {"gzip", "szip", "lzf", "blosclz", "snappy", "lz4", "lz4hc", "zstd"}
BLOSC = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}


class Refused(Exception):
    pass


def frame(data, stored):
    """A frame of c-blosc's as numcodecs makes it of bytes: elements of 1 byte, one block, zlib inside, or the data as they are."""
    if stored:
        return struct.pack("<BBBBIII", 2, 1, 0x02 | 3 << 5, 1, len(data), len(data), 16 + len(data)) + data
    z = zlib.compress(data, 5)
    return struct.pack("<BBBBIII", 2, 1, 0x10 | 3 << 5, 1, len(data), len(data), 16 + 8 + len(z)) + struct.pack("<II", 20, len(z)) + z


def unframe(data):
    """None where the codec is one that Python lacks."""
    flags, n, c = data[2], *struct.unpack_from("<I4xI", data, 4)
    if c > len(data):
        raise Refused("a frame that is cut")
    if flags & 2:
        return data[16:16 + n]
    if flags >> 5 == 3 and flags & 0x10 and not flags & 5:
        return zlib.decompress(data[24:c])
    return None


class Hsds:
    """One dataset as HSDS sees it."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, ".dataset.json")) as f:
            o = json.load(f)
        self.filters = o["creationProperties"]["filters"]
        self.count = o["layout"]["dims"][0] * o["layout"]["dims"][1]
        self.original = [i % 7 + i // 20 for i in range(self.count)]
        self.changed = [123456 if i == 5 else v for i, v in enumerate(self.original)]

    def ops(self):
        first = [f for f in self.filters if f["class"] in COMPRESSORS or (f["class"] == "H5Z_FILTER_USER" and f["name"] in NAMES)]
        shuffles = [f for f in self.filters if f["class"] in ("H5Z_FILTER_SHUFFLE", "H5Z_FILTER_BITSHUFFLE")]
        if shuffles and "name" not in shuffles[0]:
            raise Refused("KeyError")
        shuffle = {"shuffle": 1, "bitshuffle": 2}.get(shuffles[0]["name"], 0) if shuffles else 0
        compressor = None if not first else "zlib" if first[0]["class"] == "H5Z_FILTER_DEFLATE" else first[0]["name"]
        return compressor, shuffle

    def read(self):
        compressor, shuffle = self.ops()
        with open(os.path.join(self.folder, "0_0"), "rb") as f:
            data = f.read()
        if compressor and compressor != "scaleoffset":
            if data[0] == 2 and data[3] > 0:
                data, shuffle = unframe(data), 0 if shuffle == 1 else shuffle
            elif compressor == "zlib":
                try:
                    data = zlib.decompressobj().decompress(data)
                except zlib.error as e:
                    raise Refused(str(e)) from e
            else:
                raise Refused("don't know how to decompress")
        if data is None:
            return None
        if shuffle == 2:
            if int.from_bytes(data[:8], "big") != 4 * self.count:
                raise Refused("header of bitshuffle")
            return None
        if shuffle == 1:
            n = len(data) // 4
            data = bytes(data[j * n + i] for i in range(n) for j in range(4)) if len(data) % 4 == 0 else data
        if len(data) != 4 * self.count:
            raise Refused(f"{len(data)} bytes")
        return list(struct.unpack(f"<{self.count}i", data))

    def write(self, values, stored):
        compressor, shuffle = self.ops()
        data = struct.pack(f"<{self.count}i", *values)
        if shuffle == 2:
            return False  # bitshuffle isn't at hand
        if compressor in BLOSC:  # of others numcodecs complains, and the elements are stored as they are
            data = frame(data, stored)
        with open(os.path.join(self.folder, "0_0"), "wb") as f:
            f.write(data)
        return True


def datasets(b, domain):
    for o in b.json("ls", "-r", domain)[0]["objects"]:
        if o["kind"] == "dataset":
            yield o["path"].strip("/"), os.path.dirname(b.object_of(domain, o["path"]))


# READS: HSDS reads our chunks.  REFUSES: HSDS must not touch them.  With all other filters HSDS stores its
# own chunks, and reads those.
READS = {"deflate", "shuffle_deflate", "shuffle_deflate_fletcher32", "shuffle"}
REFUSES = {"scaleoffset_deflate", "bitshuffle", "bitshuffle_deflate", "fletcher32_deflate"}
NOT_HERE = {"blosc_zstd", "shuffle_blosc_lz4", "lz4", "zstd", "bitshuffle_lz4"}  # it has codecs that Python lacks


def result(f):
    try:
        return f()
    except Refused:
        return "refused"


@dir_only
def test_hsds_changes_chunks_of_every_filter(b):
    if not b.filtered_rows:
        return
    env = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"}
    for stored in (False, True):
        d = b.new()
        ok(b.run_any(b.filtered_rows, "make", d, env=env))
        found, changed = list(datasets(b, d)), []
        assert len(found) == 23, found
        for name, folder in found:
            h = Hsds(folder)
            ok(b.run_any(b.filtered_rows, "check", d, name, "-1", env=env))
            got = result(h.read)
            want = h.original if name in READS else None if name in NOT_HERE else "refused"
            assert got == want, (name, got, h.filters)
            if name in REFUSES:
                assert result(h.ops) == "refused" and result(lambda: h.write(h.changed, stored)) == "refused", (name, h.filters)
                continue
            if not h.write(h.changed, stored):
                continue
            assert result(h.read) == h.changed, (name, result(h.read), h.filters)
            ok(b.run_any(b.filtered_rows, "check", d, name, "123456", env=env))
            changed.append((name, h, want))
        assert b.json("verify", "--deep", d)[0]["n_problems"] == 0
        out = os.path.join(b.tmp, f"in-turn-{stored}.h5")
        ok(b.run("get", d, out))
        for name in ("deflate", "shuffle_deflate_fletcher32", "shuffle", "shuffle_fletcher32", "szip", "scaleoffset", "nbit"):
            ok(b.run_any(b.filtered_rows, "check", out, name, "123456", env={"HDF5_VOL_CONNECTOR": ""}))
        for name, h, want in changed:
            ok(b.run_any(b.filtered_rows, "check", d, name, "123456", "4711", env=env))
            got = result(h.read)
            assert got in ([4711 if i == 7 else v for i, v in enumerate(h.changed)], want), (name, got)


@dir_only
def test_integers_show_their_value_or_none(b):
    """HSDS shows an integer by all of its bits: integers of few bits are bytes to it, unless all bits are
    their value."""
    if not b.filtered_rows:
        return
    env, d = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket"}, b.new()
    ok(b.run_any(b.filtered_rows, "integers", d, env=env))
    types = {}
    for name, folder in datasets(b, d):
        with open(os.path.join(folder, ".dataset.json")) as f:
            types[name] = json.load(f)["type"]["class"]
    assert types == {"whole": "H5T_INTEGER", "unsigned_20": "H5T_INTEGER", "signed_20": "H5T_OPAQUE", "unsigned_20_at_4": "H5T_OPAQUE",
                     "signed_20_at_4": "H5T_OPAQUE"}, types
    out = os.path.join(b.tmp, "integers.h5")
    ok(b.run("get", d, out))
    for name, e in ((d, env), (out, {"HDF5_VOL_CONNECTOR": ""})):
        ok(b.run_any(b.filtered_rows, "see", name, env=e))
