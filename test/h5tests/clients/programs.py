#!/usr/bin/env python3
"""programs.py PLUGINS|- H5BUCKET [s3://BUCKET/FOLDER]: programs that scientists use do with a domain what they do with a file.

Each command runs in a folder of plain files and in one of pointer files to domains.  Its output must be
equal, and so must the contents of the files that it made.  Commands that read have HDF5_PLUGIN_PATH alone, so
their output is plain files; those that write have the setting `pointers`.  Programs that aren't installed are
left out.  With -, the installed plugin is used, and programs that read have no variable set.  Skipped (77) if no program is installed, or all use an HDF5 older than 1.14.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

READ = """
ncdump a.nc
ncdump -h a.nc
ncks -m a.nc
ncks -O -h -v v a.nc out.nc
ncra -O -h a.nc out.nc
nccopy -k classic a.nc out.nc
python3 PROGRAM xarray-read netcdf4 a.nc
python3 PROGRAM xarray-read h5netcdf a.nc
python3 PROGRAM pandas-read p.h5
ptdump -v p.h5
gdalinfo a.nc
gdalinfo -stats HDF5:a.nc://w
octave-cli --eval "load('-hdf5','o.h5'); disp(a)"
cdo -s infon a.nc
cdo -s timmean a.nc out.nc
Rscript -e 'library(ncdf4); f <- nc_open("a.nc"); print(f$dim$lat$vals); print(ncvar_get(f, "v")[2, 3, ]); nc_close(f)'
Rscript -e 'library(hdf5r); f <- H5File$new("a.nc", "r"); print(f$ls()$name); print(f[["w"]][1:3, 2]); f$close_all()'
gdal_translate -q -of GTiff HDF5:a.nc://w out.tif && gdalinfo -checksum out.tif && rm out.tif
h5dump a.nc
h5diff a.nc a.nc
"""
WRITE = """
nccopy -d 5 -s a.nc out.nc
ncks -O -h -v v a.nc out.nc
ncrcat -O -h a.nc a.nc out.nc
ncatted -O -h -a title,global,m,c,other a.nc
ncrename -O -h -v v,renamed a.nc
ncap2 -A -h -s 'twice=w*2' a.nc a.nc
python3 PROGRAM netcdf4-append a.nc
python3 PROGRAM xarray-write netcdf4 out.nc
python3 PROGRAM xarray-write h5netcdf out.nc
python3 PROGRAM pandas-write out.h5
python3 PROGRAM h5py-modes out.h5
ptrepack p.h5:/ out.h5:/
octave-cli --eval "a=magic(3); b='text'; save('-hdf5','out.h5','a','b'); clear all; load('-hdf5','out.h5'); disp(a); disp(b)"
cdo -s -f nc4 timmean a.nc out.nc
gdal_translate -q -of netCDF NETCDF:a.nc:w out.nc
Rscript -e 'library(ncdf4); d <- ncdim_def("x", "m", 1:4); v <- ncvar_def("y", "m", d, -1); f <- nc_create("out.nc", v, force_v4 = TRUE); ncvar_put(f, v, 4:1); nc_close(f)'
Rscript -e 'library(hdf5r); f <- H5File$new("out.h5", "w"); f[["m"]] <- matrix(1:6, 2); f$close_all(); f <- H5File$new("out.h5", "r"); print(f[["m"]][, ])'
h5repack -f GZIP=5 a.nc out.h5
h5copy -i p.h5 -o out.h5 -s fixed -d fixed
"""
# the programs that `PROGRAM` stands for in the commands above
PROGRAM = {
    "xarray-read": """
import xarray
with xarray.open_dataset(args[1], engine=args[0]) as d:
    print(d); print(float(d.v[1:3].mean()), d.w.values.sum(), d.attrs)""",
    "xarray-write": """
import numpy, xarray
d = xarray.Dataset({"t": (("time", "x"), numpy.arange(12.).reshape(3, 4))}, attrs={"a": 1})
d.to_netcdf(args[1], engine=args[0], unlimited_dims=["time"], encoding={"t": {"zlib": True}})
d.to_netcdf(args[1], mode="a", group="sub", engine=args[0])
with xarray.open_dataset(args[1], engine=args[0], group="sub") as e: print(e.t.values)""",
    "netcdf4-append": """
import netCDF4
with netCDF4.Dataset(args[0], "a") as d:
    d["v"][5:7] = 7; d.history = "appended"; d.createGroup("g").createVariable("s", str, ("time",))[0] = "word\"""",
    "pandas-read": """
import pandas
print(pandas.read_hdf(args[0], "table", where="index > 0")); print(pandas.read_hdf(args[0], "fixed"))""",
    "pandas-write": """
import pandas
frame = pandas.DataFrame({"a": [1, 2, 3], "b": [.5, 1.5, 2.5], "c": ["x", "y", "z"]})
for append in False, True:
    frame.to_hdf(args[0], key="table", format="table", append=append, data_columns=True)
frame.to_hdf(args[0], key="fixed")
print(pandas.read_hdf(args[0], "table", where="a > 1"))""",
    "h5py-modes": """
import h5py, io, os
with h5py.File(args[0], "a") as f: f["x"] = [1, 2]; print(f.mode)
with h5py.File(args[0], "a") as f: f["y"] = f["x"][1] + 1
with h5py.File(args[0], "r+") as f: f.create_dataset("z", (8, 8), "i4", chunks=(4, 4))[:] = 3
with h5py.File(args[0]) as f: print(list(f), f["y"][()], f["z"].id.get_chunk_info(1).chunk_offset)
for mode, name in ("x", args[0]), ("r", "none.h5"), ("r+", "none.h5"):
    try: h5py.File(name, mode)
    except OSError as error: print(mode, type(error).__name__)
with h5py.File("nowhere.h5", "w", driver="core", backing_store=False) as f: f["x"] = 1
with h5py.File(io.BytesIO(), "w") as f: f["x"] = 1; print(f["x"][()])
print(os.path.exists("nowhere.h5"), h5py.is_hdf5(args[0]))""",
}


def make(folder):
    import h5py
    import netCDF4
    import numpy
    import pandas
    if h5py.version.hdf5_version_tuple < (1, 14, 0):
        raise ImportError(f"h5py uses HDF5 {h5py.version.hdf5_version}")
    with netCDF4.Dataset(folder + "/a.nc", "w") as d:
        d.title = "a try"
        d.createDimension("time", None)
        for name, n in ("lat", 6), ("lon", 8):
            d.createDimension(name, n)
            d.createVariable(name, "f8", (name,))[:] = numpy.linspace(0, 70, n)
        d.createVariable("time", "f8", ("time",))[:] = numpy.arange(5)
        d["time"].units = "days since 2000-01-01"
        v = d.createVariable("v", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 6, 8), fill_value=-1)
        v[:] = numpy.arange(240).reshape(5, 6, 8)
        d.createVariable("w", "i2", ("lat", "lon"))[:] = numpy.arange(48).reshape(6, 8)
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": [.5, 1.5, 2.5], "c": ["x", "y", "z"]})
    frame.to_hdf(folder + "/p.h5", key="table", format="table")
    frame.to_hdf(folder + "/p.h5", key="fixed")
    if shutil.which("octave-cli"):
        subprocess.run(["octave-cli", "--eval", f"a=magic(4); save('-hdf5','{folder}/o.h5','a')"], check=True)


POINTER = b"\x89HDF\r\n\x1a\nh5bucket 1\n"


def beside(folder):
    """Names of HDF5 files among pointer files.  HDF5 itself made them, and not the connector."""
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}", "rb") as f:
            begin = f.read(len(POINTER))
        if begin[:8] == POINTER[:8] and begin != POINTER:
            yield name


def run(command, folder, settings):
    """The command's output, and a dump of the files that it made."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "HS_"))}
    env.update(settings, PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")
    command = command.replace("PROGRAM", os.path.abspath(__file__) + " --program")
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    said = [f"exit {done.returncode}", done.stdout, done.stderr]
    for name in ("a.nc", "out.nc", "out.h5"):
        if re.search(rf"\b{name}\b", command):
            dump = "ncdump" if name.endswith("nc") else "h5dump"
            done = subprocess.run([dump, name], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
            said += [f"-- {name}: exit {done.returncode}", done.stdout or done.stderr]
    return re.sub(r"pid\d+|\d\d:\d\d:\d\d|(?<=DATASET )\d+", "", "\n".join(said).replace(folder, "."))


def main():
    plugins, tool, base = sys.argv[1], sys.argv[2], (sys.argv[3:] or [None])[0]
    failed = ran = 0
    with tempfile.TemporaryDirectory() as top:
        samples = top + "/samples"
        os.mkdir(samples)
        try:
            make(samples)
        except ImportError as missing:
            print(f"skipped: {missing} (Debian 13: config/packages/test-hdf5-system.txt)")
            sys.exit(77)
        os.mkdir(top + "/bucket")
        for number, (kind, command) in enumerate([("read", c) for c in READ.split("\n") if c] + [("write", c) for c in WRITE.split("\n") if c]):
            if not shutil.which(command.split()[0]):
                continue
            place = f"{base}/{os.path.basename(top)}/{number}" if base else f"file://{top}/bucket/{number}"
            native, ours = f"{top}/native{number}", f"{top}/ours{number}"
            shutil.copytree(samples, native)
            os.mkdir(ours)
            os.mkdir(f"{top}/bucket/{number}")
            for name in os.listdir(samples):
                subprocess.run([tool, "load", f"{samples}/{name}", f"{place}/{name}"], check=True)
                subprocess.run([tool, "pointer", f"{place}/{name}", f"{ours}/{name}"], check=True)
            settings = {} if plugins == "-" else {"HDF5_PLUGIN_PATH": plugins}
            if kind == "write":
                settings.update(HDF5_VOL_CONNECTOR="bucket", H5BUCKET_POINTERS="yes", H5BUCKET_BUCKET=place)
            wanted, got = run(command, native, {}), run(command, ours, settings)
            ran += 1
            if got != wanted:
                failed += 1
                print(f"FAIL {kind} {command}", *difflib.unified_diff(wanted.split("\n"), got.split("\n"), "file", "domain", n=0, lineterm=""), sep="\n")
            if kind == "write" and list(beside(ours)):
                failed += 1
                print(f"FAIL {command}: plain files in place of pointer files: {', '.join(beside(ours))}")
            if "exit 0" not in wanted.split("\n")[0]:
                failed += 1
                print(f"FAIL {command} with plain files: {wanted[:500]}")
    print(f"{ran} commands, {failed} differences")
    sys.exit(bool(failed or not ran))


if __name__ == "__main__":
    if sys.argv[1] == "--program":
        args = sys.argv[3:]
        exec(PROGRAM[sys.argv[2]])
    else:
        main()
