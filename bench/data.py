"""The data: fields of float32, written by bench_make_data, and domains of many small objects, written here."""
import array
import json
import os
import shutil
import struct
import subprocess
import time

WITH_SNAPSHOT = ("tree", "vars")
LEAVES, TINY, VARIABLES, ATTRIBUTES, SIDE = 100, 10000, 60, 20, 1000


class Domain:
    """A domain with v2 ids, as HSDS stores it."""

    def __init__(self, folder, name, number):
        self.bucket = os.path.join(folder, "bucket")
        self.half = f"{number:08x}-{number:08x}"
        rotated = "".join(f"{(int(c, 16) + 8) % 16:x}" for c in self.half.replace("-", ""))
        self.root = f"g-{self.half}-{rotated[:4]}-{rotated[4:10]}-{rotated[10:]}"
        self.groups, self.count, self.keys = {self.root: {}}, 0, []
        self.put(name + "/.domain.json", {"root": self.root, "owner": "bench", "acls": {"default": {"read": True}},
                                          "created": 1.0, "lastModified": 1.0})

    def put(self, key, value):
        path = os.path.join(self.bucket, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(value if isinstance(value, bytes) else json.dumps(value).encode())
        self.keys.append(key)

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

    def dataset(self, parent, name, dims, chunk, layout=None, kind="H5T_IEEE_F32LE", attributes=None, type_=None, ident=None):
        ident = ident or self.new_id("d")
        key = f"db/{self.half}/d/{ident[20:]}"
        self.put(key + "/.dataset.json", {
            "id": ident, "root": self.root, "created": 1.0, "lastModified": 1.0, "attributes": attributes or {},
            "type": type_ or {"class": "H5T_FLOAT", "base": kind}, "shape": {"class": "H5S_SIMPLE", "dims": dims},
            "layout": {"class": "H5D_CHUNKED", "dims": chunk},
            "creationProperties": {"layout": layout or {"class": "H5D_CHUNKED", "dims": chunk}}})
        if name:
            self.link(parent, name, ident)
        return key

    def finish(self):
        for ident, links in self.groups.items():
            key = f"db/{self.half}/.group.json" if ident == self.root else f"db/{self.half}/g/{ident[20:]}/.group.json"
            self.put(key, {"id": ident, "root": self.root, "created": 1.0, "lastModified": 1.0, "links": links, "attributes": {}})

    def list_all(self, path):
        with open(path, "w", encoding="ascii") as f:
            for key in self.keys:
                f.write(f"{key} 0 {os.path.getsize(os.path.join(self.bucket, key))}\n")


def tree(folder, name, number, groups):
    """10,101 objects: 100 groups with 100 datasets each, or with 100 groups."""
    d = Domain(folder, name + ".h5", number)
    for i in range(LEAVES):
        parent = d.group(d.root, f"g{i:03}")
        for k in range(LEAVES):
            if groups:
                d.group(parent, f"h{k:03}")
            else:
                d.dataset(parent, f"d{k:03}", [100], [100])
    d.finish()
    d.list_all(os.path.join(folder, name + ".list"))


def tiny(folder, number, referred):
    """10,000 datasets of 16 values: chunk objects, or references into one file with 500 bytes between them."""
    name = "tiny_ref_hsds" if referred else "tiny_hsds"
    d = Domain(folder, name + ".h5", number)
    group, blob = d.group(d.root, "t"), bytearray()
    for i in range(TINY):
        values = array.array("f", [i + k / 16 for k in range(16)]).tobytes()
        blob += b"\0" * 500
        layout = {"class": "H5D_CONTIGUOUS_REF", "file_uri": "bucket/data/tiny.bin", "offset": len(blob), "size": 64}
        key = d.dataset(group, f"d{i:05}", [16], [16], layout if referred else None)
        if referred:
            blob += values
        else:
            d.put(key + "/0", values)
    if referred:
        d.put("data/tiny.bin", bytes(blob))
    d.finish()
    d.list_all(os.path.join(folder, name + ".list"))


def variables(folder, number):
    """60 variables with 20 attributes each, as a climate model's output."""
    d = Domain(folder, "vars.h5", number)
    text = {"class": "H5T_STRING", "charSet": "H5T_CSET_ASCII", "length": 24, "strPad": "H5T_STR_NULLPAD"}
    for i in range(VARIABLES):
        attributes = {f"attribute_{k:02}": {"type": text, "shape": {"class": "H5S_SCALAR"}, "value": f"value {k} of {i}",
                                            "created": 1.0} for k in range(ATTRIBUTES)}
        d.dataset(d.root, f"var{i:02}", [100, 100], [100, 100], attributes=attributes)
    d.finish()
    d.list_all(os.path.join(folder, "vars.list"))


def million(folder, number):
    """1,000,000 chunks that a table of 1000 x 1000 rows refers to; the table is stored in chunks of 250 x 250."""
    d = Domain(folder, "million.h5", number)
    table = d.new_id("d")
    row = {"class": "H5T_COMPOUND", "fields": [{"name": "offset", "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I64LE"}},
                                               {"name": "size", "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}}]}
    key = d.dataset(None, None, [SIDE, SIDE], [SIDE // 4, SIDE // 4], type_=row, ident=table)
    for i in range(4):
        for k in range(4):
            rows = bytearray()
            for y in range(SIDE // 4):
                for x in range(SIDE // 4):
                    n = (i * SIDE // 4 + y) * SIDE + k * SIDE // 4 + x
                    rows += struct.pack("<qi", 4096 + n * 400, 400)
            d.put(f"{key}/{i}_{k}", bytes(rows))
    d.dataset(d.root, "field", [10 * SIDE, 10 * SIDE], [10, 10],
              {"class": "H5D_CHUNKED_REF_INDIRECT", "file_uri": "bucket/data/absent.h5", "dims": [10, 10], "chunk_table": table})
    d.finish()


def also_as(folder, name, other):
    """The same objects as another domain."""
    shutil.copytree(os.path.join(folder, "bucket", name + ".h5"), os.path.join(folder, "bucket", other + ".h5"))


def list_keys(folder):
    """The contents of the server's lists (lists.lua): for each object tree its keys, with the ETags that
    nginx makes."""
    os.makedirs(os.path.join(folder, "lists"), exist_ok=True)
    bucket = os.path.join(folder, "bucket")
    for half in os.listdir(os.path.join(bucket, "db")):
        rows = []
        for at, _, names in os.walk(os.path.join(bucket, "db", half)):
            for name in names:
                path = os.path.join(at, name)
                stat = os.stat(path)
                key = os.path.relpath(path, bucket)
                when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stat.st_mtime))
                rows.append(f"{key}\t<Contents><Key>{key}</Key><LastModified>{when}</LastModified>"
                            f"<ETag>&quot;{int(stat.st_mtime):x}-{stat.st_size:x}&quot;</ETag><Size>{stat.st_size}</Size>"
                            "<StorageClass>STANDARD</StorageClass></Contents>\n")
        rows.sort()
        with open(os.path.join(folder, "lists", half), "w", encoding="ascii") as f:
            f.writelines(rows)


def through_server(folder, tool, env):
    """Data made by the tool: snapshots of domains that HSDS wrote, and domains of a file with tiny datasets."""
    for name in WITH_SNAPSHOT:
        subprocess.run([tool, "snapshot", f"s3://bucket/{name}_snapshot.h5"], env=env, check=True)
    for name, how in (("tiny", []), ("tiny_ref", ["--link"])):
        subprocess.run([tool, "load", "--force", *how, "s3://bucket/data/tiny.h5", f"s3://bucket/{name}.h5"], env=env, check=True)
        list_domain(folder, name, "data/tiny.h5" if how else "")
    list_keys(folder)


def list_domain(folder, name, also):
    """The keys that plain libcurl fetches of it: each object, and the file that they refer to."""
    bucket = os.path.join(folder, "bucket")
    with open(os.path.join(bucket, name + ".h5", ".domain.json"), encoding="ascii") as f:
        half = json.load(f)["root"][2:19]
    keys = [name + ".h5/.domain.json"] + ([also] if also else [])
    for at, _, names in os.walk(os.path.join(bucket, "db", half)):
        keys += [os.path.relpath(os.path.join(at, n), bucket) for n in sorted(names) if n != ".h5bucket-snapshot"]
    with open(os.path.join(folder, name + ".list"), "w", encoding="ascii") as f:
        for key in keys:
            f.write(f"{key} 0 {os.path.getsize(os.path.join(bucket, key))}\n")


def name_first(folder):
    """native_small.h5 as the connector writes it: .domain.json names the root's only member."""
    path = os.path.join(folder, "bucket", "native_small.h5", ".domain.json")
    with open(path, encoding="ascii") as f:
        document = json.load(f)
    half = document["root"][2:19]
    document["h5first"] = [f"d-{half}-aaaa-000000-000001"]
    with open(path, "w", encoding="ascii") as f:
        json.dump(document, f)


def make_files(folder, programs, mib):
    """The fields and the lists of their bytes.  bench/run --plain needs them besides the files of plain_files.py."""
    subprocess.run([os.path.join(programs, "bench_make_data"), folder, str(mib)], check=True, stdout=subprocess.DEVNULL)
    strided_list(folder, "ref_raw.list", "strided.list")


def make(folder, programs, mib):
    make_files(folder, programs, mib)
    name_first(folder)
    tree(folder, "tree", 0x501, False)
    tree(folder, "groups", 0x506, True)
    tiny(folder, 0x502, False)
    tiny(folder, 0x503, True)
    variables(folder, 0x504)
    million(folder, 0x505)
    zarr_field(folder)
    for name in WITH_SNAPSHOT:
        also_as(folder, name, name + "_snapshot")
    list_keys(folder)


def zarr_field(folder):
    """The chunks of native_raw.h5 as a Zarr v3 store, which are the same bytes."""
    store, at = os.path.join(folder, "bucket", "field.zarr"), []
    with open(os.path.join(folder, "native_raw.list"), encoding="ascii") as f:
        for line in f:
            key = line.split()[0]
            at.append([int(n) for n in key.rpartition("/")[2].split("_")])
            chunk = os.path.join(store, "field", "c", *map(str, at[-1]))
            os.makedirs(os.path.dirname(chunk), exist_ok=True)
            os.link(os.path.join(folder, "bucket", key), chunk)
    shape = [512 * (1 + max(n)) for n in zip(*at)]
    array = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float32", "fill_value": 0.0, "attributes": {},
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [512, 512]}},
             "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
             "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
    for name, document in (("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}}), ("field/zarr.json", array)):
        with open(os.path.join(store, name), "w", encoding="ascii") as f:
            json.dump(document, f)


def join_ranges(folder, name, most=8 << 20):
    """Ranges that follow one another in an object are fetched as one, up to so many bytes: name.joined."""
    rows = []
    with open(os.path.join(folder, name), encoding="ascii") as f:
        for line in f:
            key, offset, size = line.split()
            rows.append([key, int(offset), int(size)])
    joined = []
    for key, offset, size in sorted(rows):
        last = joined[-1] if joined else None
        if last and last[0] == key and last[1] + last[2] == offset and last[2] + size <= most:
            last[2] += size
        else:
            joined.append([key, offset, size])
    with open(os.path.join(folder, name + ".joined"), "w", encoding="ascii") as f:
        f.writelines(f"{key} {offset} {size}\n" for key, offset, size in joined)


def strided_list(folder, name, out):
    """The first 4 bytes of each chunk."""
    with open(os.path.join(folder, name), encoding="ascii") as f, open(os.path.join(folder, out), "w", encoding="ascii") as to:
        for line in f:
            key, offset, _ = line.split()
            to.write(f"{key} {offset} 4\n")
