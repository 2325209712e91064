#!/usr/bin/env python3
"""test_h5bucket.py [s3://BUCKET/FOLDER]: the Python package h5bucket, in a folder and in S3.

With xarray, h5netcdf, dask and distributed their parts run as well; NEED_XARRAY=1 makes a missing one a failure.  BKT_SAMPLE: a smaller
domain for the reduction.  Requests are counted by a web server that serves a folder.
"""
import collections
import importlib.util
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import h5py
import numpy

import h5bucket
import web_folder  # of test/h5tests/helpers

ROWS = (64 if os.environ.get("BKT_SAMPLE") else 1024, 131072)  # float64: MiB by MiB, a chunk each


def refused(error, call, *args, **options):
    try:
        call(*args, **options)
    except error as got:
        return str(got)
    raise AssertionError(f"{args} {options}: no {error.__name__}")


def stored(base, name):
    """Is it a domain?  h5py with the plugin can't open a plain file as one of the connector's."""
    return subprocess.run([*TOOL, "ls", f"{base}/{name}"], capture_output=True, text=True, check=True).stdout


TOOL = [sys.executable, "-m", "h5bucket"]


# --- h5py -----------------------------------------------------------------------------------------------------------
def modes(base):
    name = base + "/modes.h5"
    with h5bucket.open(name, "w") as f:
        assert isinstance(f, h5py.File) and f.mode == "r+"
        f["x"] = numpy.arange(100)
        f.create_dataset("packed", (256, 256), "f8", chunks=(64, 64), compression=4)[...] = 2.5
    assert "packed" in stored(base, "modes.h5")
    with h5bucket.open(name) as f:
        assert f.mode == "r" and f["packed"][200, 200] == 2.5 and f["x"][99] == 99
        refused((OSError, ValueError, KeyError), f.create_group, "no")
    with h5py.File(name) as f:  # HDF5 asks the plugin by itself
        assert sorted(f) == ["packed", "x"]
    with h5py.File(name, "r+", driver="bucket") as f:
        f["y"] = 1
    with h5bucket.open(name, "a") as f:
        f["z"] = 2
    with h5bucket.open(base + "/new.h5", "a") as f:
        f["z"] = 2
    with h5bucket.open(name, settings={"connections": 4, "stats": False}, rdcc_nbytes=1 << 20) as f:
        assert sorted(f) == ["packed", "x", "y", "z"]
    for mode in "w-", "x":
        refused(FileExistsError, h5bucket.open, name, mode)
    for mode in "r", "r+":
        refused(FileNotFoundError, h5bucket.open, base + "/none.h5", mode)
    assert "nonsense" in refused(ValueError, h5bucket.open, name, settings={"nonsense": 1})
    refused(ValueError, h5bucket.open, name, settings={"region": "a;b=c"})
    refused(TypeError, h5py.File, name, driver="bucket", connections=4)
    assert os.path.exists(h5bucket.plugin_folder + "/libhdf5_vol_bucket.so")


def other_processes(base):
    """HDF5_PLUGIN_PATH is enough for a process without the import; the tool is a module and a command."""
    read = subprocess.run([sys.executable, "-c", "import sys, h5py; print(sorted(h5py.File(sys.argv[1])))", base + "/modes.h5"],
                          env={**os.environ, "HDF5_PLUGIN_PATH": h5bucket.plugin_folder}, capture_output=True, text=True)
    assert "packed" in read.stdout, read
    for first in "", "import h5bucket\n":  # a plain file that is not there
        missing = subprocess.run([sys.executable, "-c", first + "import h5py, sys\ntry: h5py.File('none.h5')\nexcept FileNotFoundError: print('missing')"],
                                 env={**os.environ, "HDF5_PLUGIN_PATH": h5bucket.plugin_folder}, capture_output=True, text=True)
        assert missing.stdout == "missing\n", missing
    done = subprocess.run([*TOOL, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("h5bucket "), done
    command = shutil.which("h5bucket")
    if os.environ.get("NEED_XARRAY"):
        assert command and subprocess.run([command, "ls", base + "/modes.h5"], capture_output=True).returncode == 0, command


# --- xarray ---------------------------------------------------------------------------------------------------------
def engine(base):
    import xarray
    name = base + "/run7.h5"
    d = xarray.Dataset({"t": (("time", "x"), numpy.arange(60.).reshape(12, 5)), "label": ("x", list("abcde"))},
                       coords={"time": numpy.arange("2020-01", "2021-01", dtype="M8[M]").astype("M8[ns]")}, attrs={"title": "run"})
    h5bucket.to_netcdf(d, name, encoding={"t": {"chunksizes": (4, 5), "zlib": True}}, unlimited_dims=["time"])
    assert "t " in stored(base, "run7.h5")
    with xarray.open_dataset(name, engine="h5bucket") as e:
        copy = pickle.loads(pickle.dumps(e))
        assert not e.t._in_memory and not copy.t._in_memory  # the name travels, not the values
        assert e.equals(d) and e.attrs == d.attrs and e.encoding["unlimited_dims"] == {"time"}, e
        assert copy.t[3, 2] == 17
        copy.close()
        assert copy.t[4, 2] == 22  # opened again
    h5bucket.to_netcdf(d.isel(x=0), name, "a", group="sub/deeper")
    assert xarray.open_dataset(name, engine="h5bucket", group="sub/deeper").t[11] == 55
    d.to_netcdf(base + "/by_engine.h5", engine="h5bucket")
    assert "t " in stored(base, "by_engine.h5")
    with xarray.open_dataset(base + "/by_engine.h5", engine="h5bucket", decode_times=False, drop_variables=["label"], settings={"connections": 4}) as e:
        assert list(e.data_vars) == ["t"] and e.time.dtype.kind in "if"
    if hasattr(xarray, "open_datatree"):
        tree = xarray.open_datatree(name, engine="h5bucket")
        assert tree["sub/deeper"].dataset.t[11] == 55 and tree.dataset.equals(d), tree
        tree.close()
        groups = xarray.open_groups(name, engine="h5bucket", group="sub")
        assert sorted(groups) == ["/", "/deeper"], groups
    refused(FileNotFoundError, xarray.open_dataset, base + "/none.h5", engine="h5bucket")


def many(base):
    import xarray
    for year in range(3):
        d = xarray.Dataset({"t": (("time", "x"), numpy.full((4, 6), float(year)))}, coords={"time": numpy.arange(4) + 4 * year})
        h5bucket.to_netcdf(d.chunk(x=3), f"{base}/year{year}.h5", unlimited_dims="time")
    with xarray.open_mfdataset([f"{base}/year{year}.h5" for year in range(3)], engine="h5bucket", combine="by_coords") as m:
        assert m.sizes["time"] == 12 and float(m.t.mean()) == 1 and m.t.chunks
        written = h5bucket.to_netcdf(m.mean("time"), base + "/mean.h5", compute=False)
        written.compute()
    assert (xarray.open_dataset(base + "/mean.h5", engine="h5bucket").t.values == 1).all()


# --- dask: requests of one pass ---------------------------------------------------------------------------------------
class Counting(web_folder.Handler):
    """/counts has the number of requests by key."""

    def do_GET(self):
        if self.path != "/counts":
            return super().do_GET()
        counts = collections.Counter(urllib.parse.unquote(path.partition("?")[0].lstrip("/")) for _, path, _ in self.server.requests)
        return self.answer(200, json.dumps(counts).encode())


def serve(folder):
    """A process of its own, since h5py keeps Python's lock while HDF5 waits."""
    server = web_folder.WebFolder(folder)
    server.RequestHandlerClass = Counting
    print(server.server_port, flush=True)
    signal.pause()


def reduction(folder):
    values = numpy.arange(ROWS[1], dtype="f8")
    with h5bucket.open(f"file://{folder}/run/big.h5", "w") as f:
        rows = f.create_dataset("v", ROWS, "f8", chunks=(1, ROWS[1]))
        for i in range(ROWS[0]):
            rows[i] = values + i
    server = subprocess.Popen([sys.executable, __file__, "--serve", folder + "/run"], stdout=subprocess.PIPE, text=True)
    try:
        count_requests(f"http://127.0.0.1:{int(server.stdout.readline())}", values.sum())
    finally:
        server.kill()
        server.wait()


def count_requests(address, one_row):
    import dask.distributed
    import xarray

    def counted():
        return collections.Counter(json.load(urllib.request.urlopen(address + "/counts")))

    with dask.distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, \
            dask.distributed.Client(cluster) as client:
        with xarray.open_dataset(address + "/big.h5", engine="h5bucket", chunks={"phony_dim_0": 16}) as d:
            before = counted()
            total = d.v.sum(dtype="f8").compute()
        assert len(client.scheduler_info()["workers"]) == 2
        counts = counted() - before
    assert total == one_row * ROWS[0] + ROWS[1] * (ROWS[0] - 1) * ROWS[0] / 2, total
    chunks = [n for key, n in counts.items() if re.search(r"/(c-[^/]*|\d+_\d+)$", key)]
    others = sum(counts.values()) - sum(chunks)
    print(f"a reduction over {ROWS[0]} MiB by 2 processes: {sum(chunks)} requests for {len(chunks)} chunks, {others} others")
    assert len(chunks) == ROWS[0] and sum(chunks) == ROWS[0], collections.Counter(chunks)
    assert others <= 2 * 12, counts - collections.Counter(chunks)


def main():
    bases = sys.argv[1:]
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(top + "/run")
        have = [m for m in ("xarray", "h5netcdf", "dask", "distributed") if importlib.util.find_spec(m)]
        missing = {"xarray", "h5netcdf", "dask", "distributed"} - set(have)
        assert not (missing and os.environ.get("NEED_XARRAY")), missing
        for base in [f"file://{top}/run", *(f"{b}/{os.path.basename(top)}" for b in bases)]:
            modes(base)
            other_processes(base)
            if not missing & {"xarray", "h5netcdf"}:
                engine(base)
            if not missing & {"xarray", "h5netcdf", "dask"}:
                many(base)
        if not missing:
            reduction(top)
    print("h5bucket with h5py" + "".join(f", {m}" for m in have) + (f"; not here: {', '.join(sorted(missing))}" if missing else ""))


if __name__ == "__main__":  # workers import this file
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
