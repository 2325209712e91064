#!/usr/bin/env python3
"""h5py_and_netcdf4.py PLACE N: h5py and netCDF4 of one process write and read domains in PLACE, by the installed plugin.

N is the number of libhdf5 that the process must hold: 1 if both use the same one, 2 if each brings its own.
The current folder gets pointer files, as netCDF-C wants files.  Variables: HDF5_VOL_CONNECTOR=bucket, H5BUCKET_POINTERS=yes,
H5BUCKET_BUCKET=PLACE.
"""
import os
import re
import subprocess
import sys

import h5py
import netCDF4
import numpy

place, wanted = sys.argv[1], int(sys.argv[2])
ROWS = numpy.arange(600, dtype="f4").reshape(30, 20)


def loaded():
    """How many libhdf5 this process has, and how many connectors, which are copies in memory.  libhdf5_hl and the plugin don't count."""
    with open("/proc/self/maps") as maps:
        mapped = maps.read()
    names = {os.path.basename(p) for p in re.findall(r"/\S+$", mapped, re.M)}
    libraries = {n for n in names if re.match(r"libhdf5\w*\.so", n) and not re.match(r"libhdf5\w*_(hl|vol_bucket)\.so", n)}
    return len(libraries), len(set(re.findall(r"(\d+) +/memfd:h5bucket", mapped)))


def is_domain(name):
    """The connector made it: the tool, another process, finds it in PLACE."""
    listed = subprocess.run(["h5bucket", "ls", f"{place}/{name}"], check=True, capture_output=True, text=True).stdout
    assert "rows" in listed, f"{place}/{name}: {listed}"


# both write at once; netCDF-C writes into files that track the order
with h5py.File("of_h5py.h5", "w", track_order=True) as f, netCDF4.Dataset("of_netcdf.nc", "w") as d:
    packed = f.create_dataset("rows", ROWS.shape, "f4", chunks=(10, 10), compression="gzip")
    d.createDimension("time", None)
    d.createDimension("x", 20)
    v = d.createVariable("rows", "f4", ("time", "x"), zlib=True, chunksizes=(10, 20))
    for i in range(0, 30, 5):
        packed[i:i + 5] = ROWS[i:i + 5]
        v[i:i + 5] = ROWS[i:i + 5] + 1
    f.attrs["by"] = "h5py"
    d.by = "netCDF4"
    assert loaded() == (wanted, wanted), f"{wanted} libhdf5 with a connector each expected: {loaded()}"
for name in "of_h5py.h5", "of_netcdf.nc":
    is_domain(name)

# each reads both, while all are open
with h5py.File("of_h5py.h5") as f, h5py.File("of_netcdf.nc") as g, \
        netCDF4.Dataset("of_h5py.h5") as c, netCDF4.Dataset("of_netcdf.nc") as d:
    for got, add in (f["rows"][:], 0), (g["rows"][:], 1), (c["rows"][:], 0), (d["rows"][:], 1):
        numpy.testing.assert_array_equal(numpy.asarray(got), ROWS + add)
    assert (f.attrs["by"], g.attrs["by"], c.by, d.by) == ("h5py", b"netCDF4", "h5py", "netCDF4"), \
        (f.attrs["by"], g.attrs["by"], c.by, d.by)

# each changes the other's
with netCDF4.Dataset("of_h5py.h5", "a") as c, h5py.File("of_netcdf.nc", "r+") as g:
    c["rows"][3, :] = -3
    g["rows"][4, :] = -4
    g["more"] = [1, 2]
with h5py.File("of_h5py.h5") as f, netCDF4.Dataset("of_netcdf.nc") as d:
    assert (f["rows"][3] == -3).all() and (f["rows"][2] == ROWS[2]).all()
    assert (d["rows"][4] == -4).all() and (d["rows"][5] == ROWS[5] + 1).all() and list(d["more"][:]) == [1, 2]

# errors of one library stay there
for open_absent in lambda: h5py.File("none.h5", "r"), lambda: netCDF4.Dataset("none.nc"):
    try:
        open_absent()
    except OSError:
        pass
    else:
        sys.exit("an absent file opens")
with h5py.File("of_h5py.h5") as f:
    assert f["rows"][29, 19] == 599
for name in "of_h5py.h5", "of_netcdf.nc":
    subprocess.run(["h5bucket", "rm", f"{place}/{name}"], check=True)
print(f"h5py and netCDF4 shared a process with {wanted} libhdf5")
