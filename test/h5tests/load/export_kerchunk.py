#!/usr/bin/env python3
"""export_kerchunk.py: reference sets of h5bucket export, read by zarr-python over fsspec.

    export_kerchunk.py --bin DIR --plugin DIR --tool H5BUCKET --fixtures DIR

h5py reads the native file for comparison: values, attributes and names of dimensions are equal."""
import argparse
import collections.abc
import json
import math
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import distribution_python
from load_testing import Bench, check, data_of, failures

try:
    import fsspec
    import h5py
    import numcodecs
    import numpy as np
    import zarr
except ImportError as e:
    distribution_python.or_skip(e, "Debian's python3-h5py, python3-zarr and python3-fsspec read the sets")

if "fletcher32" not in numcodecs.registry.codec_registry:  # numcodecs before 0.12; as there, the checksum is cut off
    class Fletcher32(numcodecs.abc.Codec):
        codec_id = "fletcher32"

        def encode(self, buf):
            raise NotImplementedError

        def decode(self, buf, out=None):
            return numcodecs.compat.ndarray_copy(np.frombuffer(bytes(buf)[:-4], "u1"), out)

    numcodecs.registry.register_codec(Fletcher32)


def export(b, name, *options):
    path = os.path.join(b.files, "set.json")
    rc, out, err = b.run(b.o.tool, "export", "--force", *options, "--kerchunk", name, path, env={"H5BUCKET_ALLOW": "file://" + b.root})
    return rc, err, path


class Keys(collections.abc.MutableMapping):
    """fsspec's reference file system key by key: its mapper of 2022 ends at the first chunk that isn't stored."""

    def __init__(self, path):
        self.fs = fsspec.filesystem("reference", fo=path, skip_instance_cache=True)

    def __getitem__(self, key):
        if key not in self.fs.references:
            raise KeyError(key)
        return self.fs.cat_file(key)

    def __iter__(self):
        return iter(self.fs.references)

    def __len__(self):
        return len(self.fs.references)

    def __setitem__(self, key, value):
        raise NotImplementedError

    __delitem__ = __setitem__


def opened(path):
    return zarr.open_group(Keys(path), mode="r")


def plain(v):
    """A value of h5py's as JSON has it."""
    if isinstance(v, h5py.Empty):
        return "" if v.dtype.kind in "SO" else []
    if isinstance(v, np.ndarray):
        return [plain(x) for x in v]
    if isinstance(v, bytes):
        return v.decode()
    return v.item() if isinstance(v, np.generic) else v


def same(a, b):
    return (a == b) or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)) or \
        (isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b)))


def equal_values(want, got):
    if want.dtype == object:
        return [plain(x) for x in want.ravel()] == [plain(x) for x in got.ravel()]
    want, got = np.asarray(want), np.asarray(got)
    if want.dtype.kind != got.dtype.kind and {want.dtype.kind, got.dtype.kind} <= set("SUO"):
        return [plain(x) for x in want.ravel()] == [plain(x) for x in got.ravel()]
    if want.dtype.names:
        return want.dtype.names == got.dtype.names and all(equal_values(want[n], got[n]) for n in want.dtype.names)
    if want.dtype.kind in "fc":
        return want.dtype == got.dtype and np.array_equal(want, got, equal_nan=True)
    return want.shape == got.shape and want.astype(want.dtype.newbyteorder("=")).tobytes() == got.astype(want.dtype.newbyteorder("=")).tobytes()


OURS = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid"}


def compare(what, path, twin, left_out=()):
    """All that h5py sees in the native file is in the set, but for left_out."""
    g, seen = opened(path), []

    def visit(name, o):
        if name in left_out:
            check(f"{what}: {name} is left out", name not in g)
            return
        seen.append(name)
        z = g[name]
        if isinstance(o, h5py.Dataset):
            check(f"{what}: {name}", equal_values(o[()] if o.shape == () else o[...], z[()] if o.shape == () else z[...]), f"{o.dtype} {z.info}")
            names = [d.keys()[0].split("/")[-1] if len(d) else None for d in o.dims] if not h5py.h5ds.is_scale(o.id) else [name.split("/")[-1]]
            dims = z.attrs["_ARRAY_DIMENSIONS"]
            check(f"{what}: {name}: dimensions", len(dims) == len(o.shape) and all(n in (None, d) for n, d in zip(names, dims)), (names, dims))
        want, got = {k: plain(v) for k, v in o.attrs.items() if k not in OURS}, {k: v for k, v in dict(z.attrs).items() if k != "_ARRAY_DIMENSIONS"}
        check(f"{what}: {name}: attributes", want.keys() == got.keys() and all(same(want[k], got[k]) for k in want), (want, got))

    with h5py.File(twin, "r") as f:
        f.visititems(visit)
    check(f"{what}: something was compared", len(seen) > 0)
    return g


def make(path):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        f.attrs["title"] = "Tïtel"
        x = rng.integers(0, 99, (60, 50)).astype("<i4")
        f.create_dataset("plain", data=x, chunks=(16, 16))
        f.create_dataset("contiguous", data=x)
        f.create_dataset("zlib", data=x, chunks=(16, 16), compression="gzip", compression_opts=3)
        f.create_dataset("shuffled", data=x, chunks=(16, 16), compression="gzip", shuffle=True)
        f.create_dataset("checked", data=x, chunks=(16, 16), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("holes", (60, 50), "<f8", chunks=(16, 16), fillvalue=-1.5)[17:20, 20:30] = 4
        f.create_dataset("nan", (60, 50), ">f4", chunks=(16, 16), fillvalue=np.nan)[0, 0] = 4
        for t in ("|i1", "<u2", ">i8", "<f2", "<c8", ">c16", "|b1", "|S7"):
            f.create_dataset("t" + "lb"[t[0] == ">"] + t[1:], data=x.astype(t), chunks=(60, 10), compression="gzip")
        pair = np.zeros(300, [("a", "<i4"), ("b", ">f8", (2,))])
        pair["a"] = np.arange(300)
        pair["b"] = 1.5
        f.create_dataset("pair", data=pair, chunks=(100,), compression="gzip")
        f.create_dataset("words", data=np.array(["ä", "", "three"], object), dtype=h5py.string_dtype())
        f.create_dataset("small", data=np.arange(5))
        f.create_dataset("scalar", data=np.float32(4.5))
        f.create_dataset("nothing", (0, 3), "<i2")
        f.create_dataset("compact_" + "x" * 9, data=np.arange(3.0))
        grid = f.create_dataset("g/deep/grid", data=x[:20, :30], chunks=(20, 7), maxshape=(None, 30))
        for n, (name, size) in enumerate((("y", 20), ("x", 30))):
            s = f.create_dataset("g/deep/" + name, data=np.arange(size) * 0.5)
            s.make_scale(name)
            grid.dims[n].attach_scale(s)
        a = grid.attrs
        a["text"], a["texts"], a["number"], a["list"], a["table"] = "m s-1", ["a", "ö"], np.int16(-5), [1.5, np.nan], np.arange(6).reshape(2, 3)
        a["flag"], a["big"], a["none"], a["bytes"] = True, np.uint64(2**63 + 1), h5py.Empty("f8"), np.bytes_(b"fixed")


def forms(b):
    twin = os.path.join(b.files, "twin.h5")
    make(twin)
    os.mkdir(os.path.join(b.root, "bucket"))
    for form, options in (("copied", ()), ("linked", ("--link",))):
        rc, _, err = b.load("--force", *options, twin, b.domain(f"bucket/{form}.h5"))
        check(f"{form}: load", rc == 0, err)
    for what, name in (("file", twin), ("copied", b.domain("bucket/copied.h5")), ("linked", b.domain("bucket/linked.h5"))):
        rc, err, path = export(b, name)
        check(f"{what}: export", rc == 0, err)
        compare(what, path, twin)
        refs = json.load(open(path))["refs"]
        fill = lambda name: json.loads(refs[name + "/.zarray"])["fill_value"]
        check(f"{what}: a fill value stands only where chunks are missing", fill("zlib") is None and
              (what == "copied" or (fill("holes") == -1.5 and fill("nan") == "NaN")))
        urls = {v[0] for v in refs.values() if isinstance(v, list)}
        check(f"{what}: chunks stay where they are", (len(urls) > 30 and all("/db/" in u for u in urls)) if what == "copied" else
              [u.split("/")[-1] for u in urls] == ["twin.h5"], sorted(urls)[:5])
        check(f"{what}: most chunks are references", sum(isinstance(v, list) for v in refs.values()) > (30 if what == "copied" else 100), len(refs))
        rc, _, err = b.run(b.o.tool, "load", "--force", "--kerchunk", path, b.domain("bucket/back.h5"), env={"H5BUCKET_ALLOW": "file://" + b.root})
        check(f"{what}: load of the set", rc == 0, err)
        for name in ("zlib", "holes", "pair", "tlS7", "words", "g/deep/grid"):
            want = b.dump(twin, "-d", name)
            got = b.dump(b.domain("bucket/back.h5"), "-d", name, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_ALLOW": "file://" + b.root})
            check(f"{what}: {name} there and back", got[0] == 0 and data_of(want[1]) == data_of(got[1]), got[2])


def far(b):
    """References are exported as they are, whether this program may read their files or not."""
    refs = {".zgroup": '{"zarr_format": 2}'}
    for name, n in (("one", 3), ("several", 300), ("whole", 1)):
        refs[name + "/.zarray"] = json.dumps({"zarr_format": 2, "shape": [4 * n], "chunks": [4], "dtype": "<i4", "order": "C", "fill_value": 0, "filters": None,
                                              "compressor": None})
        refs.update({f"{name}/{i}": [f"s3://elsewhere/{name}{i % 7 if name == 'several' else ''}.bin", 16 * i, 16] for i in range(n)})
    source = os.path.join(b.files, "far.json")
    json.dump(refs, open(source, "w"))
    rc, _, err = b.load("--force", "--kerchunk", source, b.domain("far.h5"))
    check("far: load", rc == 0 and "H5BUCKET_ALLOW=s3://elsewhere" in err, err)
    rc, err, path = export(b, b.domain("far.h5"))
    got = json.load(open(path))["refs"]
    check("far: there and back", rc == 0 and {k: v for k, v in got.items() if "/." not in k and k[0] != "."} ==
          {k: v for k, v in refs.items() if "/." not in k and k[0] != "."}, err)


def odd(b):
    """What can't be expressed is named, left out, and counted by the exit code."""
    twin = os.path.join(b.files, "odd.h5")
    rng = np.random.default_rng(2)
    with h5py.File(twin, "w") as f:
        x = rng.integers(0, 9, (400, 400)).astype("<i4")
        f.create_dataset("good", data=x, chunks=(100, 100))
        f.create_dataset("lzf", data=np.tile(x, (2, 1)), chunks=(100, 100), compression="lzf")
        f.create_dataset("lzf_small", data=x[:40], chunks=(10, 100), compression="lzf")
        wide = np.tile(x, (3, 2))[:1024, :600]  # chunks that a domain doesn't put together
        f.create_dataset("masked", data=wide, chunks=(512, 600), compression="gzip").id.write_direct_chunk((0, 0), wide[:512].tobytes(), 1)
        f.create_dataset("masked_small", data=x[:40], chunks=(10, 100), compression="gzip").id.write_direct_chunk((0, 0), x[:10, :100].tobytes(), 1)
        f.create_dataset("refs", data=[f.ref], dtype=h5py.ref_dtype)
        f.create_dataset("lists", (3,), h5py.vlen_dtype("i4"))
        f.create_dataset("null", data=h5py.Empty("i4"))
        f.create_dataset("packed", data=np.ones(400, np.dtype({"names": ["a"], "formats": ["<i4"], "offsets": [4], "itemsize": 12})))
        f.create_dataset("many_words", data=np.array(["word %d" % i * 9 for i in range(30000)], object), dtype=h5py.string_dtype())
        f["type"] = np.dtype("i4")
        f["soft"], f["outside"], f["again"] = h5py.SoftLink("/good"), h5py.ExternalLink("x.h5", "/y"), f["good"]
        f["group/x"] = np.arange(3)
        f["other_name"], f["loop"] = f["group"], f["/"]
        t = h5py.h5t.create(h5py.h5t.COMPOUND, 12)
        t.insert(b"b", 4, h5py.h5t.IEEE_F64LE), t.insert(b"a", 0, h5py.h5t.STD_I32LE)
        h5py.h5d.create(f.id, b"unsorted", t, h5py.h5s.create_simple((400,)))
        f["good"].attrs.create("no_rows", np.zeros((3, 0), "i1"))
        f["good"].attrs["ref"], f["good"].attrs["pair"] = f.ref, np.zeros((), [("a", "i4")])
        f["good"].attrs["fine"] = 1
    named = {"lzf": "32000", "masked": "skip", "refs": "references", "lists": "sequences", "null": "null dataspace", "many_words": "1 MiB", "type": "committed",
             "soft": "soft link", "outside": "another file", "good": "attribute ref", "again": "attribute pair", "other_name": "another name", "loop": "another name", "unsorted": "order"}
    rc, _, err = b.load("--force", twin, b.domain("bucket/odd.h5"))
    check("odd: load", rc == 0, err)
    for what, name in (("odd file", twin), ("odd domain", b.domain("bucket/odd.h5"))):
        rc, err, path = export(b, name)
        count = err.strip().split("\n")[-1]
        wanted = {**named, **({"lzf_small": "plugin"} if what == "odd file" else {})}  # HDF5's own reader has no lzf
        check(f"{what}: exit code and summary", rc == 1 and f"written without {len(err.strip().splitlines()) - 1} parts" in count, err)
        for part, words in wanted.items():
            check(f"{what}: {part} is named", any(f": {part}: " in l and words in l for l in err.split("\n")), err)
        g = opened(path)
        with h5py.File(twin, "r") as f:
            for part in ("good", "again", "masked_small", "packed", *(["lzf_small"] if what == "odd domain" else [])):
                check(f"{what}: {part} is there", equal_values(f[part][...], g[part][...]))
        check(f"{what}: the rest isn't", not any(p in g for p in wanted if p not in ("good", "again")), list(g))
        check(f"{what}: its other attribute", g["good"].attrs["fine"] == 1)
    for args, code, words in (((twin,), 2, "FILE"), ((twin, path), 2, "--kerchunk"), (("--kerchunk", twin, path), 1, "exists"),
                              (("--kerchunk", twin, "/nonexistent/x"), 1, "/nonexistent"), (("--kerchunk", "/nonexistent", path + "2"), 1, "/nonexistent")):
        rc, _, err = b.run(b.o.tool, "export", *args)
        check(f"errors: {words}", rc == code and words in err, err)
    check("errors: nothing is left behind", not [f for f in os.listdir(b.files) if ".part-" in f or f.endswith("2")], os.listdir(b.files))


def in_s3(b):
    """A domain's set names its objects in S3, and another domain refers to them."""
    twin, home = os.path.join(b.files, "twin.h5"), f"s3://hsopen/home/kerchunk-{os.getpid()}"
    make(twin)
    rc, _, err = b.run(b.o.tool, "touch", home)
    check("S3: a folder", rc == 0, err)
    rc, _, err = b.load(twin, home + "/first.h5")
    check("S3: load", rc == 0, err)
    rc, err, path = export(b, home + "/first.h5")
    check("S3: export", rc == 0, err)
    urls = [v[0] for v in json.load(open(path))["refs"].values() if isinstance(v, list)]
    check("S3: objects by their URLs", len(urls) > 30 and all(u.startswith("s3://hsopen/db/") for u in urls), urls[:3])
    rc, _, err = b.run(b.o.tool, "load", "-v", "--kerchunk", path, home + "/second.h5")
    check("S3: load of the set", rc == 0 and "zlib: copied" not in err, err)
    for part in ("plain", "contiguous", "zlib", "holes", "pair", "words"):
        want, got = b.dump(twin, "-d", part), b.dump(home + "/second.h5", "-d", part, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_STATS": "1"})
        check(f"S3: {part}", got[0] == 0 and data_of(want[1]) == data_of(got[1]) and "h5bucket: GET" in got[2], got[2])
    rc, err, path = export(b, twin)
    check("S3: export of a file here", rc == 0, err)
    rc, _, err = b.run(b.o.tool, "load", "--kerchunk", path, home + "/third.h5", env={"H5BUCKET_ALLOW": "file:///"})
    check("S3: a domain there can't refer to files here", rc == 1 and "can't refer to a local file" in err, err)
    rc, _, err = b.run(b.o.tool, "rm", "-r", "--yes", home)
    check("S3: nothing is left", rc == 0, err)


def hsds(b):
    """Chunk objects as HSDS wrote them: blosc frames, plain bytes, partitions, references."""
    folder = os.path.join(b.o.fixtures, "hsopen", "home", "test_user1", "fx")
    twins = os.path.join(b.o.fixtures, "native")
    n = 0
    for name in sorted(os.listdir(folder)):
        twin = os.path.join(twins, name)
        if not os.path.isfile(twin) or not os.path.exists(os.path.join(folder, name, ".domain.json")):
            continue
        rc, err, path = export(b, os.path.join(folder, name))
        lost = {l.split(": ")[1].split(": ")[0] for l in err.split("\n") if ": left out: " in l and "attribute" not in l}
        try:
            g = opened(path)
        except Exception as e:
            check(f"HSDS {name}", False, f"{e} {err}")
            continue

        def visit(part, o):
            nonlocal n
            if not isinstance(o, h5py.Dataset) or part in lost or part not in g:
                return
            try:
                want = o[()]
            except Exception:  # this h5py can't read it
                return
            got = g[part][()]
            n += 1
            check(f"HSDS {name}: {part}", equal_values(np.asarray(want), np.asarray(got)), f"{err}\n{g[part].info}\n{want!r}\n{got!r}"[:1500])

        with h5py.File(twin, "r") as f:
            f.visititems(visit)
    check("HSDS: many datasets were compared", n > 50, n)


def main():
    p = argparse.ArgumentParser()
    for name in ("bin", "plugin", "tool", "fixtures"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--only")
    p.add_argument("--store", choices=("dir", "s3"), default="dir")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="bkt-export-") as folder:
        b = Bench(o, folder)
        for part in (in_s3,) if o.store == "s3" else (forms, far, odd, hsds):
            if not o.only or o.only == part.__name__:
                part(b)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
