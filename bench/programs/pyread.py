"""pyread.py HOW URL DATASET WHAT [NUMBER [NUMBER]]: h5read.c's scenarios in Python; prints the same two words.

HOW: zarr (a Zarr v3 store, by zarr-python), h5py (an HDF5 file, by h5py on a file of fsspec's).  Both use the library's defaults."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy  # noqa: E402
from sums import checksum  # noqa: E402


def open_zarr(url):
    import zarr
    return zarr.open(url, mode="r")


def open_h5py(url):
    import fsspec
    import h5py
    return h5py.File(fsspec.open(url).open(), "r")


def bits(values):
    return numpy.ascontiguousarray(values).reshape(-1).view(numpy.uint32)


def whole(array):
    return checksum(bits(array[...])[::61])


def first(array):
    return checksum(bits(array[0:1, 0:1]))


def strided(array, *step):
    rows, columns = (int(s) for s in step)
    return checksum(bits(array[::rows, ::columns]))


def main():
    how, url, name, what, *numbers = sys.argv[1:]
    root = {"zarr": open_zarr, "h5py": open_h5py}[how](url)
    begin = time.monotonic()
    total = {"whole": whole, "first": first, "strided": strided}[what](root[name], *numbers)
    print(f"{total:016x} {time.monotonic() - begin:.6f}")


main()
