#!/usr/bin/env python3
"""h5py_compare.py PLUGINS: every object, attribute and dataset of each sample domain, read through h5py, equals its twin's.

Skipped (77) without an h5py on HDF5 1.14 or newer.  h5py loads the connector as any program does; the first
run of this script only sets the environment and starts itself again.
"""
import json
import os
import sys

try:
    import h5py
    import numpy
except ImportError:
    print("skipped: no h5py (Debian 13: python3-h5py)")
    sys.exit(77)
if h5py.version.hdf5_version_tuple < (1, 14, 0):
    print(f"skipped: this h5py uses HDF5 {h5py.version.hdf5_version}, connectors need 1.14")
    sys.exit(77)

LIMIT = 3_000_000  # elements of a dataset that is read whole
# Allowed differences, as (domain, part of the object's path or attribute): reason
KNOWN = {
    ("dimscales.h5", "REFERENCE_LIST"): "h5pyd names the second member `index`, unpadded",
    ("hsload/tcmpdints.h5", ""): "hsload drops the padding of compounds",
    ("hsload/tnestedcomp.h5", ""): "hsload drops the padding of compounds",
}


def value_of(get):
    try:
        return get()
    except Exception as error:  # the same kind of failure on both sides is not a difference
        return ("fails", type(error).__name__)


def equal(x, y):
    if isinstance(x, numpy.ndarray) and isinstance(y, numpy.ndarray) and x.dtype == y.dtype and not x.dtype.hasobject:
        return x.shape == y.shape and x.tobytes() == y.tobytes()
    return repr(x) == repr(y)


def compare(ours, twin):
    """Yields (path, what) of each difference."""
    names, twins = [], []
    ours.visit(names.append)
    twin.visit(twins.append)
    if names != twins:
        yield "/", f"visit finds {len(names)} and {len(twins)} objects"
    for path in ["/", *twins]:
        try:
            a = ours[path]
        except Exception as error:
            yield path, f"does not open: {error}"
            continue
        b = twin[path]
        if type(a) is not type(b):
            yield path, f"{type(a)} and {type(b)}"
            continue
        if set(a.attrs) != set(b.attrs):
            yield path, f"attributes {set(a.attrs) ^ set(b.attrs)}"
        for name in set(a.attrs) & set(b.attrs):
            x, y = value_of(lambda: a.attrs[name]), value_of(lambda: b.attrs[name])
            if not equal(x, y):
                yield f"{path}@{name}", f"{x!r:.80} and {y!r:.80}"
        if isinstance(b, h5py.Dataset) and (b.size or 0) < LIMIT:
            if a.shape != b.shape or a.dtype != b.dtype:
                yield path, f"{a.shape} {a.dtype} and {b.shape} {b.dtype}"
            x, y = value_of(lambda: a[()]), value_of(lambda: b[()])
            if not equal(x, y):
                yield path, f"{x!r:.80} and {y!r:.80}"


def main():
    fixtures = os.environ["BKT_FIXTURES"]
    if len(sys.argv) > 1:
        os.environ["HDF5_PLUGIN_PATH"] = sys.argv[1]
        os.environ["H5BUCKET_STATS"] = "1"
        if h5py.version.hdf5_version_tuple >= (2, 0, 0):
            print("HDF5 2.x takes what it found by HDF5_PLUGIN_PATH alone for its own: HDF5_VOL_CONNECTOR is set", flush=True)
            os.environ["HDF5_VOL_CONNECTOR"] = "bucket"
        if os.environ.get("BKT_PRELOAD"):
            os.environ["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)])
    with open(os.path.join(fixtures, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    failed = objects = 0
    used = set()
    for entry in manifest["domains"]:
        short = entry["domain"][len("/home/test_user1/fx/"):]
        if entry.get("do_not_dump"):
            continue
        name = os.path.join(fixtures, manifest["bucket"]) + entry["domain"]
        if os.path.isfile(name):
            raise SystemExit(f"{name} is a file: only a connector must be able to open it")
        with h5py.File(name, "r") as ours, h5py.File(os.path.join(fixtures, entry["native"]), "r") as twin:
            objects += 1
            for path, what in compare(ours, twin):
                why = [key for key in KNOWN if short == key[0] and key[1] in path]
                used.update(why)
                if why:
                    continue
                failed += 1
                print(f"FAIL {short} {path}: {what}")
    for key in set(KNOWN) - used:
        failed += 1
        print(f"STALE {key}: no difference any more")
    print(f"{objects} domains through h5py {h5py.__version__}, {failed} differences")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
