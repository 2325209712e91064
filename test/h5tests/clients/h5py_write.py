#!/usr/bin/env python3
"""h5py_write.py PLUGINS: the same h5py calls write a domain and a plain HDF5 file; read again, they are equal.

Skipped (77) without an h5py on HDF5 1.14 or newer.  The first run only sets the environment and starts itself
again.
"""
import os
import sys
import tempfile

from h5py_compare import compare, h5py, numpy  # ends with 77 if no such h5py is found


def write(file):
    file.attrs["title"] = "a try"
    file.attrs["numbers"] = numpy.arange(5, dtype=">i2")
    group = file.create_group("deep/down", track_order=True)
    for name in ("z", "a", "m"):
        group.create_group(name)
    data = numpy.arange(600, dtype="f4").reshape(20, 30)
    file["whole"] = data
    zipped = file.create_dataset("zipped", data=data, chunks=(7, 8), compression="gzip", shuffle=True, maxshape=(None, 30))
    zipped.resize((25, 30))
    zipped[20:, ::3] = -1
    zipped[[1, 3, 8], 5] = 99
    zipped.attrs["units"] = "m/s"
    words = file.create_dataset("words", (3,), dtype=h5py.string_dtype())
    words[0], words[2] = "eins", "drei"
    lists = file.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("i4"))
    lists[1] = [1, 2, 3]
    pairs = numpy.zeros(4, dtype=[("n", "i4"), ("x", "f8"), ("s", "S5")])
    pairs["n"] = range(4)
    pairs["s"] = b"abc"
    file["pairs"] = pairs
    file["pairs"]["x"] = numpy.arange(4) / 2
    file.create_dataset("nothing", data=h5py.Empty("i4"))
    file["soft"] = h5py.SoftLink("/deep/down")
    file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    file["hard"] = file["whole"]
    file["kind"] = numpy.dtype("i8")
    del file["deep/down/m"]
    file.move("deep", "moved")
    file.copy("pairs", "pairs again")
    file.flush()
    with h5py.File(file.filename, "r") as seen:
        assert seen["whole"][3, 4] == data[3, 4]


def main():
    if len(sys.argv) > 1:
        os.environ.update(HDF5_PLUGIN_PATH=sys.argv[1], HDF5_VOL_CONNECTOR="bucket", H5BUCKET_STATS="1")
        if os.environ.get("BKT_PRELOAD"):
            os.environ["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)])
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bucket")
        name, twin = folder + "/bucket/x.h5", "native:" + folder + "/x.h5"
        for target in (name, twin):
            with h5py.File(target, "w") as file:
                write(file)
            with h5py.File(target, "a") as file:
                file["whole"][0, 0] = 17
                file.attrs.modify("title", "another")
        if not os.path.isdir(name) or not os.path.isfile(folder + "/x.h5"):
            sys.exit("the domain should be a folder and its twin a file: the connector was not used")
        with h5py.File(name, "r") as a, h5py.File(twin, "r") as b:
            differences = list(compare(a, b))
            links = [[(k, type(f.get(k, getlink=True)).__name__) for k in f] for f in (a, b)]
        if links[0] != links[1]:
            differences.append(("/", f"{links[0]} and {links[1]}"))
    for path, what in differences:
        print(f"FAIL {path}: {what}")
    print(f"written through h5py {h5py.__version__}: {len(differences)} differences")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
