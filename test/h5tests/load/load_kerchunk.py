#!/usr/bin/env python3
"""load_kerchunk.py: domains of kerchunk reference sets, read by h5dump through the connector.

    load_kerchunk.py --bin DIR --plugin DIR --tool H5BUCKET

numcodecs encodes the chunks, as Zarr does.  h5py writes the same values to a native file for comparison: h5dump prints the same data."""
import argparse
import base64
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import struct
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import distribution_python
import sample
import web_folder
from load_testing import Bench, check, data_of, failures

try:
    import h5py
    import numcodecs
    import numpy as np
    import parquet_files
except ImportError as e:
    distribution_python.or_skip(e, "Debian's python3-h5py and python3-zarr make the sets and compare them")


class Set:
    """A reference set in the making, and the values that it stands for."""

    def __init__(self, b, name):
        self.b, self.name, self.refs, self.values, self.blob = b, name, {".zgroup": '{"zarr_format": 2}'}, {}, bytearray(b"front")
        self.places, self.copied = [], []
        self.url = os.path.join(b.files, name + ".bin")

    def place(self, data):
        self.blob += data + b"gap"
        self.places.append((len(self.blob) - len(data) - 3, len(data)))
        return self.places[-1]

    def add(self, name, values, chunks, codecs=(), compressor=None, order="C", separator=".", dtype=None, fill=0, inline=(), leave=(),
            attrs=None, encode=None, copied=False, whole_files=False):
        """Chunks whose number is in inline lie in the set, those in leave are not stored.  encode: of one chunk, in place of
        the codecs' own."""
        values = np.asarray(values)
        dtype = dtype or (values.dtype.descr if values.dtype.names else values.dtype.str)
        chain = list(codecs) + ([compressor] if compressor else [])
        self.refs[name + "/.zarray"] = json.dumps({
            "zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": dtype, "order": order, "fill_value": fill,
            "filters": [c.get_config() for c in codecs] or None, "compressor": compressor and compressor.get_config(),
            **({"dimension_separator": separator} if separator != "." else {})})
        if attrs:
            self.refs[name + "/.zattrs"] = json.dumps(attrs)
        grid = [range(-(-d // c)) for d, c in zip(values.shape, chunks)]
        result = values.copy()
        for n, at in enumerate(itertools.product(*grid)):
            cut = tuple(slice(i * c, min((i + 1) * c, d)) for i, c, d in zip(at, chunks, values.shape))
            if n in leave:
                result[cut] = fill
                continue
            whole = np.full(chunks, "" if values.dtype == object else np.zeros((), values.dtype)[()], values.dtype)
            whole[tuple(slice(0, s.stop - s.start) for s in cut)] = values[cut]
            data = np.asarray(whole, order=order).tobytes(order) if values.dtype != object else whole
            for c in ([] if encode else chain):
                data = c.encode(np.frombuffer(data, values.dtype) if c is chain[0] and values.dtype != object and not values.dtype.names else data)
            data = encode(whole) if encode else bytes(data)
            key = name + "/" + (separator.join(map(str, at)) or "0")
            if n in inline:
                self.refs[key] = "base64:" + base64.b64encode(data).decode()
            elif whole_files:
                where = f"{self.url}.{name}.{n}"
                open(where, "wb").write(data)
                self.refs[key] = [where]
            else:
                self.refs[key] = [self.url, *self.place(data)]
        self.values[name] = result
        if copied:
            self.copied.append(name)

    def write(self, **version):
        open(self.url, "wb").write(self.blob)
        path = os.path.join(self.b.files, self.name + ".json")
        json.dump({**version, "refs": self.refs} if version else self.refs, open(path, "w"))
        return path

    def twin(self):
        """The native file of the same values."""
        path = os.path.join(self.b.files, self.name + "-twin.h5")
        with h5py.File(path, "w") as f:
            for name, v in self.values.items():
                if v.dtype.kind == "U":
                    f.create_dataset(name, data=np.char.encode(v, "utf-8").astype(h5py.string_dtype("utf-8", v.dtype.itemsize)))
                elif v.dtype == object:
                    f.create_dataset(name, data=v, dtype=h5py.string_dtype())
                else:
                    f.create_dataset(name, data=v.view("i8") if v.dtype.kind == "M" else v)
        return path


def all_data(text):
    """The data of all datasets in the output of h5dump, by path."""
    out, stack, taking = {}, [], None
    for line in text.split("\n"):
        at = len(line) - len(line.lstrip(" "))
        m = re.match(r' *(?:GROUP|DATASET) "(.*)" \{$', line)
        if m:
            stack = stack[:at // 3] + [m.group(1)]
        elif taking is not None and at == taking and line.strip() == "}":
            taking = None
        elif taking is not None:
            out[path].append(line.strip())
        elif line.strip() == "DATA {" and at == 3 * len(stack):
            path, taking = "/".join(stack[1:]), at
            out[path] = []
    return out


def load(b, path, domain, *options, allow=True):
    return b.run(b.o.tool, "load", "--force", "-v", *options, "--kerchunk", path, domain, env={"H5BUCKET_ALLOW": "file://" + b.files} if allow else {})


def compare(b, s, path, domain):
    rc, _, err = load(b, path, domain)
    check(f"{s.name}: load", rc == 0, err)
    check(f"{s.name}: what is copied", sorted(l.split(":")[0] for l in err.split("\n") if ": copied: " in l) == sorted(s.copied), err)
    want = b.dump(s.twin())
    got = b.dump(domain, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_STATS": "1", "H5BUCKET_ALLOW": "file://" + b.files})
    check(f"{s.name}: read through the connector", want[0] == got[0] == 0 and "h5bucket: GET" in got[2], got[2])
    right, ours = all_data(want[1]), all_data(got[1])
    for name in s.values:
        check(f"{s.name}: {name}", name in right and right[name] == ours.get(name), f"{right.get(name)}\n{ours.get(name)}"[:1500])


C = numcodecs
X = np.arange(7 * 10, dtype="<f4").reshape(7, 10) / 3


def fletcher(data):
    """HDF5's checksum, in case numcodecs is older than its codec for it."""
    words = np.frombuffer(data + b"\0" * (len(data) % 2), ">u2").astype(np.uint64)
    a = b = 0
    for w in words.tolist():
        a = (a + w) % 65535
        b = (b + a) % 65535
    return data + struct.pack("<I", b << 16 | a)


def codecs(b):
    s = Set(b, "codecs")
    s.add("plain", X, (3, 4))
    s.add("zlib", X, (3, 4), [C.Shuffle(4)], C.Zlib(4))
    s.add("filters_only", X, (3, 4), [C.Shuffle(4), C.Zlib(1)])
    s.add("zstd", X, (3, 4), compressor=C.Zstd(3))
    s.add("bz2", X, (3, 4), compressor=C.BZ2(9))
    for cname, shuffle in (("lz4", 1), ("zstd", 2), ("zlib", 0), ("blosclz", 1), ("lz4hc", 2)):
        s.add("blosc_" + cname, X, (3, 4), compressor=C.Blosc(cname, 5, shuffle))
    s.add("lz4", X, (3, 4), compressor=C.LZ4(), copied=True)
    s.add("lz4_random", np.random.default_rng(1).integers(0, 255, (40, 40)).astype("u1"), (16, 16), compressor=C.LZ4(), copied=True)
    s.add("packed_twice", np.random.default_rng(2).integers(0, 256, (200, 200)).astype("u1"), (200, 200), [C.LZ4()], C.Zlib(1), copied=True)
    s.add("other_shuffle", X, (3, 4), [C.Shuffle(2)], C.Zlib(1), copied=True)
    s.refs["checked/.zarray"] = json.dumps({"zarr_format": 2, "shape": [7, 10], "chunks": [7, 10], "dtype": "<f4", "order": "C", "fill_value": 0,
                                            "filters": [{"id": "fletcher32"}], "compressor": None})
    s.refs["checked/0.0"] = [s.url, *s.place(fletcher(X.tobytes()))]
    s.values["checked"] = X
    s.add("f_order", X, (3, 4), compressor=C.Zlib(1), order="F", copied=True)
    s.add("f_cube", np.arange(5 * 6 * 7, dtype="<i2").reshape(5, 6, 7), (2, 4, 3), order="F", copied=True)
    s.add("f_of_one_row", X, (1, 4), order="F")
    s.add("slashes", X, (3, 4), compressor=C.Zlib(1), separator="/")
    s.add("holes", X, (3, 4), compressor=C.Zlib(1), leave=(0, 5), fill=-1.5)
    s.add("inline", X, (3, 4), compressor=C.Zlib(1), inline=range(9), copied=True)
    s.add("partly_inline", X, (3, 4), compressor=C.Zlib(1), inline=(2, 5))
    s.add("partly_plain", X, (3, 4), inline=(0,))
    s.add("whole_files", X, (3, 4), compressor=C.Zstd(1), whole_files=True)
    s.add("whole", X, (7, 10))
    s.add("large_chunk", X, (16, 16), compressor=C.Zlib(1))
    s.add("large_plain_chunk", X, (16, 16))
    s.add("many", np.arange(3000, dtype="<i4"), (5,), compressor=C.Zlib(1))
    s.add("none", np.zeros((0, 3)), (1, 3))
    compare(b, s, s.write(), b.domain("codecs-0.h5"))
    compare(b, s, s.write(version=1), b.domain("codecs-1.h5"))
    s.name = "parquet"
    variants = [(c, v, d) for c in parquet_files.CODECS for v in (1, 2) for d in (False, True)]
    for n, (codec, version, dictionary) in enumerate(variants):
        if n % sample.step(5):
            continue
        folder = os.path.join(b.files, f"{codec}-{version}-{dictionary:d}.parq")
        parquet_files.folder(folder, s.refs, (7, 1000)[n % 2], codec, version, dictionary, in_pages=(3, 999)[n // 2 % 2], in_groups=(5, 999)[n // 4 % 2])
        compare(b, s, folder, b.domain(f"form-{n}.h5"))
    print(f"{len(variants)} forms of Parquet files{sample.note()}")
    rc, out, err = b.verify("codecs-0.h5", "--deep")
    check("codecs: verify", rc == 0, out + err)
    layouts = [json.load(open(os.path.join(top, ".dataset.json")))["creationProperties"]["layout"]["class"]
               for top, _, names in os.walk(os.path.join(b.root, "db")) if ".dataset.json" in names]
    for cls in ("H5D_CONTIGUOUS_REF", "H5D_CHUNKED_REF", "H5D_CHUNKED_REF_INDIRECT"):
        check(f"codecs: {cls} is used", cls in layouts, layouts)


def kept(b):
    """Chunks of a set's own, in an array whose other chunks are referred to, are a file of the domain."""
    s = Set(b, "kept")
    s.add("mixed", X, (3, 4), compressor=C.Zlib(1), inline=(2, 5))
    buckets = tempfile.TemporaryDirectory(prefix="bkt-kept-")  # outside of the other parts' bucket
    path, home = s.write(), os.path.join(buckets.name, "kept")
    os.mkdir(home)
    domain = os.path.join(home, "one.h5")
    rc, _, err = load(b, path, domain)
    files = lambda: [os.path.join(top, n) for top, _, names in os.walk(home) for n in names if n == ".h5bucket-inline"]
    check("kept: one file", rc == 0 and len(files()) == 1, (err, files()))
    rc, out, err = b.run(b.o.tool, "verify", "--deep", domain)
    check("kept: verify", rc == 0, out + err)
    for verb in ("cp", "mv"):
        target = os.path.join(buckets.name, "kept2", "two.h5") if verb == "mv" else os.path.join(home, "two.h5")
        os.makedirs(os.path.join(buckets.name, "kept2", "db"), exist_ok=True)
        rc, _, err = b.run(b.o.tool, verb, domain, target)
        check(f"kept: {verb} is refused, with the remedy", rc == 1 and ".h5bucket-inline" in err and "get and load" in err, err)
    rc, _, err = b.run(b.o.tool, "mv", domain, os.path.join(home, "three.h5"))
    check("kept: another name in the bucket", rc == 0, err)
    got = b.dump(os.path.join(home, "three.h5"), "-d", "mixed", env={"HDF5_VOL_CONNECTOR": "bucket"})
    check("kept: it is read", data_of(b.dump(s.twin(), "-d", "mixed")[1]) == data_of(got[1]), got)
    rc, _, err = b.run(b.o.tool, "rm", os.path.join(home, "three.h5"))
    check("kept: rm takes the file along", rc == 0 and not files(), (err, files()))
    buckets.cleanup()


def dtypes(b):
    s = Set(b, "dtypes")
    for t in ("|i1", "|u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">u8", "<f2", ">f2", ">f4", ">f8"):
        s.add("t" + "lb"[t[0] == ">"] + t[1:], np.arange(12).astype(t), (5,), compressor=C.Zlib(1), leave=(0,), fill=7)
    s.add("bool", np.array([True, False, True]), (2,), leave=(1,), fill=True)
    s.add("nan", np.arange(6, dtype="<f8"), (3,), leave=(0,), fill=0)
    s.refs["nan/.zarray"] = s.refs["nan/.zarray"].replace('"fill_value": 0', '"fill_value": "NaN"')
    s.values["nan"][:3] = np.nan
    for t in ("<c8", "<c16"):
        s.add(t[1:], (np.arange(6) + 2j).astype(t), (4,), compressor=C.Zlib(1))
    s.add("bytes", np.array([b"a", b"bcd", b""], "S4"), (2,), leave=(1,), fill="")
    s.refs["bytes/.zarray"] = s.refs["bytes/.zarray"].replace('"fill_value": ""', '"fill_value": "' + base64.b64encode(b"none").decode() + '"')
    s.values["bytes"][2] = b"none"
    for order in "<>":
        s.add("text_" + "lb"[order == ">"], np.array(["ä", "b\U0001f600d", ""], order + "U4"), (2,), fill="", copied=True)
    s.add("strings", np.array(["ä", "", "long " * 30, "\U0001f600", "e"], object), (2,), [C.VLenUTF8()], C.Zlib(1), dtype="|O", fill=None, copied=True)
    s.add("time", np.array(["2020-01-01", "2021-06-01"], "M8[ns]"), (2,))
    pair = np.array([(1, [1.5, 2.5]), (2, [3.5, 4.5])], [("a", ">i4"), ("b", "<f4", (2,))])
    s.add("pair", pair, (1,), compressor=C.Zlib(1), dtype=[["a", ">i4"], ["b", "<f4", [2]]], fill=None)
    s.add("scalar", np.array(42, ">i2"), ())
    s.add("packed_scalar", np.array(4.25), (), compressor=C.Zlib(1), copied=True)
    compare(b, s, s.write(version=1), b.domain("dtypes.h5"))
    alone = Set(b, "alone")
    alone.add("data", X, (3, 4), compressor=C.Zlib(1))
    alone.refs = {k.removeprefix("data/"): v for k, v in alone.refs.items() if k != ".zgroup"}
    compare(b, alone, alone.write(), b.domain("alone.h5"))


def attributes(b):
    s = Set(b, "attributes")
    s.refs["g/.zgroup"] = '{"zarr_format": 2}'
    s.refs[".zattrs"] = {"title": "Tïtel", "nothing": None, "deep": {"a": [1, {"b": 2}]}}
    s.add("x", np.arange(4.0), (4,), attrs={"_ARRAY_DIMENSIONS": ["x"], "units": "m"})
    s.add("v", np.arange(12, dtype="<i2").reshape(3, 4), (3, 4), attrs={"_ARRAY_DIMENSIONS": ["y", "x"], "_FillValue": -1, "big": 2**63 + 5,
          "real": [1, 2.5], "texts": ["a", "ö"], "empty": [], "flag": True, "NAME": "not a scale", "nan": float("nan")})
    s.add("g/w", np.arange(4, dtype="<i2"), (4,), attrs={"_ARRAY_DIMENSIONS": ["x"]})
    s.add("t", np.array(["2020-01-01"], "M8[s]"), (1,), attrs={"_ARRAY_DIMENSIONS": ["t"]})
    compare(b, s, s.write(version=1), b.domain("attributes.h5"))
    for name, words in {
            "/title": ('"T\\37777777703\\37777777657tel"',), "/deep": ('"a": [1, {', '"b": 2'), "/v/_FillValue": ("H5T_STD_I16LE", "-1"),
            "/v/big": ("H5T_STD_U64LE", "9223372036854775813"), "/v/real": ("H5T_IEEE_F64LE", "1, 2.5"), "/v/texts": ("H5T_VARIABLE",),
            "/v/empty": ("NULL",), "/v/flag": ("(0): 1",), "/v/nan": ("nan",), "/t/units": ("seconds since 1970-01-01",),
            "/v/DIMENSION_LIST": ('"/y"', '"/x"'), "/g/w/DIMENSION_LIST": ('"/x"',), "/x/REFERENCE_LIST": ('"/v"', '"/g/w"'),
            "/x/CLASS": ("DIMENSION_SCALE",), "/y/NAME": ("This is a netCDF dimension but not a netCDF variable.         3",)}.items():
        rc, out, err = b.dump_domain("attributes.h5", "-a", name)
        check(f"attributes: {name}", rc == 0 and all(w in out.replace("\\\"", '"') for w in words), out + err)
    rc, out, err = b.dump_domain("attributes.h5", "-a", "/v/NAME")
    check("attributes: HDF5's own names are left out", rc != 0, out)


def templates(b):
    s = Set(b, "templates")
    s.add("a", np.arange(20, dtype="<i4"), (2,))
    s.write()
    for i in range(10):
        del s.refs[f"a/{i}"]
    first, step = s.places[0][0], s.places[1][0] - s.places[0][0]
    cases = {
        "gen": ({"d": b.files, "u": "{{d}}/templates{{ext(n='bin')}}", "ext": ".{{n}}"},
                [{"key": "a/{{i}}", "url": "{{u}}", "offset": f"{{{{ {first} + i * {step} }}}}", "length": "{{ 2*4 }}", "dimensions": {"i": {"stop": 10}}}], {}),
        "lists": ({"u": s.url}, [{"key": "a/{{ j*5 + i }}", "url": "{{u}}", "offset": f"{{{{ {first} + (5*j+i)*{step} }}}}", "length": 8,
                                  "dimensions": {"j": [0, 1], "i": {"start": 4, "stop": -1, "step": -1}}}], {}),
        "refs": ({"u": s.url, "f": b.files + "/{{ 'temp' ~ c }}.bin"}, [],
                 {f"a/{i}": ["{{u}}" if i % 2 else "{{f(c='lates')}}", first + i * step, 8] for i in range(10)}),
        "format": ({}, [{"key": "a/{{ '%d' % i }}", "url": s.url,
                         "offset": f"{{{{ {first} + i*{step} }}}}", "length": "{{ '%d'|format(8) }}",
                         "dimensions": {"i": {"start": 0, "stop": 10, "step": 1}}}], {})}
    for name, (t, gen, refs) in cases.items():
        path = os.path.join(b.files, f"templates-{name}.json")
        json.dump({"version": 1, "templates": t, "gen": gen, "refs": {**s.refs, **refs}}, open(path, "w"))
        s.name = "templates-" + name
        compare(b, s, path, b.domain(s.name + ".h5"))


ARRAY = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "order": "C", "fill_value": 0, "filters": None, "compressor": None}


def hostile(b):
    """(what the set has, words of the error).  Each load fails, and leaves nothing."""
    def array(chunk=None, **changes):
        return {"a/.zarray": json.dumps({**ARRAY, **changes}), "a/0": chunk or ["/x", 0, 8]}

    outside = tempfile.NamedTemporaryFile()  # neither in the domain's bucket nor in what allow names
    outside.write(b"12345678")
    outside.flush()
    secret = outside.name
    lz4 = {"id": "lz4"}
    inline = lambda data: "base64:" + base64.b64encode(data).decode()
    deep = "[" * 100 + "]" * 100
    cases = [
        ("", "not a reference set"), ("[]", "not a reference set"), ("{", "not JSON"), ("{}", "no arrays"), ('{"version": 2, "refs": {}}', "version 2"),
        ('{"version": 1}', "neither refs nor gen"), ('{"version": 1, "refs": []}', "not JSON"), ({"a/.zarray": 5}, "neither data nor a reference"),
        ({"a/.zarray": ["/x", 0]}, "not of the form"), ({"a/.zarray": ["/x", -1, 5]}, "impossible offset"), ({"a/.zarray": [5]}, "not of the form"),
        ({"a/.zarray": ["/x", 0, 1, 2]}, "not of the form"), ({"a/.zarray": ["/x", 2**62, 2**62]}, "impossible offset"),
        ({"a/.zarray": ["/x", 1.5, 8]}, "impossible offset"), ({"a/.zarray": ["/x", 0, 8]}, "outside of the set"),
        ({"a/.zarray": "base64:!!!"}, "not base64"), ({"a/.zarray": "{"}, ".zarray"), ({"a/.zarray": "5 "}, "zarr_format"),
        ({"a/.zarray": '{"zarr_format": 2, "x": ' + deep + "}"}, "not JSON"), ({"zarr.json": {}, **array()}, "version 3"),
        ({"../a/.zarray": json.dumps(ARRAY)}, "components"), ({"a//b/.zarray": json.dumps(ARRAY)}, "components"),
        ({"./.zarray": json.dumps(ARRAY)}, "components"), ({"/a/.zarray": json.dumps(ARRAY)}, "components"),
        ({"/".join("d" * 200) + "/.zarray": json.dumps(ARRAY)}, "components"), ({"": "x", **array()}, "key: it is empty"),
        (array(zarr_format=3), "zarr_format 3"), (array(shape=[-1]), "shape"), (array(shape=[4, 4]), "chunks: 1 dimensions"),
        (array(shape="x"), "shape"), (array(chunks=[0]), "a size of 0"), (array(shape=[2] * 33, chunks=[1] * 33), "33 dimensions"),
        (array(shape=[2**62, 2**62], chunks=[1, 1]), "2^63 chunks"), (array(chunks=[2**61]), "4 GiB"), (array(chunks=[2**40, 2**40], shape=[1, 1]), "chunks"),
        (array(order="X"), "order"), (array(dimension_separator="-"), "dimension_separator"), (array(dtype="<f16"), "<f16"),
        (array(dtype="<i3"), "<i3"), (array(dtype="|O"), "vlen-utf8"), (array(dtype="|S0"), "|S0"), (array(dtype=["x"]), "member"), (array(dtype=[]), "no members"),
        (array(dtype=[["a", "<i4"], ["a", "<i4"]]), "compound"), (array(dtype=[["a", "<i4", [2**31, 2**31]]]), "impossible shape"),
        (array(dtype=[["a", "<U4"]]), "member a"), (array(dtype="|V99999999999"), "|V99999999999"), (array(fill_value=2**31), "fill_value"),
        (array(fill_value="x"), "fill_value"), (array(fill_value=[1, 2]), "fill_value"), (array(fill_value=0.5), "fill_value"),
        (array(dtype="|S4", fill_value="AAAAAAAAAAA="), "fill_value"), (array(filters=[{"id": "fixedscaleoffset", "scale": 1}]), "fixedscaleoffset"),
        (array(filters=[{"id": "delta"}]), "delta"), (array(compressor={"id": "gzip"}), "gzip"), (array(compressor={"id": "unheard"}), "unheard"),
        (array(compressor={}), "codec: it has no id"), (array(filters="x"), "filters"), (array(filters=[{"id": "zlib"}] * 20), "more than 16 codecs"),
        (array(compressor={"id": "blosc", "cname": "odd"}), "blosc"), ({**array(), "a/2": ["/x", 0, 8]}, "not a chunk of its grid"),
        ({**array(), "a/00": ["/x", 0, 8]}, "not a chunk of its grid"), ({**array(), "a/0.0": ["/x", 0, 8]}, "not a chunk of its grid"),
        ({**array(), "a/99999999999999999999": ["/x", 0, 8]}, "not a chunk of its grid"), (array(["/x", 0, 7]), "7 bytes are stored, a chunk has 8"),
        (array(["gs://b/k", 0, 8]), "gs://b/k"), (array(["https://h/k?secret=1", 0, 8]), "query"), (array(["/x", 8, None]), "impossible offset"),
        (array(dtype=[["a", "<f8"], ["b", "|i1"]], fill_value=[1, 2]), "fill_value"), (array(filters=[{"id": "shuffle", "elementsize": 70000}]), "shuffle"),
        (array(dtype=[[f"m{i}", "|i1"] for i in range(70000)]), "65535 members"), (array(["", 0, 8]), "a URL that is empty"),
        (array(inline(b"1234567"), compressor=None), "7 bytes"), (array(inline(b"123456789")), "9 bytes"), (array("plain text"), "10 bytes"),
        (array(inline(b"\x08\0\0\0"), compressor=lz4), "lz4"), (array(inline(b"x"), compressor=lz4), "too short"),
        (array(inline(b"\xff\xff\xff\x7f" + bytes(9)), compressor=lz4), "lz4"), (array(inline(b"junk"), compressor={"id": "zlib"}), "zlib"),
        (array(inline(C.Zlib(9).encode(bytes(50_000_000))), compressor={"id": "zlib"}), "zlib"), (array(inline(b"junk"), compressor={"id": "zstd"}), "zstd"),
        (array(inline(b"junk"), compressor={"id": "blosc"}), "blosc"), (array(inline(struct.pack("<II", 2, 4) + b"abcd"), dtype="|O", filters=[{"id": "vlen-utf8"}]), "string 1"),
        (array(inline(struct.pack("<I", 3)), dtype="|O", filters=[{"id": "vlen-utf8"}]), "2 strings"),
        (array(inline(struct.pack("<II", 2, 1) + b"\0" + struct.pack("<I", 0)), dtype="|O", filters=[{"id": "vlen-utf8"}]), "NUL"),
        (array(inline(struct.pack("<II", 0xd800, 0)), dtype="<U1"), "not Unicode"), (array([secret, 0, 8], order="C", compressor=lz4), "allow"),
        (array([b.files + "/../.." + secret, 0, 8], compressor=lz4), "components"), (array(["file://" + b.files + "/../../" + secret, 0, 8], compressor=lz4), "components"),
        (array(["http://127.0.0.1:1/k", 0, 8], compressor=lz4), "allow"), (array(["s3://elsewhere/k", 0, 8], compressor=lz4), "allow"),
        ({**array(), "a/.zattrs": "[]"}, ".zattrs"), ({**array(), "a/.zattrs": '{"x": 1e999999, "x": [1, "' + "\\ud800" + '"]}'}, ".zattrs"),
        ({**array(), "a/b/.zarray": json.dumps(ARRAY)}, "not a chunk of its grid"), ({**array(), "a/.zattrs": {"": 1}}, "attribute"),
    ]
    gen = lambda **g: json.dumps({"version": 1, "templates": g.pop("templates", {}), "refs": array(), "gen": [{"key": "a/1", "url": "/x", **g}]})
    cases += [
        (gen(url="{{u}}"), "u"), (gen(url="{{"), "{{ without }}"), (gen(url="{{ 1 / 2 }}"), "//"), (gen(url="{{ 1 // 0 }}"), "zero"),
        (gen(url="{{ [1] }}"), "template"), (gen(url="{{ 9999999999 * 9999999999 }}"), "64 bits"), (gen(url="{{ x.y }}"), "x"), (gen(url="{{ " + "(" * 99), "template"),
        (gen(url="{{ " + "(" * 99 + "1" + ")" * 99 + " }}"), "nested"), (gen(templates={"u": "{{u}}"}, url="{{u}}"), "nested"), (gen(key="a/{{ 'x' * 3 }}"), "text"),
        (gen(templates={**{f"t{i}": f"{{{{t{i + 1}}}}}{{{{t{i + 1}}}}}" for i in range(15)}, "t15": "x" * 99}, url="{{t0}}"), "parts of text"),
        (gen(url="{{ '%5s' % 'x' }}"), "formatted"), (gen(templates={"u": "x" * 9000 + "%s"}, url="{{ u" + " % u" * 50 + " }}"), "too long"),
        (gen(offset="x", length=8), "offset"), (gen(offset=8), "without a length"), (gen(dimensions={"i": {"stop": 2**62}}), "gen: more than"),
        (gen(dimensions={"i": {"stop": 2**62, "step": 0}}), "dimension i"), (gen(dimensions={"i": {}}), "dimension i"), (gen(dimensions={"i": [[]]}), "dimension i"),
        (gen(dimensions={"i": {"stop": 2**62}, "j": []}), "too many"), (gen(dimensions=[]), "malformed"), (gen(dimensions={"i": {"stop": 1.5}}), "dimension i"),
    ]
    refused(b, "hostile", cases[::sample.step(3)])
    print(f"{len(cases[::sample.step(3)])} of {len(cases)} hostile sets{sample.note()}")


def refused(b, what, cases):
    """Loads that fail with these words and leave nothing; a content is JSON, or (file name, bytes) of a Parquet set."""
    def one(n, content):
        path, domain = os.path.join(b.files, f"{what}-{n}.json"), b.domain(f"{what}-{n}.h5")
        if isinstance(content, dict) and "parquet" in content:
            path = os.path.join(b.files, f"{what}-{n}.parq")
            shutil.copytree(content["parquet"], path)
            open(os.path.join(path, content["file"]), "wb").write(content["bytes"])
        else:
            open(path, "w").write(content if isinstance(content, str) else json.dumps(content))
        rc, _, err = load(b, path, domain)
        return rc, err, os.path.exists(domain)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = pool.map(one, range(len(cases)), [c[0] for c in cases])
        for n, ((content, word), (rc, err, there)) in enumerate(zip(cases, results)):
            sane = "Sanitizer" not in err and "runtime error" not in err
            check(f"{what} {n}: {word}", rc == 1 and word in err and sane and not there, f"{rc} {str(content)[:300]} {err}")


def written_by_others(b):
    """Sets of fastparquet and pyarrow (parquet_sets/README.md)."""
    sets = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parquet_sets")
    rows = np.random.default_rng(5).integers(0, 254, (40, 8)).astype("u1")
    for n, name in enumerate(("first.bin", "second.bin")):
        open(os.path.join(b.files, name), "wb").write(b"".join(r.tobytes() if i % 2 == n else b"\xfe" * 8 for i, r in enumerate(rows)))
    rows[9].tofile(os.path.join(b.files, "whole.bin"))
    rows[5], rows[7] = 255, np.frombuffer(b"inline!!", "u1")
    s = Set(b, "others")
    s.values["a"] = rows
    for name in ("fastparquet-1", "fastparquet-10", "pyarrow-1", "pyarrow-10"):
        s.name = name
        compare(b, s, os.path.join(sets, name + ".parq"), b.domain(name + ".h5"))


def parquet(b):
    """Faults of Parquet files.  Changed bytes must not end the program, whatever they mean."""
    s = Set(b, "pq")
    s.add("a", np.arange(12, dtype="<i4"), (2,), inline=(3,), leave=(4,))
    s.add("g/b", np.arange(4, dtype="<i4"), (2,))
    s.write()
    good = os.path.join(b.files, "good.parq")
    parquet_files.folder(good, s.refs, 4)
    metadata = json.load(open(os.path.join(good, ".zmetadata")))
    table = open(os.path.join(good, "a/refs.0.parq"), "rb").read()
    meta = lambda **m: {"parquet": good, "file": ".zmetadata", "bytes": json.dumps({**metadata, **m}).encode()}
    pq = lambda data: {"parquet": good, "file": "a/refs.0.parq", "bytes": data}
    write = lambda t, optional=("path",), **k: pq(parquet_files.Writer("plain", 1, False).write(t, optional, **k))
    rows = {"path": [s.url.encode()] * 4, "offset": [5, 5, 5, 5], "size": [8, 8, 8, 8]}
    refused(b, "parquet", [
        (meta(record_size=0), "record_size"), (meta(record_size="x"), "record_size"), (meta(record_size=2**40), "record_size"), (meta(metadata=[]), "no metadata"),
        (meta(metadata={"../../x/.zarray": ARRAY}), "components"), (meta(metadata={"a/.zarray": {**ARRAY, "shape": [2**40]}}, record_size=1), "tables"),
        ({"parquet": good, "file": ".zmetadata", "bytes": b"{"}, "not JSON"), (pq(b""), "not a Parquet file"), (pq(b"PAR1" + b"\xff" * 4 + b"PAR1"), "not a Parquet file"),
        (pq(table[:-9] + table[-8:]), "parquet: "), (pq(b"PAR1" + table[40:]), "parquet: "),
        (write({"path": [b"x"] * 4}), "no column offset"), (write({**rows, "offset": [-1] * 4}), "impossible"), (write({**rows, "size": [-1] * 4}), "impossible"),
        (write({**rows, "size": [0] * 4}), "impossible"), (write({**rows, "path": [b""] * 3 + [b"a\0b"]}), "NUL"), (write({**rows, "path": [b"gs://x/y"] * 4}), "gs://"),
    ])
    rng = np.random.default_rng(3)
    cases, domain = 12 if sample.sampled() else 300, b.domain("pq.h5")
    for n in range(cases):
        path, changed = os.path.join(b.files, "flips.parq"), bytearray(table)
        for at in rng.integers(0, len(table), rng.integers(1, 4)):
            changed[at] = rng.integers(0, 256)
        shutil.copytree(good, path, dirs_exist_ok=True)
        open(os.path.join(path, "a/refs.0.parq"), "wb").write(changed)
        rc, _, err = load(b, path, domain)
        if rc not in (0, 1) or "Sanitizer" in err or "runtime error" in err:
            check(f"changed bytes {n}", False, err)
    check(f"{cases} files with changed bytes{sample.note()}", True)


def left_out(b):
    s = Set(b, "left_out")
    s.add("good", X, (3, 4), compressor=C.Zlib(1))
    path = s.write()
    refs = json.load(open(path))
    refs["bad/.zarray"] = json.dumps({**ARRAY, "filters": [{"id": "fixedscaleoffset"}]})
    refs["worse/.zarray"] = json.dumps({**ARRAY, "compressor": {"id": "lz4"}})
    refs["worse/0"] = "base64:AAAA"
    json.dump(refs, open(path, "w"))
    good = os.path.join(b.files, "stray.json")
    json.dump({**s.refs, "lost/0": ["/x", 0, 8], "lost/1": ["/x", 8, 8]}, open(good, "w"))
    rc, _, err = load(b, good, b.domain("stray.h5"))
    check("keys without an array are counted", rc == 0 and "2 keys belong to no array" in err, err)
    rc, _, err = load(b, path, b.domain("left.h5"), "--ignore-errors")
    check("left out: both are named", rc == 1 and "bad: left out: codec fixedscaleoffset" in err and "worse: left out: " in err, err)
    rc, out, err = b.run(b.o.tool, "ls", "-r", b.domain("left.h5"))
    check("left out: the rest is there", rc == 0 and "good" in out and "worse" not in out and "bad" not in out, out + err)
    for options in (("--append",), ("--extend", "0"), ("--linkpath", "x"), ("--flatten-vds",), ("--column", "x"), ("-f", "sec2")):
        rc, _, err = load(b, path, b.domain("left.h5"), *options)
        check(f"usage: {options[0]}", rc == 2 and ("--kerchunk" in err or "can't be combined" in err), err)


def remote(b):
    """A set that comes from a server can't make this program open a file of this machine."""
    with web_folder.WebFolder(b.files) as server:
        refused_from(b, server.url)
        loaded_from(b, server.url)


def refused_from(b, at):
    for name, url in (("local", b.files + "/codecs.bin"), ("scheme", "file://" + b.files + "/codecs.bin"), ("relative", "codecs.bin")):
        json.dump({"a/.zarray": json.dumps({**ARRAY, "compressor": {"id": "lz4"}}), "a/0": [url, 0, 8]}, open(os.path.join(b.files, f"remote-{name}.json"), "w"))
        rc, _, err = b.run(b.o.tool, "load", "--kerchunk", f"{at}/remote-{name}.json", b.domain("remote.h5"), env={"H5BUCKET_ALLOW": f"file:/// {at}"})
        check(f"remote set, {name}: refused", rc == 1 and ("can't refer to files" in err), err)


def loaded_from(b, at):
    s = Set(b, "web")
    s.add("linked", X, (3, 4), compressor=C.Zlib(1))
    s.add("copied", X, (3, 4), compressor=C.LZ4(), copied=True)
    s.write()
    for part in s.refs.values():
        if isinstance(part, list):
            part[0] = f"{at}/web.bin"
    allow = f"{at} file://{b.files}"
    json.dump(s.refs, open(os.path.join(b.files, "web.json"), "w"))
    rc, _, err = b.run(b.o.tool, "load", "--kerchunk", f"{at}/web.json", b.domain("web.h5"), env={"H5BUCKET_ALLOW": allow})
    check("web: load", rc == 0, err)
    for name in s.values:
        want, got = b.dump(s.twin(), "-d", name), b.dump(b.domain("web.h5"), "-d", name, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_ALLOW": allow})
        check(f"web: {name}", got[0] == 0 and data_of(want[1]) == data_of(got[1]), got)


def main():
    p = argparse.ArgumentParser()
    for name in ("bin", "plugin", "tool"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--only")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="bkt-kerchunk-") as folder:
        b = Bench(o, folder, H5BUCKET_ALLOW="file://" + os.path.join(folder, "files"))
        for part in (codecs, kept, dtypes, attributes, templates, hostile, written_by_others, parquet, left_out, remote):
            if not o.only or o.only == part.__name__:
                part(b)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
