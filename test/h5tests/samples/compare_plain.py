#!/usr/bin/env python3
"""Compares plain files of samples by h5py: they must equal the files that hangar_file.py writes of the same samples.

compare_plain.py <cases     JSON on stdin: a list of {"repository", "options", "records": [[index, record], ...]}

Equal are: names, extents, chunks, filters with client data, element types, attributes with their types, all samples.
Needs h5py, numpy, xxhash and tables (which has blosc); without them the exit code is 77."""
import json, math, os, sys, tempfile

try:
    import h5py, numpy, xxhash
    import hangar_file
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

problems = []


def bad(case, text):
    problems.append("%s: %s" % (" ".join(case["options"]), text))
    print(problems[-1], flush=True)


class Options:
    def __init__(self, words):
        o = dict(w.split("=", 1) for w in words if "=" in w)
        self.type = numpy.dtype({"t": "u1"}.get(o.get("type", "u1"), o.get("type", "u1")))
        self.shape = tuple(int(d) for d in o["shape"].split(",") if d)
        self.variable = "variable" in words
        self.code = "0" + o.get("backend", "0")
        self.filters = None
        if "complib" in o:
            lib = o["complib"]
            self.filters = {"complib": lib, "complevel": int(o.get("level", 0)),
                            "shuffle": o.get("shuffle", "none" if lib == "none" else "byte")}

    def value(self, i):
        """The sample that sample_writer makes."""
        shape = tuple(n - (i + d) % (n + 1) for d, n in enumerate(self.shape)) if self.variable else self.shape
        n = math.prod(shape) * self.type.itemsize
        b = (numpy.arange(n) // 7 + 31 * i) & (1 if self.type == bool else 0x7f)
        return numpy.frombuffer(b.astype("u1").tobytes(), self.type).reshape(shape)


def filters(dataset):
    p = dataset.id.get_create_plist()
    return [p.get_filter(i) for i in range(p.get_nfilters())]


def same_attribute(case, name, ours, theirs):
    a, b = ours.attrs.get_id(name), theirs.attrs.get_id(name)
    x, y = ours.attrs[name], theirs.attrs[name]
    if a.shape != b.shape or a.get_type() != b.get_type() or not numpy.array_equal(x, y):
        bad(case, "attribute %s: %s %s, not %s %s" % (name, a.shape, x, b.shape, y))


def same_form(case, ours, theirs):
    if set(ours) != set(theirs) or set(ours.attrs) != set(theirs.attrs):
        bad(case, "names: %s, %s" % (set(ours) ^ set(theirs), set(ours.attrs) ^ set(theirs.attrs)))
        return
    for name in theirs.attrs:
        if case.get("killed") and name in ("next_location", "collections_remaining"):
            continue  # a flush may have begun
        same_attribute(case, name, ours, theirs)
    for name in theirs:
        a, b = ours[name], theirs[name]
        if (a.shape, a.maxshape, a.chunks, a.id.get_type(), filters(a)) != (b.shape, b.maxshape, b.chunks, b.id.get_type(), filters(b)):
            bad(case, "dataset %s: %s %s %s %s, not %s %s %s %s" % (name, a.shape, a.chunks, a.dtype, filters(a), b.shape, b.chunks, b.dtype, filters(b)))
            return


def same_samples(case, o, ours, records):
    for i, text in records:
        code, uid, digest, dset, row, shape = text.split(":")
        want = o.value(i)
        if digest != xxhash.xxh64_hexdigest(want.tobytes()) or tuple(int(d) for d in shape.split()) != want.shape:
            bad(case, "record %s: %s %s" % (text, xxhash.xxh64_hexdigest(want.tobytes()), want.shape))
        dataset = ours[dset]
        if code == "00":
            got = dataset[int(row), :want.size].reshape(want.shape)
        else:
            got = dataset[(int(row), *(slice(0, d) for d in want.shape))].reshape(want.shape)
        if got.dtype != want.dtype or got.tobytes() != want.tobytes():
            bad(case, "record %s: other values" % text)


def compare(case, folder):
    o = Options(case["options"])
    files = {}
    for i, text in case["records"]:
        files.setdefault(text.split(":")[1], []).append((i, text))
    for uid, records in files.items():
        path = "%s/data/%s/%s.hdf5" % (case["repository"], o.code, uid)
        with h5py.File(path, "r", swmr=True) as ours:
            if o.type.kind != "c" and 0 not in o.shape:  # not in hangar_file.py
                theirs = hangar_file.File(os.path.join(folder, "reference.hdf5"), o.code, o.type, o.shape, o.filters)
                for i, _ in records:
                    theirs.write(o.value(i))
                theirs.flush()
                same_form(case, ours, theirs.file)
                theirs.close()
            same_samples(case, o, ours, records)


with tempfile.TemporaryDirectory(prefix="bkt-compare-") as tmp:
    cases = json.load(sys.stdin)
    for c in cases:
        compare(c, tmp)
    print("%d cases, %d samples" % (len(cases), sum(len(c["records"]) for c in cases)))
sys.exit(1 if problems else 0)
