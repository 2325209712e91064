"""The scenarios: the data read, the readers, and the goals.

A goal is (what, limit): wall and phase in seconds, R (wall against plain libcurl), requests, MiB, CPU in seconds, chain
(dependent round trips), rss in MiB; rss_over: MiB above the data's size; cpu_R: CPU against plain libcurl's.  `phase` is the
time of the reads alone, without starting the program and opening the file.  phase_of: the same against another scenario's; http: wall time against our own over http; chain_more
and CPU_more: dependent round trips and CPU seconds more than over http."""
import dataclasses


@dataclasses.dataclass
class Scenario:
    name: str
    title: str
    domain: str            # below s3://bucket/
    what: list             # h5read's DATASET WHAT ...
    goals: dict
    plain: str = ""        # list of ranges for plain libcurl; "": none
    connections: int = 64  # of plain libcurl
    peers: tuple = ()      # (name, HOW, file below the data folder or the server)
    mib: float = 0         # of the data that is read
    server: str = "port"   # which of serve.py's
    local: bool = False    # from the directory
    tool: list = dataclasses.field(default_factory=list)  # an HDF5 tool instead of h5read
    same_as: str = ""      # compare the wall time with that scenario's ("wall_of")
    extra: bool = False    # only when --only names it
    part: str = ""         # "tls": over https, and for comparison over http; "plain": HDF5 files by name

    @property
    def tls(self):
        return self.part == "tls"


def over_http(path, paged=""):
    """Those that read an HDF5 file on a web server."""
    with_buffer = (("ROS3, page buffer", "paged", paged),) if paged else ()
    return (("ROS3", "ros3", path), *with_buffer, ("GDAL", "gdal", path), ("netCDF-C", "netcdf", path))


def table(mib):
    """All of them, in the order of the report."""
    raw, zipped = "data/raw.h5", "data/zip.h5"
    whole = {"R": 1.25, "cpu_R": 1.3, "rss_over": 160}
    # Goals of requests have one more for each name in S3: a plain file of that name is asked for beside the domain.
    rows = [
        Scenario("first", "cold open + first value", "native_small.h5", ["field", "first"], {"chain": 3, "requests": 5, "MiB": 0.125}, mib=0,
                 peers=over_http("data/small.h5")),
        Scenario("first_hsds", "the same, a domain that HSDS wrote", "native_raw.h5", ["field", "first"], {"chain": 4, "requests": 5, "MiB": 0.125},
                 mib=0),
        Scenario("slab_ref", f"{mib} MiB slab, references into one file", "chunks_raw.h5", ["field", "whole"],
                 {**whole, "requests": 40}, "ref_raw.list", mib=mib,
                 peers=(*over_http(raw, "data/paged.h5"), ("native, local file", "native", raw))),
        Scenario("slab_obj", f"{mib} MiB slab, chunk objects", "native_raw.h5", ["field", "whole"], whole, "native_raw.list", mib=mib),
        Scenario("transform_ref", f"{mib} MiB slab through a data transform, references", "chunks_raw.h5", ["field", "transformed"],
                 {"rss_over": 160}, "ref_raw.list", mib=mib),
        Scenario("transform_obj", f"{mib} MiB slab through a data transform, chunk objects", "native_raw.h5", ["field", "transformed"],
                 {"rss_over": 160}, "native_raw.list", mib=mib),
        Scenario("double_ref", f"{mib} MiB slab as float64, references", "chunks_raw.h5", ["field", "doubled"], {"rss_over": 160},
                 "ref_raw.list", mib=2 * mib),
        Scenario("double_obj", f"{mib} MiB slab as float64, chunk objects", "native_raw.h5", ["field", "doubled"], {"rss_over": 160},
                 "native_raw.list", mib=2 * mib),
        Scenario("strided", "256 strided points, one per chunk", "chunks_raw.h5", ["field", "strided", "512", "512"],
                 {"phase": 0.25, "MiB": 1.0, "requests": 256 + 4}, "strided.list", peers=over_http(raw)),
        Scenario("points_each", "64 random points, an H5Dread each", "chunks_raw.h5", ["field", "points", "0"],
                 {"phase": 64 * 0.030 * 1.03 + 0.05, "MiB": 5.0}, peers=(("ROS3", "ros3", raw),)),
        Scenario("points_one", "64 random points, one selection", "chunks_raw.h5", ["field", "points", "1"], {"phase": 0.10, "MiB": 5.0}),
        Scenario("points_multi", "64 random points, H5Dread_multi", "chunks_raw.h5", ["field", "points", "2"], {"phase": 0.10, "MiB": 5.0}),
        Scenario("h5ls", "h5ls -r of 10,101 objects", "tree.h5", [], {"R": 1.2}, "tree.list", 256, tool=["h5ls", "-r"]),
        Scenario("h5dump", "h5dump -H of 10,101 objects", "tree.h5", [], {"R": 1.2}, "tree.list", 256, tool=["h5dump", "-H"]),
        Scenario("h5ls_snap", "the same h5ls, with a snapshot", "tree_snapshot.h5", [], {"R": 1.2, "requests": 120}, "tree.list", 256,
                 tool=["h5ls", "-r"]),
        Scenario("h5dump_snap", "the same h5dump, with a snapshot", "tree_snapshot.h5", [], {"R": 1.2, "requests": 120}, "tree.list", 256,
                 tool=["h5dump", "-H"]),
        Scenario("tiny_ref", "10,000 tiny datasets, loaded with --link", "tiny_ref.h5", ["t", "tiny", "10000"], {"phase": 0.5},
                 "tiny_ref.list", 256, peers=(("native, local file", "native", "data/tiny.h5"),)),
        Scenario("tiny_obj", "10,000 tiny datasets, loaded", "tiny.h5", ["t", "tiny", "10000"], {"phase": 2.0}, "tiny.list", 256),
        Scenario("tiny_ref_hsds", "10,000 tiny datasets, references that HSDS wrote", "tiny_ref_hsds.h5", ["t", "tiny", "10000"], {"R": 1.5},
                 "tiny_ref_hsds.list", 256),
        Scenario("tiny_obj_hsds", "10,000 tiny datasets, chunk objects that HSDS wrote", "tiny_hsds.h5", ["t", "tiny", "10000"], {"R": 1.5},
                 "tiny_hsds.list", 256),
        Scenario("header", "60 variables x 20 attributes, as ncdump -h", "vars.h5", ["/", "header"], {"chain": 3}, "vars.list",
                 peers=over_http("data/vars.h5")),
        Scenario("header_snap", "the same header, with a snapshot", "vars_snapshot.h5", ["/", "header"], {"chain": 3, "requests": 5}, "vars.list"),
        Scenario("million", "1,000,000 chunks, one is looked up", "million.h5", ["field", "lookup", "5550", "5550"],
                 {"chain": 5, "MiB": 1.0, "rss": 64}),
        Scenario("zip_ref", f"{mib} MiB shuffle+deflate, references", "chunks_zip.h5", ["field", "whole"],
                 {"phase": 0.35, "CPU": 0.5, "rss_over": 160}, "ref_zip.list", mib=mib,
                 peers=(*over_http(zipped), ("native, local file", "native", zipped))),
        Scenario("zip_obj", f"{mib} MiB shuffle+deflate, chunk objects", "native_zip.h5", ["field", "whole"], {"rss_over": 160},
                 "native_zip.list", mib=mib),
        Scenario("dir_raw", f"{mib} MiB from a directory", "chunks_raw.h5", ["field", "whole"], {"native": 1.2}, local=True, mib=mib,
                 peers=(("native, local file", "native", raw),)),
        Scenario("dir_zip", f"{mib} MiB shuffle+deflate from a directory", "chunks_zip.h5", ["field", "whole"], {"native": 0.5}, local=True,
                 mib=mib, peers=(("native, local file", "native", zipped),)),
        Scenario("again", "64 MiB read a second time", "native_small.h5", ["field", "whole", "2"], {"native": 1.2}, mib=64,
                 peers=(("native, local file", "native", "data/small.h5"),)),
        Scenario("late", "chunk objects, one answer in 100 a second late", "native_raw.h5", ["field", "whole"], {"wall_of": 1.5, "requests": (mib + 3) * 1.05},
                 server="late", mib=mib, same_as="slab_obj"),
        Scenario("busy", "chunk objects, the server bears 16 requests at once", "native_raw.h5", ["field", "whole"],
                 {"wall": 0.6 + mib / 16 * 0.05, "requests": (mib + 3) * 1.3}, server="busy", mib=mib),
        Scenario("far_ref", f"{mib} MiB slab by references, 100 ms and 50 MB/s a request", "chunks_raw.h5", ["field", "whole"], whole,
                 "ref_raw.list", server="far", mib=mib),
        Scenario("far_obj", f"{mib} MiB slab of chunk objects, 100 ms and 50 MB/s a request", "native_raw.h5", ["field", "whole"], whole,
                 "native_raw.list", server="far", mib=mib),
        Scenario("late_same", "chunk objects, the same four a second late each time", "native_raw.h5", ["field", "whole"], {}, server="late_same",
                 mib=mib, extra=True),
        Scenario("stuck", "chunk objects, the same four stop half-way for 2 s each time", "native_raw.h5", ["field", "whole"], {},
                 server="stuck", mib=mib, extra=True),
        Scenario("slabs", "16 MiB slabs, 50 ms of work on each", "native_raw.h5", ["field", "slabs", "512", "50"],
                 {"phase": 1.2 * max(mib / 16 * 0.05, 0.5), "rss_over": 160}, mib=16),
    ]
    return rows


# Goals that hold over https as over http; those in seconds don't.
KEPT = ("R", "requests", "MiB", "chain", "rss_over", "wall_of")
# Requests that share connections begin one after another without waiting for an answer: `chain` does not count them apart.
SHARED = ("header",)
OWN_GOALS = {"first": {"CPU_more": 0.025, "chain_more": 0}, "first_hsds": {"CPU_more": 0.025, "chain_more": 0},
             "slab_ref": {"R": 1.25, "http": 1.8, "cpu_R": 1.15}, "slab_obj": {"R": 1.25, "http": 1.8, "cpu_R": 1.15}}


def in_python(s):
    """Peers in Python, which bring their own TLS; pyread.py lists their scenarios."""
    if s.what[1:2] not in (["first"], ["whole"], ["strided"]) or s.domain not in ("native_small.h5", "native_raw.h5", "chunks_raw.h5"):
        return ()
    file = "data/small.h5" if s.what[1] == "first" else "data/raw.h5"
    zarr = (("Zarr v3, zarr-python", "zarr", "field.zarr"),)
    if s.what[1] == "whole" and len(s.what) > 2:
        return ()
    return (*(zarr if s.domain != "native_small.h5" else ()), *(() if s.domain == "native_raw.h5" else (("h5py, fsspec", "h5py", file),)))


def over_tls(rows):
    """The same over https: scenarios that read from a server."""
    out = []
    for s in rows:
        if s.local or s.name == "again":
            continue
        goals = {**{what: limit for what, limit in s.goals.items() if what in KEPT and not (what == "chain" and s.name in SHARED)}, **OWN_GOALS.get(s.name, {})}
        out.append(dataclasses.replace(s, name=s.name + "_https", title=s.title + ", https", goals=goals, part="tls",
                                       peers=in_python(s) if s.server == "port" else (),
                                       same_as=s.same_as and s.same_as + "_https"))
    return out


def everything(mib):
    """Over http, over https, and plain files."""
    import plain_files  # they need this module
    import samples
    return table(mib) + over_tls(table(mib)) + plain_files.table(mib) + samples.table()
