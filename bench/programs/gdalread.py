"""gdalread.py FILE DATASET WHAT [NUMBER [NUMBER]]: the scenarios of h5read.c by GDAL's HDF5 driver; prints
the same two words."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy  # noqa: E402
from osgeo import gdal  # noqa: E402
from sums import checksum  # noqa: E402

gdal.UseExceptions()


def whole(root, name):
    array = root.OpenMDArray(name)
    begin = time.monotonic()
    values = array.ReadAsArray()
    return checksum(values.reshape(-1)[::61].view(numpy.uint32)), time.monotonic() - begin


def first(root, name):
    begin = time.monotonic()
    array = root.OpenMDArray(name)
    values = array.ReadAsArray([0, 0], [1, 1])
    return checksum(values.reshape(-1).view(numpy.uint32)), time.monotonic() - begin


def strided(root, name, *step):
    array = root.OpenMDArray(name)
    step = [int(s) for s in step]
    count = [d.GetSize() // s for d, s in zip(array.GetDimensions(), step)]
    begin = time.monotonic()
    values = array.ReadAsArray([0, 0], count, step)
    return checksum(values.reshape(-1).view(numpy.uint32)), time.monotonic() - begin


def header(root, _):
    begin = time.monotonic()
    total = bytearray()
    for name in sorted(root.GetMDArrayNames()):
        for attribute in sorted(root.OpenMDArray(name).GetAttributes(), key=lambda a: a.GetName()):
            total += attribute.ReadAsString().encode().ljust(24, b"\0")
    return checksum(numpy.frombuffer(total, numpy.uint8)), time.monotonic() - begin


def main():
    path, name, what, *numbers = sys.argv[1:]
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER)
    run = {"whole": whole, "first": first, "strided": strided, "header": header}[what]
    total, took = run(dataset.GetRootGroup(), name, *numbers)
    print(f"{total:016x} {took:.6f}")


main()
