"""The scenarios of bench/run --plain: HDF5 files by their names in a store, with nothing prepared.

Their data are those of make_data.c and of make_plain.c.  The goals are explained in scenarios.py."""
import os
import subprocess

from scenarios import Scenario, over_http

INDEXES = (("tree1", "version 1 B-tree"), ("tree2", "version 2 B-tree"), ("fixed", "fixed array"), ("extensible", "extensible array"))
LISTED = ("strings_fixed", "strings_variable")
POINTER = "pointer.nc"


def parts(mib):
    """How many 256ths of its objects make_plain makes."""
    return min(mib, 256)


def make(folder, programs, mib, env):
    """The files, a pointer file to one of them for netCDF-C, and plain libcurl's ranges: a MiB each."""
    subprocess.run([os.path.join(programs, "bench_make_plain"), folder, str(parts(mib))], check=True)
    pointer = os.path.join(folder, POINTER)
    if os.path.exists(pointer):
        os.remove(pointer)
    subprocess.run([os.path.join(programs, "h5bucket"), "pointer", "s3://bucket/data/ordered.h5", pointer], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    for name in LISTED:
        size = os.path.getsize(os.path.join(folder, "bucket", "data", name + ".h5"))
        with open(os.path.join(folder, name + ".list"), "w", encoding="ascii") as f:
            f.writelines(f"data/{name}.h5 {at} {min(1 << 20, size - at)}\n" for at in range(0, size, 1 << 20))


def h5ls(name, title, path, goals, peers=()):
    return Scenario(name, "h5ls -r of " + title, path, [], goals, tool=["h5ls", "-r"], peers=peers)


def table(mib):
    raw, zipped, made = "data/raw.h5", "data/zip.h5", parts(mib)
    datasets, many, chunks, strings = 50 * made // 256 * 20, 10000 * made // 256, 1000 * made // 256 * 1000, 1000000 * made // 256
    whole = {"rss_over": 160}
    paged = (("ROS3, page buffer", "paged", "data/paged.h5"),)
    rows = [
        Scenario("first", "open + first value", "data/small.h5", ["field", "first"], {"chain": 3, "requests": 4, "MiB": 1},
                 peers=over_http("data/small.h5")),
        Scenario("slab", f"{mib} MiB slab", raw, ["field", "whole"], {"R": 1.25, "cpu_R": 1.5, **whole}, "ref_raw.list", mib=mib,
                 peers=over_http(raw, "data/paged.h5")),
        Scenario("zip", f"{mib} MiB shuffle+deflate", zipped, ["field", "whole"], {"phase": 0.4, **whole}, "ref_zip.list", mib=mib,
                 peers=over_http(zipped)),
        Scenario("strided", "256 strided points, one per chunk", raw, ["field", "strided", "512", "512"], {"phase": 0.3, "MiB": 1.5},
                 "strided.list", peers=(*over_http(raw), *paged)),
        Scenario("points", "64 random points, one selection", raw, ["field", "points", "1"], {"phase": 0.15}, peers=(("ROS3", "ros3", raw),)),
        h5ls("h5ls", f"{datasets + 21} scattered objects, old format", "data/scattered.h5", {"wall": 1.0, "chain": 14, "MiB": 16},
             (("ROS3", "ros3", "data/scattered.h5"),)),
        Scenario("link", f"load --link of these {datasets + 21} objects", "data/scattered.h5", [], {"wall": 1.5},
                 tool=["h5bucket", "load", "--link", "{source}", "{new}"]),
        h5ls("many_old", f"{many} datasets in a group, old format", "data/many_old.h5", {"wall": 3.0}),
        h5ls("many_latest", f"{many} datasets in a group, latest format", "data/many_latest.h5", {"wall": 3.0}),
        Scenario("header", "60 variables x 20 attributes", "data/ordered.h5", ["/", "header"], {"wall": 0.25}, peers=over_http("data/ordered.h5")),
        Scenario("ncdump", "ncdump -h of 60 variables x 20 attributes", "data/ordered.h5", [], {"wall": 0.25},
                 tool=["ncdump", "-h", "{pointer}"]),
        *(Scenario("at_" + kind, f"one value of {chunks} chunks, {what}", f"data/chunks_{kind}.h5", ["field", "at", str(1000 * made // 256), "1000"],
                   {"chain": 8, "MiB": 2}, peers=(("ROS3", "ros3", f"data/chunks_{kind}.h5"),)) for kind, what in INDEXES),
        Scenario("strings_fixed", f"{strings} strings of fixed length", "data/strings_fixed.h5", ["text", "strings"], dict(whole),
                 "strings_fixed.list", mib=strings * 24 / 2**20, peers=(("ROS3", "ros3", "data/strings_fixed.h5"),)),
        Scenario("strings_variable", f"{strings} strings of variable length", "data/strings_variable.h5", ["text", "strings"],
                 {"phase_of": 2, **whole}, "strings_variable.list", mib=strings * 32 / 2**20, same_as="plain_strings_fixed"),
    ]
    for s in rows:
        s.name, s.title, s.part = "plain_" + s.name, s.title + ", plain file", "plain"
    return rows
