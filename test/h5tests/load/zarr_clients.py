#!/usr/bin/env python3
"""zarr_clients.py: kerchunk's own sets by load, and xarray on the sets of export, both of Debian unstable (config/libraries/zarr.sh).

    zarr_clients.py --bin DIR --plugin DIR --tool H5BUCKET --source SOURCE

./check --all runs it; a sample leaves it out, since these programs are fetched first."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import sample
from load_testing import Bench, check, data_of, failures

MAKE = """
import json, os, sys, types
import cramjam, fsspec, h5py, numpy as np
if not hasattr(cramjam, "gzip"):  # Debian builds cramjam without it, and fastparquet wants the name
    cramjam.gzip = types.SimpleNamespace(compress=None, decompress=None, decompress_into=None)
from fsspec.implementations.reference import LazyReferenceMapper
from kerchunk.hdf import SingleHdf5ToZarr
folder = sys.argv[1]
name = os.path.join(folder, "source.h5")
x = np.random.default_rng(1).integers(0, 1 << 20, (60, 50)).astype("i4")
with h5py.File(name, "w") as f:
    f.attrs["title"] = "written by h5py"
    time = f.create_dataset("time", data=np.arange(60.0))
    time.make_scale("time")
    time.attrs["units"] = "days since 2000-01-01"
    lon = f.create_dataset("lon", data=np.arange(50, dtype="f4"))
    lon.make_scale("lon")
    for part, options in {"shuffled": dict(compression="gzip", shuffle=True, chunks=(16, 16)), "plain": dict(chunks=(10, 50)),
                          "zlib": dict(compression="gzip", chunks=(30, 25)), "whole": {}}.items():
        d = f.create_dataset(part, data=x + len(part), **options)
        d.dims[0].attach_scale(time)
        d.dims[1].attach_scale(lon)
        d.attrs["units"] = "m"
for limit in (0, 300):
    refs = SingleHdf5ToZarr(name, "file://" + name, inline_threshold=limit).translate()
    refs = refs.get("refs", refs)
    json.dump(refs, open(os.path.join(folder, f"set-{limit}.json"), "w"))
    out = os.path.join(folder, f"set-{limit}.parq")
    os.makedirs(out)
    m = LazyReferenceMapper.create(out, fs=fsspec.filesystem("file"), record_size=7, engine="fastparquet")
    for key, value in sorted(refs.items()):
        m[key] = value
    m.flush()
"""
READ = """
import sys, h5py, numpy as np, xarray as xr
name, *sets = sys.argv[1:]
for s in sets:
    with xr.open_dataset("reference://", engine="zarr", chunks=None, decode_times=False,
                         backend_kwargs={"consolidated": False, "storage_options": {"fo": s, "remote_protocol": "file"}}) as ds, h5py.File(name) as f:
        assert sorted(ds.variables) == sorted(f), (s, list(ds.variables))
        for part in f:
            assert np.array_equal(ds[part].values, f[part][...]) and ds[part].dtype == f[part].dtype, (s, part)
        assert ds["zlib"].dims == ("time", "lon") and ds["zlib"].attrs["units"] == "m" and ds.attrs["title"] == f.attrs["title"], s
print("equal")
"""


def run(b, python):
    new = lambda code, *args: b.run(python, "-c", code, *args)
    rc, out, err = new(MAKE, b.files)
    check("kerchunk makes sets", rc == 0, out + err)
    source = os.path.join(b.files, "source.h5")
    os.mkdir(b.domain("bucket"))
    for name in sorted(f for f in os.listdir(b.files) if f.startswith("set-")):
        domain = b.domain(f"bucket/{name}.h5")
        rc, _, err = b.run(b.o.tool, "load", "--kerchunk", os.path.join(b.files, name), domain)
        check(f"{name}: load", rc == 0, err)
        for part in ("time", "lon", "shuffled", "plain", "zlib", "whole"):
            want, got = b.dump(source, "-d", part), b.dump(domain, "-d", part, env={"HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_STATS": "1"})
            check(f"{name}: {part}", got[0] == 0 and data_of(want[1]) == data_of(got[1]) and re.search("h5bucket: GET [1-9]", got[2]), got[2])
    sets = []
    for form, options in (("copied", ()), ("linked", ("--link",))):
        rc, _, err = b.load(*options, source, b.domain(f"bucket/{form}.h5"))
        check(f"{form}: load", rc == 0, err)
    for form, name in (("file", source), ("copied", b.domain("bucket/copied.h5")), ("linked", b.domain("bucket/linked.h5"))):
        sets.append(os.path.join(b.files, form + ".json"))
        rc, _, err = b.run(b.o.tool, "export", "--kerchunk", name, sets[-1])
        check(f"{form}: export", rc == 0, err)
    rc, out, err = new(READ, source, *sets)
    check("xarray reads the sets of export", rc == 0 and out == "equal\n", out + err)


def main():
    p = argparse.ArgumentParser()
    for name in ("bin", "plugin", "tool", "source"):
        p.add_argument("--" + name, required=True)
    o = p.parse_args()
    if sample.sampled():
        print("skipped: a sample has neither kerchunk nor xarray; ./check --all fetches them")
        return 77
    made = subprocess.run([os.path.join(o.source, "config", "libraries", "zarr.sh")], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        print("skipped: kerchunk and zarr of Debian unstable could not be fetched, or do not run here")
        return 77
    with tempfile.TemporaryDirectory(prefix="bkt-zarr-") as folder:
        run(Bench(o, folder, H5BUCKET_ALLOW="file://" + folder), os.path.join(made.stdout.strip(), "usr", "bin", "python3"))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
