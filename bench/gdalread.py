"""gdalread.py FILE DATASET WHAT [NUMBER [NUMBER]]: what h5read.c does, by GDAL's HDF5 driver; prints the same two words."""
import sys
import time

import numpy
from osgeo import gdal

PRIME = numpy.uint64(1099511628211)
gdal.UseExceptions()


def checksum(numbers):
    """Of 32-bit patterns, as h5read.c sums them: sum = sum * PRIME + bits, modulo 2^64."""
    powers = numpy.full(len(numbers), PRIME, numpy.uint64)
    powers[0] = 1
    return int((numbers.astype(numpy.uint64) * numpy.cumprod(powers)[::-1]).sum(dtype=numpy.uint64))


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
