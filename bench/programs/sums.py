"""The checksum that h5read.c makes, for peers in Python."""
import numpy

PRIME = numpy.uint64(1099511628211)


def checksum(numbers):
    """The sum of 32-bit patterns: sum = sum * PRIME + bits, modulo 2^64."""
    powers = numpy.full(len(numbers), PRIME, numpy.uint64)
    powers[0] = 1
    return int((numbers.astype(numpy.uint64) * numpy.cumprod(powers)[::-1]).sum(dtype=numpy.uint64))
