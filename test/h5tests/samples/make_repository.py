#!/usr/bin/env python3
"""make_repository.py FOLDER [--only NAME...] [--bench [--small N] [--large N]]: repositories of samples, made with h5py.

They are made again, except a folder that the same version of this program has completed.  FOLDER/NAME is a repository:
    types       each type of element, formats 00 and 01
    filters     each option of the filters, formats 00 and 01
    shapes      scalars, samples without elements, fixed and variable shapes, several chunks a sample, padded datasets
    places      more samples than a dataset, and several files for a column
    branches    branches without, with one and with several commits; nested columns, names that are numbers, foreign samples
    v04 v02     the two older grammars of records; v02 is not flattened, and has no checksums
    cast        checksums of another type than the stored one
    killed      a file that its writer did not close
    flipped truncated missing        damage: bytes flipped, a file cut, a file removed
    plain       files and records without names
    bench       (--bench) small and large images, for measurements
"""
import argparse, hashlib, os, shutil, sys, zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.join(HERE, "..", "helpers"))
sys.dont_write_bytecode = True
import distribution_python
try:
    from hangar_file import BLOSC, NONE
    from hangar_repository import Repository
except ImportError as e:
    distribution_python.or_skip(e, "packages of config/packages/test.txt")
import numpy

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "longdouble"]


def some(dtype, shape, *seed):
    """Values that compress somewhat, the same in each run for a number or a text."""
    rng = numpy.random.default_rng([zlib.crc32(str(s).encode()) for s in seed])
    dtype = numpy.dtype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return (rng.integers(-1000, 1000, shape) / 8).astype(dtype)
    info = numpy.iinfo(dtype)
    return rng.integers(max(info.min, -100), min(info.max, 100), shape, dtype=dtype, endpoint=True)


def add_all(repository, column, n=3, shapes=None):
    shapes = shapes or [column.shape] * n
    for i, shape in enumerate(shapes):
        column.add(some(column.dtype, shape, column.name, i), f"s{i}")


def types(out):
    r = Repository(out, "types")
    for code in "00", "01":
        for t in TYPES:
            add_all(r, r.column(f"{numpy.dtype(t).name}_{code}", t, (7, 9), code))
        extremes = r.column(f"extremes_{code}", "f8", (4,), code)
        extremes.add([float("nan"), float("-inf"), -0.0, 5e-324], "odd")
    r.commit("types")
    r.close()


def filters(out):
    r = Repository(out, "filters")
    options = [{"complib": "blosc:" + c, "complevel": level, "shuffle": s} for c in BLOSC
               for level, s in ((0, "none"), (5, "byte"), (9, "bit"), (1, None))]
    options += [{"complib": "lzf", "complevel": None, "shuffle": s} for s in (False, None, "none", True, "byte")]
    options += [{"complib": "gzip", "complevel": level, "shuffle": s} for level in (0, 1, 9) for s in ("none", "byte")]
    options += [NONE]
    for code in "00", "01":
        for i, o in enumerate(options):
            add_all(r, r.column(f"c{code}_{i}_{o['complib'].replace(':', '_')}", "u4" if i % 2 else "f8", (40, 30), code, options=o), 2)
        add_all(r, r.column(f"c{code}_fletcher32", "i2", (40, 30), code, options=NONE, fletcher32=True), 2)
    r.commit("filters")
    r.close()


def shapes(out):
    r = Repository(out, "shapes")
    for code in "00", "01":
        add_all(r, r.column("scalar_" + code, "f8", (), code))
        add_all(r, r.column("one_" + code, "i4", (1,), code))
        add_all(r, r.column("five_" + code, "u2", (2, 3, 1, 4, 5), code))
        add_all(r, r.column("line_" + code, "u1", (1000,), code, options=NONE))
        add_all(r, r.column("image_" + code, "f4", (3, 224, 224), code), 2)
        add_all(r, r.column("padded_" + code, "f4", (5, 300, 301), code), 2)
        add_all(r, r.column("long_" + code, "u1", (1 << 21,), code), 2)
        add_all(r, r.column("variable_" + code, "i2", (10, 12, 3), code, variable=True),
                shapes=[(10, 12, 3), (1, 1, 1), (4, 12, 2), (10, 1, 3), (3, 5, 1), (0, 12, 3), (10, 0, 0)])
        add_all(r, r.column("variable_big_" + code, "f8", (6, 200, 200), code, variable=True),
                shapes=[(6, 200, 200), (1, 200, 200), (6, 1, 1), (2, 77, 150)])
    r.commit("shapes")
    r.close()


def places(out):
    r = Repository(out, "places")
    many = r.column("many", "u2", (3,))
    for i in range(600):
        many.add([i, i + 1, i + 2], i)
    end = r.column("end", "i4", (2, 2), at=(98, 248))
    for i in range(5):  # two rows, and a file of its own for the others
        end.add(some("i4", (2, 2), i), f"e{i}")
        end.more = {} if end.file.full() else end.more
    far = r.column("far", "u1", (10, 10), "01", at=(16, 98))
    add_all(r, far, 4)
    sessions = r.column("sessions", "f4", (5, 5))
    for i in range(3):
        sessions.new_file()
        sessions.add(some("f4", (5, 5), 10 + i), f"first_{i}")
        sessions.add(some("f4", (5, 5), 20 + i), f"second_{i}")
    r.commit("places")
    r.close()


def branches(out):
    r = Repository(out, "branches")
    images, labels = r.column("images", "u1", (8, 8)), r.column("labels", "i8", ())
    for i in range(10):
        images.add(some("u1", (8, 8), i), i)
        labels.add(i % 3, i)
    r.commit("first")
    frames = r.column("frames", "f4", (4, 6), "01", nested=True)
    for i in range(3):
        for j in range(2):
            frames.add(some("f4", (4, 6), 10 * i + j), f"film-{i}", j if i else f"frame.{j}")
    images.add(some("u1", (8, 8), 0), "same as 0".replace(" ", "_"))  # the name is another one, the digest is the same
    r.commit("second")
    r.add_schema("words", False, {"column_layout": "flat", "column_type": "str", "schema_type": "variable_shape",
                                  "dtype": "<class'str'>", "backend": "30", "backend_options": {}, "data_hasher_tcode": "2"})
    r.branch("side/more")
    images.add(some("u1", (8, 8), 77), 10)
    r.foreign("words", "hello", 2, "30:abcdefgh:00000001:8067007c0f05c359")
    r.foreign("images", 11, 0, "50:1=0123456789ab")
    r.foreign("images", "mapped", 0, "10:q1w2e3r4:8067007c0f05c359:1:8 8")
    r.commit("third")
    r.head, r.names = "empty", {}
    r.parent = ""
    r.commit("nothing")
    r.branches["none"] = ""
    r.head = "side/more"
    r.close()


def older(out, version, name):
    r = Repository(out, name, version)
    none = {"options": NONE} if version < "0.3" else {}
    add_all(r, r.column("fixed", "f4", (10, 11), **none), 4)
    add_all(r, r.column("variable", "i4", (5, 6, 7), variable=True, **none), shapes=[(5, 6, 7), (1, 2, 3), (5, 1, 7), (0, 6, 7)])
    add_all(r, r.column("line", "u1", (100,)))
    if version >= "0.3":
        add_all(r, r.column("scalar", "i8", ()))
        add_all(r, r.column("padded", "f4", (5, 300, 301), "01"), 2)
    r.commit("older")
    r.close()


def cast(out):
    r = Repository(out, "cast")
    for name, value in ("zeros", numpy.zeros((5, 5))), ("halves", numpy.arange(25.0).reshape(5, 5) / 2):
        r.column(name, "f8", (5, 5), stored="f4").add(value, "a")
    r.column("large", "i8", (6,), "01", stored="i4").add([1, -2, 3, 0, 0, 5], "a")
    r.commit("cast")
    r.close()


def killed(out):
    r = Repository(out, "killed")
    c = r.column("c", "i4", (20, 20), options=NONE)
    add_all(r, c, 5)
    c.file.flush()
    path = r.path_of(c.code, c.uid)
    shutil.copyfile(path, path + ".as-killed")
    r.commit("killed")
    r.close()
    os.replace(path + ".as-killed", path)


def damaged(out, name):
    r = Repository(out, name)
    whole = r.column("whole", "u1", (16, 16))
    add_all(r, whole, 20)
    hit = r.column("hit", "i4", (30, 30), options=NONE)
    packed = r.column("packed", "i4", (30, 30), options={"complib": "gzip", "complevel": 5, "shuffle": "byte"})
    flips = []
    for column in hit, packed:
        for i in range(4):
            bad = {"flipped": "damaged" if column is hit else "unreadable", "truncated": "unreadable", "missing": "missing"}[name]
            column.add(some("i4", (30, 30), column.name, i), f"s{i}", state=bad if name != "flipped" or i == 2 else "ok")
        if name == "flipped":
            flips.append((r.path_of("00", column.uid), *column.file.chunk_at(0, 2)))
    r.commit("damaged")
    r.close()
    for flip in flips:
        r.flip(*flip)
    for column in () if name == "flipped" else (hit, packed):
        path = r.path_of("00", column.uid)
        os.remove(path) if name == "missing" else os.truncate(path, os.path.getsize(path) // 2)


def plain(out):
    r = Repository(out, "plain", named=False)
    for code in "00", "01":
        add_all(r, r.column("a", "f4", (9, 9), code), 5)
        add_all(r, r.column("b", "u1", (3, 4), code, variable=True), shapes=[(3, 4), (1, 4), (3, 1), (2, 2), (0, 4)])
        add_all(r, r.column("c", "i2", (), code), 5)
    r.close()


def bench(out, small, large):
    r = Repository(out, "bench", named=False)
    digits, photos = r.column("digits", "u1", (28, 28)), r.column("photos", "f4", (3, 224, 224))
    rng = numpy.random.default_rng(1)
    ramp = numpy.add.outer(numpy.arange(224), numpy.arange(224)).astype("f4") / 448
    for i in range(small):
        digits.add(numpy.where(rng.random((28, 28)) < 0.2, rng.integers(0, 256, (28, 28)), 0))
    for i in range(large):
        photos.add(ramp * rng.random((3, 1, 1)) + rng.normal(0, 0.05, (3, 224, 224)).round(3))
    r.close()


MAKERS = {"types": types, "filters": filters, "shapes": shapes, "places": places, "branches": branches,
          "v04": lambda out: older(out, "0.4.0", "v04"), "v02": lambda out: older(out, "0.2.0", "v02"), "cast": cast,
          "killed": killed, "flipped": lambda out: damaged(out, "flipped"), "truncated": lambda out: damaged(out, "truncated"),
          "missing": lambda out: damaged(out, "missing"), "plain": plain}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--only", nargs="+", choices=MAKERS)
    p.add_argument("--bench", action="store_true")
    p.add_argument("--small", type=int, default=10000)
    p.add_argument("--large", type=int, default=500)
    a = p.parse_args()
    sources = [os.path.join(HERE, f) for f in ("make_repository.py", "hangar_file.py", "hangar_repository.py")]
    version = hashlib.blake2b(b"".join(open(f, "rb").read() for f in sources) + repr((a.bench, a.small, a.large)).encode()).hexdigest()
    for name in ["bench"] if a.bench else a.only or MAKERS:
        to, mark = os.path.join(a.folder, name), os.path.join(a.folder, name, "complete")
        if os.path.exists(mark) and open(mark).read() == version:
            continue
        shutil.rmtree(to, ignore_errors=True)
        os.makedirs(a.folder, exist_ok=True)
        bench(a.folder, a.small, a.large) if a.bench else MAKERS[name](a.folder)
        with open(mark, "w") as f:
            f.write(version)


main()
