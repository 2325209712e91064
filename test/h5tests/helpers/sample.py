"""Long tests take a sample where ./check sets BKT_SAMPLE; ./check --all, and ctest by itself, take all.

The sample depends on names alone: a failure comes again."""
import os
import zlib


def sampled():
    return bool(os.environ.get("BKT_SAMPLE"))


def takes(name, one_in):
    """Is the case of this name in a sample of one in so many?  A sample of 6 has all that a sample of 12 has."""
    return not sampled() or zlib.crc32(name.encode("utf-8", "surrogateescape")) % one_in == 0


def step(one_in):
    """The distance between two cases that are numbered."""
    return one_in if sampled() else 1


def note():
    """The text that is printed with the result."""
    return " (a sample: ./check --all takes all)" if sampled() else ""
