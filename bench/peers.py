"""Peers that may be installed or not: how to run them, or why that can't be done."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
# GDAL lists a file's folder on opening unless this forbids it; all other options have their defaults.
GDAL_ENV = {"GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR"}


def python_that(can):
    """A Python that can do this, or None."""
    for python in dict.fromkeys(("/usr/bin/python3", shutil.which("python3"))):
        if python and subprocess.run([python, "-c", can], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


# Over https: the way, the test of a Python for it, and the message where no Python passes.
IN_PYTHON = {"zarr": ("import zarr, fsspec, aiohttp; assert int(zarr.__version__.split('.')[0]) >= 3",
                      "no zarr-python 3 with fsspec and aiohttp"),
             "samples_local": ("import h5py, tables, xxhash, numpy, blosc, lmdb", "not installed (config/packages/test.txt)"),
             "h5py": ("import h5py, fsspec, aiohttp", "not installed (Debian: python3-h5py python3-fsspec python3-aiohttp)")}


def netcdf_prefix(hdf5):
    """The netCDF-C that reads from web servers: (prefix, ""), or (None, the reason why it is missing)."""
    script = os.path.join(os.path.dirname(HERE), "config", "libraries", "netcdf.sh")
    ours = subprocess.run([script, "--byterange", "--prefix", hdf5], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    why = "not installed"
    for prefix in (ours, "/usr/local", "/usr"):
        try:
            with open(os.path.join(prefix, "include", "netcdf_meta.h"), encoding="utf-8", errors="replace") as f:
                if any(line.split()[:3] == ["#define", "NC_HAS_BYTERANGE", "1"] for line in f):
                    return prefix, ""
            why = "the installed one reads no files on web servers"
        except OSError:
            pass
    return None, f"{why}; config/libraries/netcdf.sh --byterange builds one"


def ncdump(hdf5):
    """netCDF-C's ncdump for an HDF5 that the connector can serve, or None."""
    script = os.path.join(os.path.dirname(HERE), "config", "libraries", "netcdf.sh")
    prefix = subprocess.run([script, "--prefix", hdf5], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    path = os.path.join(prefix, "bin", "ncdump")
    return path if os.path.exists(path) else None


class Peers:
    def __init__(self, folder, programs, hdf5):
        """folder: the place of the compiled program for netCDF-C"""
        self.folder, self.programs, self.missing, self.env = folder, programs, {}, {}
        with_ros3 = subprocess.run(["grep", "-q", "define H5_HAVE_ROS3_VFD 1", os.path.join(hdf5, "include", "H5pubconf.h")],
                                   stderr=subprocess.DEVNULL, check=False).returncode == 0
        if not with_ros3:
            self.missing["ros3"] = self.missing["paged"] = "this HDF5 has no such driver"
        self.python = python_that("from osgeo import gdal; import numpy")
        if not self.python:
            self.missing["gdal"] = "not installed (Debian: python3-gdal, python3-numpy)"
        self.pythons = {how: python_that(can) for how, (can, _) in IN_PYTHON.items()}
        self.missing.update({how: why for how, (_, why) in IN_PYTHON.items() if not self.pythons[how]})
        self.bindir, self.ncdump = os.path.join(hdf5, "bin"), ncdump(hdf5)
        if not self.ncdump:
            self.missing["ncdump"] = "config/libraries/netcdf.sh builds netCDF-C for this HDF5"
        prefix, why = netcdf_prefix(hdf5)
        self.ncread = os.path.join(folder, "ncread")
        if not prefix:
            self.missing["netcdf"] = why
        else:
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", self.ncread, os.path.join(PROGRAMS, "ncread.c"), f"-I{prefix}/include",
                            f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lnetcdf"], check=True)

    def tool(self, words):
        """The path of a tool: the build's own, netCDF-C's, or HDF5's."""
        if words[0] == "ncdump":
            return [self.ncdump, *words[1:]]
        return [os.path.join(self.programs if words[0] == "h5bucket" else self.bindir, words[0]), *words[1:]]

    def command(self, how, source, what):
        """(command, more environment) that runs scenario `what` on the file at `source`"""
        if how == "gdal":
            return [self.python, os.path.join(PROGRAMS, "gdalread.py"), "/vsicurl/" + source, *what], GDAL_ENV
        if how == "samples":
            return [os.path.join(self.programs, "bench_samplesread"), source, os.path.join(self.folder, what[0]), *what[1:]], {}
        if how == "samples_local":
            return [self.pythons[how], "-B", os.path.join(PROGRAMS, "samplesh5py.py"), "read", source, os.path.join(self.folder, what[0]), *what[1:]], {}
        if how in IN_PYTHON:
            return [self.pythons[how], os.path.join(PROGRAMS, "pyread.py"), how, source, *what], {}
        if how == "netcdf":
            return [self.ncread, source + "#mode=bytes", *what], {}
        return [os.path.join(self.programs, "bench_h5read"), how, source, *what], {}
