#!/usr/bin/env python3
"""Whether HSDS 0.9 can read the written objects: every object of a bucket in a directory is checked against
the rules for writers, by an independent reader (Python's standard library, nothing of this project).

check_schema.py --plugin DIR --program NAME... --changes crash_changes --new crash_writer
    runs programs that write domains of every kind into a new folder, and checks the result
check_schema.py --bucket DIR
    checks only"""
import argparse, base64, json, math, os, re, shutil, struct, subprocess, sys, tempfile, zlib

args = argparse.ArgumentParser()
args.add_argument("--bucket")
args.add_argument("--plugin")
args.add_argument("--program", nargs="*", default=[])
args.add_argument("--changes")
args.add_argument("--new")
args = args.parse_args()

problems, seen = [], {}
ID = r"([gtd])-([0-9a-f]{8}-[0-9a-f]{8})-([0-9a-f]{4}-[0-9a-f]{6}-[0-9a-f]{6})"
V1 = r"[0-9a-f]{5}-([gtdc]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(_[0-9_]+)?"
NAMES = re.compile(r"H5T_(STD_[IUB](8|16|32|64)|IEEE_F(16|32|64)|STD_REF_(OBJ|DSETREG))(LE|BE)?$")
COMPRESSORS = {1: "gzip", 32000: "lzf", 32001: "blosclz", 32003: "snappy", 32004: "lz4", 32005: "lz4hc", 32015: "zstd"}


def bad(where, text):
    problems.append("%s: %s" % (where, text))
    if len(problems) <= 40:
        print(problems[-1], flush=True)


def count(what):
    seen[what] = seen.get(what, 0) + 1


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def need(where, obj, keys):
    missing = [k for k in keys if k not in obj]
    if missing:
        bad(where, "lacks " + ", ".join(missing))
    return not missing


# ---- types: the size of an element as it is stored, None where that varies, -1 where HSDS has no such type ----

def size_of(where, t, depth=0):
    if isinstance(t, str):
        m = NAMES.match(t)
        if not m:
            bad(where, "no predefined type: " + t)
            return -1
        if "REF" in t:
            return 48 if t == "H5T_STD_REF_OBJ" else -1
        return int(m.group(2) or m.group(3)) // 8
    if not isinstance(t, dict) or depth > 20:
        bad(where, "no type: %r" % (t,))
        return -1
    cls = t.get("class")
    count(cls)
    if cls in ("H5T_INTEGER", "H5T_FLOAT"):
        base = t.get("base")
        if not isinstance(base, str) or ("_F" in base) != (cls == "H5T_FLOAT"):
            bad(where, "%s of %r" % (cls, base))
        return size_of(where, base, depth + 1)
    if cls == "H5T_STRING":
        need(where, t, ["charSet", "strPad", "length"])
        if t.get("charSet") not in ("H5T_CSET_ASCII", "H5T_CSET_UTF8") or not str(t.get("strPad")).startswith("H5T_STR_"):
            bad(where, "string %r" % t)
        return None if t.get("length") == "H5T_VARIABLE" else t.get("length", -1)
    if cls == "H5T_VLEN":
        size_of(where, t.get("base"), depth + 1)
        return None
    if cls == "H5T_OPAQUE":
        return t["size"] if need(where, t, ["size"]) else -1
    if cls == "H5T_ENUM":
        if not isinstance(t.get("mapping"), dict) or not all(isinstance(v, int) for v in t["mapping"].values()):
            bad(where, "enum without mapping: %r" % t)
        return size_of(where, t.get("base"), depth + 1)
    if cls == "H5T_REFERENCE":
        if t.get("base") not in ("H5T_STD_REF_OBJ", "H5T_STD_REF_DSETREG"):
            bad(where, "reference %r" % t)
        return 48 if t.get("base") == "H5T_STD_REF_OBJ" else -1
    if cls == "H5T_ARRAY":
        dims = t.get("dims")
        n = size_of(where, t.get("base"), depth + 1)
        if isinstance(dims, int):
            dims = [dims]
        if not isinstance(dims, list) or not all(isinstance(d, int) and d > 0 for d in dims):
            bad(where, "array of %r" % (dims,))
            return -1
        return n if n is None or n < 0 else n * math.prod(dims)
    if cls == "H5T_COMPOUND":
        sizes = []
        for f in t.get("fields", []):
            if need(where, f, ["name", "type"]):
                sizes.append(size_of(where + "." + f["name"], f["type"], depth + 1))
        if not sizes:
            bad(where, "compound without fields")
        return -1 if -1 in sizes else None if None in sizes else sum(sizes)
    bad(where, "type class %r" % cls)
    return -1


def size_in_class(t):
    """The value of a number; 0: something else."""
    return size_of("", t) if isinstance(t, dict) and t.get("class") in ("H5T_INTEGER", "H5T_FLOAT") else 0


def check_shape(where, s):
    """The dims; None: a null space."""
    cls = s.get("class")
    if cls in ("H5S_NULL", "H5S_SCALAR"):
        return None if cls == "H5S_NULL" else []
    dims, most = s.get("dims"), s.get("maxdims")
    if cls != "H5S_SIMPLE" or not isinstance(dims, list) or not dims or not all(isinstance(d, int) and d >= 0 for d in dims):
        bad(where, "shape %r" % s)
        return []
    if most is not None:
        if not isinstance(most, list) or len(most) != len(dims):
            bad(where, "maxdims %r" % most)
        elif not all((m is None and d == 0) or (isinstance(m, int) and (m == 0 or m >= d)) for m, d in zip(most, dims)):
            bad(where, "maxdims %r of dims %r" % (most, dims))
    return dims


# ---- attributes and links ----

def depth_fits(value, dims):
    if not dims:
        return True
    return isinstance(value, list) and len(value) == dims[0] and all(depth_fits(v, dims[1:]) for v in value)


def check_attributes(where, attrs):
    for name, a in attrs.items():
        w = "%s attribute %r" % (where, name)
        count("attributes")
        if not need(w, a, ["type", "shape", "value", "created"]):
            continue
        size, dims = size_of(w, a["type"]), check_shape(w, a["shape"])
        if not is_number(a["created"]):
            bad(w, "created %r" % a["created"])
        if dims is None:
            if a["value"] is not None:
                bad(w, "a null space has the value %r" % (a["value"],))
        elif a.get("encoding") == "base64":
            raw = base64.b64decode(a["value"], validate=True)
            if size is not None and size > 0 and len(raw) != size * math.prod(dims):
                bad(w, "%d bytes for %d elements of %d" % (len(raw), math.prod(dims), size))
        elif a["value"] is None:  # never written; h5pyd stumbles over that where there are numbers, or nothing
            if 0 in dims or size_in_class(a["type"]) and size_in_class(a["type"]) * math.prod(dims) <= 65536:
                bad(w, "null where there should be zeros, or lists of nothing: %r" % a)
        elif not depth_fits(a["value"], dims):
            bad(w, "the value isn't of shape %r: %.80r" % (dims, a["value"]))


def check_links(where, links, ids):
    last = 0
    for name, l in links.items():
        w = "%s link %r" % (where, name)
        count("links")
        if not need(w, l, ["class", "created"]):
            continue
        if not name or "/" in name or not is_number(l["created"]):
            bad(w, "name or time stamp: %r" % l)
        elif l["created"] <= last:
            bad(w, "made at %r, and it stands behind one of %r" % (l["created"], last))
        last = l["created"] if is_number(l["created"]) else last
        if l["class"] == "H5L_TYPE_HARD":
            if l.get("id") not in ids:
                bad(w, "leads to %r, which is not there" % l.get("id"))
        elif l["class"] == "H5L_TYPE_SOFT":
            need(w, l, ["h5path"])
        elif l["class"] == "H5L_TYPE_EXTERNAL":
            need(w, l, ["h5path", "h5domain"])
        else:
            bad(w, "class %r" % l["class"])


# ---- datasets ----

def unshuffle(data, size):
    n = len(data) // size
    out = bytearray(data)
    for j in range(size):
        out[j:n * size:size] = data[j * n:(j + 1) * n]
    return bytes(out)


def blosc(data):
    """The content of a blosc 1 frame, if zlib alone suffices to decode it; else None."""
    _, _, flags, typesize, nbytes, blocksize, cbytes = struct.unpack("<BBBBIII", data[:16])
    if cbytes != len(data):
        raise ValueError("blosc frame of %d bytes says %d" % (len(data), cbytes))
    if flags & 2:
        return data[16:16 + nbytes]
    if flags >> 5 != 3:
        return None
    out = b""
    for k in range((nbytes + blocksize - 1) // blocksize):
        at, size = struct.unpack_from("<I", data, 16 + 4 * k)[0], min(blocksize, nbytes - k * blocksize)
        block = b""
        while len(block) < size:
            n = struct.unpack_from("<i", data, at)[0]
            whole = size if flags & 16 or size % typesize or size < blocksize else size // typesize
            part = data[at + 4:at + 4 + n]
            block += part if n == whole else zlib.decompress(part)
            at += 4 + n
        out += unshuffle(block, typesize) if flags & 1 and typesize > 1 else block
    return out


def chunk_bytes(where, data, filters, hdf5, size):
    """The elements, as HSDS would decode them; None: with a codec that isn't here, or that HSDS lacks."""
    ids = [f.get("id") for f in filters]
    if hdf5 and any(i not in (1, 2, 3) for i in ids):
        return None
    if data[:4] == b"\x89BKT":  # a filter mask, which HSDS can't express
        return None
    if 1 not in ids and not any(i in COMPRESSORS for i in ids):
        if hdf5 and 3 in ids:
            data = data[:-4]
        return unshuffle(data, size) if hdf5 and 2 in ids and size else data
    if data[:1] == b"\x02":
        return blosc(data)
    if 1 not in ids:
        bad(where, "stored neither as blosc nor as zlib, with filters %r" % ids)
        return None
    if ids.index(1) == 0 and 3 not in ids[1:] or ids[-1] == 1:
        d = zlib.decompressobj()
        out = d.decompress(data)
        if not d.eof or d.unused_data:
            bad(where, "%d bytes behind the zlib stream" % len(d.unused_data))
    else:  # fletcher32 behind it: HSDS takes the stream and lets four bytes be
        out = zlib.decompressobj().decompress(data)
    if 3 in ids and ids.index(3) < ids.index(1):
        out = out[:-4]
    return unshuffle(out, size) if 2 in ids and size else out


def check_dataset(where, o, chunks):
    """Values by chunk coordinate, if they could be decoded."""
    size, dims = size_of(where, o["type"]), check_shape(where, o["shape"])
    props, layout = o.get("creationProperties", {}), o.get("layout")
    if "fillValue" in props and props["fillValue"] is None:
        bad(where, "fillValue null")
    filters = props.get("filters", [])
    for f in filters:
        # without a name where HSDS must refuse the dataset: it fails on a shuffle filter that has none
        refused = f.get("class") == "H5Z_FILTER_SHUFFLE" and "h5name" in f
        need(where + " filter", f, ["class", "id"] if refused else ["class", "id", "name"])
    if dims is None:
        if layout or chunks:
            bad(where, "a null space has a layout or chunks")
        return {}
    if layout is None and not chunks and b"layout\0\3" in base64.b64decode(props.get("h5plist", "")):
        count("virtual datasets, which HSDS lists but can't read")
        return {}
    asked = props.get("layout", {})
    want = asked.get("class") if "_REF" in asked.get("class", "") else "H5D_CHUNKED"
    if not isinstance(layout, dict) or layout.get("class") != want or len(layout.get("dims", [])) != max(len(dims), 1):
        bad(where, "layout %r for dims %r" % (layout, dims))
        return {}
    if want != "H5D_CHUNKED" and any(layout.get(key) != value for key, value in asked.items()):
        bad(where, "layout %r and creationProperties.layout %r refer to different things" % (layout, asked))
    hdf5 = layout.get("chunk_encoding") == "hdf5"
    if asked.get("class") == "H5D_CHUNKED" and len(asked.get("dims", [])) != len(dims):
        bad(where, "creationProperties.layout %r" % asked)
    if not hdf5 and sum(f.get("id") in COMPRESSORS for f in filters) > 1:
        bad(where, "several compressors: %r" % filters)
    ends = [-(-d // c) if c else 0 for d, c in zip(dims or [1], layout["dims"])]
    values = {}
    for coord, path in chunks.items():
        w = "%s chunk %s" % (where, coord)
        count("chunks")
        at = [int(x) for x in coord.split("_")]
        if len(at) != len(ends) or any(a >= e for a, e in zip(at, ends)):
            bad(w, "outside the extent %r in chunks of %r" % (dims, layout["dims"]))
            continue
        data = open(path, "rb").read()
        if size == -1:
            continue
        try:
            got = chunk_bytes(w, data, filters, hdf5, size or 0)
        except (zlib.error, ValueError, struct.error) as e:
            bad(w, "can't be decoded: %s" % e)
            continue
        if got is None:
            count("chunks of other codecs")
        elif size is not None and len(got) != size * math.prod(layout["dims"]):
            bad(w, "%d bytes instead of %d elements of %d" % (len(got), math.prod(layout["dims"]), size))
        else:
            count("chunks decoded")
            values[coord] = got
    return values


# ---- a bucket ----

def objects_of(bucket):
    """{id: (path, {coordinate: path})}; a file elsewhere is not an object."""
    found = {}
    for folder, _, names in os.walk(bucket):
        for name in names:
            path, key = os.path.join(folder, name), os.path.relpath(os.path.join(folder, name), bucket)
            m = re.fullmatch(r"db/([0-9a-f]{8}-[0-9a-f]{8})/(?:([gtd])/([0-9a-f-]{18})/)?(.+)", key)
            v1 = re.fullmatch(V1, key)
            if m:
                kind, leaf = m.group(2) or "g", m.group(4)
                tail = m.group(3) or "".join("%x" % ((int(c, 16) + 8) % 16) for c in m.group(1).replace("-", ""))
                tail = tail if "-" in tail else "-".join((tail[:4], tail[4:10], tail[10:]))
                entry = found.setdefault("%s-%s-%s" % (kind, m.group(1), tail), [None, {}])
                if leaf == {"g": ".group.json", "t": ".datatype.json", "d": ".dataset.json"}[kind]:
                    entry[0] = path
                elif kind == "d" and re.fullmatch(r"\d+(_\d+)*", leaf):
                    entry[1][leaf] = path
                else:
                    bad(key, "what is this?")
            elif v1 and v1.group(2):
                found.setdefault("d" + v1.group(1)[1:], [None, {}])[1][v1.group(2)[1:]] = path
            elif v1:
                found.setdefault(v1.group(1), [None, {}])[0] = path
            elif key.startswith("db/"):
                bad(key, "what is this?")
    return found


def check_domain(where, d, ids):
    count("domains")
    need(where, d, ["owner", "acls", "created", "lastModified"])
    for user, acl in d.get("acls", {}).items():
        if not all(isinstance(acl.get(k), bool) for k in ("create", "read", "update", "delete", "readACL", "updateACL")):
            bad(where, "ACL of %s: %r" % (user, acl))
    if "root" in d and d["root"] not in ids:
        bad(where, "its root %s is not there" % d["root"])


def check_bucket(bucket):
    """{id: JSON, values}"""
    found, out = objects_of(bucket), {}
    for folder, _, names in os.walk(bucket):
        if ".domain.json" in names:
            path = os.path.join(folder, ".domain.json")
            check_domain(path, json.load(open(path)), found)
    for id, (path, chunks) in found.items():
        if not path:
            bad(id, "chunks without a dataset")
            continue
        o = json.load(open(path))
        if not need(id, o, ["id", "root", "created", "lastModified", "attributes"]):
            continue
        if o["id"] != id or o["root"] not in found or not is_number(o["created"]) or not is_number(o["lastModified"]):
            bad(id, "id %s, root %s, %r, %r" % (o["id"], o["root"], o["created"], o["lastModified"]))
        count({"g": "groups", "t": "types", "d": "datasets"}[id[0]])
        check_attributes(id, o["attributes"])
        values = {}
        if id[0] == "g" and need(id, o, ["links"]):
            check_links(id, o["links"], found)
        elif id[0] == "t" and need(id, o, ["type"]):
            size_of(id, o["type"])
        elif id[0] == "d" and need(id, o, ["type", "shape"]):
            values = check_dataset(id, o, chunks)
        out[id] = o, values
    return out


# ---- the folders to check ----

def run(what, *command, **more):
    e = dict(os.environ, HDF5_PLUGIN_PATH=args.plugin, **more)
    if os.environ.get("BKT_PRELOAD"):
        e["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
    p = subprocess.run(command, env=e, capture_output=True, text=True, timeout=600)
    if p.returncode != 0:
        bad(what, "ended with %d: %s" % (p.returncode, (p.stdout + p.stderr)[-600:]))


def dataset_at(objects, domain, path):
    at = json.load(open(domain + "/.domain.json"))["root"]
    for name in path.split("/"):
        at = objects[at][0]["links"][name]["id"]
    return objects[at]


def check_values(objects, domain, path, want):
    o, values = dataset_at(objects, domain, path)
    n, got = o["layout"]["dims"][0], {}
    for coord, raw in values.items():
        for i, v in enumerate(struct.unpack("<%di" % n, raw)):
            got[int(coord) * n + i] = v
    wrong = [i for i, w in enumerate(want) if got.get(i) != w]
    if wrong or [f["id"] for f in o.get("creationProperties", {}).get("filters", [])] not in ([], [2, 1]):
        bad(path, "%d values are wrong, or its filters: %r" % (len(wrong), o.get("creationProperties")))


def main():
    if args.bucket:
        check_bucket(args.bucket)
    else:
        with tempfile.TemporaryDirectory(prefix="bkt-schema-") as work:
            ours = {"HDF5_VOL_CONNECTOR": "bucket", "BKT_CONNECTOR": "bucket"}
            for schema in "v2", "v1":
                bucket = "%s/%s" % (work, schema)
                os.mkdir(bucket)
                run("prepare", args.changes, "prepare", bucket + "/x.h5", H5BUCKET_SCHEMA=schema, **ours)
                run("changes", args.changes, "write", bucket + "/x.h5", work + "/log", H5BUCKET_SCHEMA=schema, **ours)
                run("new", args.new, "write", bucket + "/y.h5", work + "/log", H5BUCKET_SCHEMA=schema, **ours)
                objects = check_bucket(bucket)
                check_values(objects, bucket + "/x.h5", "b/moved", range(2000, 2100))
                check_values(objects, bucket + "/x.h5", "series", [1000 + i if i < 30 else -7 if i < 60 else 5000 + i for i in range(80)])
            os.mkdir(work + "/keep")
            os.mkdir(work + "/to")
            for program in args.program:
                where = {"BKT_H5_WRITE": work + "/to"} if os.path.basename(program) == "h5_write_links" else {}
                run(program, program, BKT_H5_KEEP=work + "/keep", **where)
            if os.listdir(work + "/to"):
                bad("BKT_H5_WRITE", "a program left %s there" % os.listdir(work + "/to"))
            for bucket in sorted(os.listdir(work + "/keep")):
                check_bucket(work + "/keep/" + bucket)
    print(", ".join("%d %s" % (n, what) for what, n in sorted(seen.items(), key=lambda x: str(x[0]))))
    if not args.bucket:
        for what, least in ("domains", 20), ("datasets", 100), ("attributes", 100), ("chunks decoded", 100), ("H5T_COMPOUND", 5):
            if seen.get(what, 0) < least:
                bad(what, "only %d were seen: were the programs run through the connector?" % seen.get(what, 0))
    print("%d problems" % len(problems))
    return bool(problems)


sys.exit(main())
