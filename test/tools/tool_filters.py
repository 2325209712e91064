"""Claims about h5bucket and the connector: a copy has its source's filters, with the same parameters,
whatever the filters do when a dataset is made.  Run by tool.py."""
import json, os, re

import sample
from sandbox import dir_only, ok

BITSHUFFLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases", "bitshuffle.h5")


class Routes:
    """A file of HDF5's with a filtered dataset /x/d, and all ways in and out of a domain."""

    def __init__(self, b, plugins, source):
        self.b, self.source = b, source
        self.native = {"HDF5_PLUGIN_PATH": plugins, "H5BUCKET_ALLOW": f"file://{os.path.dirname(source)}"}
        self.ours = {**self.native, "HDF5_PLUGIN_PATH": f"{b.plugin}:{plugins}", "HDF5_VOL_CONNECTOR": "bucket"}
        self.want = self.filters(source, self.native)
        self.n = 0

    def hdf5(self, program, *argv, env=None):
        argv = [re.sub("^s3:", "hsds+s3:", a) for a in argv]
        return self.b.run_any(os.path.join(self.b.bin, program), *argv, env=env or self.ours)

    def tool(self, *argv, env=None):
        return self.b.run(*argv, env=env or self.native)

    def filters(self, name, env):
        text = ok(self.hdf5("h5dump", "-pH", "-d", "/x/d", name, env=env))
        return [(int(i), p.split()) for i, p in re.findall(r"FILTER_ID (\d+).*?PARAMS \{([^}]*)\}", text, re.S)]

    def file(self):
        self.n += 1
        return os.path.join(self.b.tmp, f"{os.path.basename(self.b.new())}-{self.n}.h5")

    def same(self, name, ours=True):
        """It has the source's filters and elements; each side is read by its own program."""
        env = self.ours if ours else self.native
        assert self.filters(name, env) == self.want, (name, self.filters(name, env), self.want)
        ok(self.hdf5("h5diff", self.source, name, env=env))
        if ours:
            got = self.b.json("verify", "--deep", name, env=self.native)[0]
            assert got["n_problems"] == 0 and got["chunks_decoded"] > 0, got

    def run(self):
        b, new = self.b, self.b.new
        a, linked = new(), new()
        ok(self.tool("load", self.source, a))
        self.same(a)
        if b.store == "dir":
            ok(self.tool("load", "--link", self.source, linked))
            got = b.json("stat", linked, "/x/d", env=self.native)
            assert got["storage"]["where"] == "files", got
            self.same(linked)
        for domain in [a] + ([linked] if b.store == "dir" else []):
            out = self.file()
            ok(self.tool("get", domain, out))
            self.same(out, ours=False)
            c, f = new(), "native:" + self.file()
            ok(self.hdf5("h5copy", "-p", "-i", domain, "-o", c, "-s", "/x", "-d", "/x"))
            self.same(c)
            ok(self.hdf5("h5copy", "-p", "-i", domain, "-o", f, "-s", "/x", "-d", "/x"))
            self.same(f[7:], ours=False)
        c, r, s, f = new(), new(), new(), "native:" + self.file()
        ok(self.hdf5("h5copy", "-p", "-i", self.source, "-o", c, "-s", "/x", "-d", "/x"))
        self.same(c)
        ok(self.hdf5("h5repack", a, r))
        self.same(r)
        ok(self.hdf5("h5repack", self.source, s))
        self.same(s)
        ok(self.hdf5("h5repack", a, f))
        self.same(f[7:], ours=False)
        ok(self.tool("cp", a, new()))
        return a


def plain(b, chunk):
    """10 x 6400 numbers that are not compressed, in chunks, as /x/d of a file of HDF5's."""
    stem = os.path.join(b.tmp, os.path.basename(b.new()))
    with open(stem + ".txt", "w") as f:
        f.write(" ".join(str(i * i % 65521) for i in range(64000)))
    with open(stem + ".conf", "w") as f:
        f.write(f"PATH x/d\nINPUT-CLASS TEXTIN\nRANK 2\nDIMENSION-SIZES 10 6400\nOUTPUT-CLASS IN\nOUTPUT-SIZE 32\n"
                f"OUTPUT-BYTE-ORDER LE\nCHUNKED-DIMENSION-SIZES {chunk}\n")
    ok(b.run_any(os.path.join(b.bin, "h5import"), stem + ".txt", "-c", stem + ".conf", "-o", stem + ".h5", env={"HDF5_VOL_CONNECTOR": ""}))
    return stem + ".h5"


def filtered(b, plugins, chunk, *filters):
    source, out = plain(b, chunk), os.path.join(b.tmp, os.path.basename(b.new()) + ".h5")
    argv = [a for f in filters for a in ("-f", "/x/d:" + f)]
    ok(b.run_any(os.path.join(b.bin, "h5repack"), *argv, source, out, env={"HDF5_PLUGIN_PATH": plugins}))
    return out


def through(b, plugins, chunk, *filters):
    if not b.bin or not b.adding:
        return None
    r = Routes(b, plugins, filtered(b, plugins, chunk, *filters))
    return r, r.run()


def test_parameters_that_a_filter_puts_in_front(b):
    got = through(b, b.adding, "1 6400", "UD=310,0,2,1024,7")
    if got:
        r, a = got
        assert r.want == [(310, ["0", "5", "4", "1024", "7"])], r.want


def test_parameters_that_a_filter_puts_behind_and_other_filters(b):
    got = through(b, b.adding, "2 640", "SHUF", "UD=311,1,2,9,9", "GZIP=1")
    if got:
        assert ("311", ["9", "9", "0", "5", "4"]) == (str(got[0].want[0][0]), got[0].want[0][1]), got[0].want


def test_copies_where_the_filter_is_missing(b):
    if not b.bin or not b.adding:
        return
    r    = Routes(b, b.adding, filtered(b, b.adding, "1 6400", "UD=310,0,2,1024,7"))
    none = {"HDF5_PLUGIN_PATH": b.plugin}
    a, c, out = b.new(), b.new(), r.file()
    ok(r.tool("load", r.source, a, env=none))
    r.same(a)
    ok(r.hdf5("h5copy", "-p", "-i", a, "-o", c, "-s", "/x", "-d", "/x", env={**none, "HDF5_VOL_CONNECTOR": "bucket"}))
    r.same(c)
    ok(r.tool("get", a, out, env=none))
    r.same(out, ours=False)
    got = b.json("verify", "--deep", a, rc=1, env=none)[0]
    assert got["n_problems"] == 1 and got["problems"][0]["kind"] == "unchecked", got
    assert "310" in got["problems"][0]["message"] and b.json("verify", a, env=none)[0]["n_problems"] == 0


def printed(r, name, ours, env):
    """All that HDF5's tools print of the filters, except the name of the file."""
    env  = {**r.native, **env, **({"HDF5_VOL_CONNECTOR": "bucket"} if ours else {})}
    ls   = ok(r.hdf5("h5ls", "-v", name + "/x/d", env=env))
    dump = ok(r.hdf5("h5dump", "-pH", "-d", "/x/d", name, env=env))
    return re.findall(r"(?m)^ *Filter-.*$", ls), re.findall(r"(?s)\n +FILTERS \{.*", dump)


def ways_of_a_name(r, env):
    """Every way into a domain and out of it."""
    b, a, c, d, out, f = r.b, r.b.new(), r.b.new(), r.b.new(), r.file(), "native:" + r.file()
    ok(r.tool("load", r.source, a, env=env))
    ok(r.tool("cp", a, c, env=env))
    ok(r.tool("get", a, out, env=env))
    ours = {**r.native, **env, "HDF5_VOL_CONNECTOR": "bucket"}
    ok(r.hdf5("h5copy", "-p", "-i", r.source, "-o", d, "-s", "/x", "-d", "/x", env=ours))
    ok(r.hdf5("h5copy", "-p", "-i", c, "-o", f, "-s", "/x", "-d", "/x", env=ours))
    domains = [a, c, d]
    if b.store == "dir":
        domains.append(b.new())
        ok(r.tool("load", "--link", r.source, domains[-1], env={**r.native, **env}))
    return [(x, True) for x in domains] + [(x, False) for x in (out, f[7:])]


def test_names_are_what_the_file_has(b):
    """Also where the filter is missing, when the file is loaded or later."""
    if not b.bin or not b.adding:
        return
    none, there = {"HDF5_PLUGIN_PATH": b.plugin}, {"HDF5_PLUGIN_PATH": f"{b.plugin}:{b.adding}"}
    sentence = "adding filter; a name that is a sentence, and longer than most"
    for name, filters in [("adding", ["UD=310,1,2,1024,7"]), (sentence, ["SHUF", "UD=312,1,1,9", "GZIP=1"])]:
        r = Routes(b, b.adding, filtered(b, b.adding, "1 6400", *filters))
        for loaded in [none] if sample.sampled() and name is sentence else [there, none]:
            made = ways_of_a_name(r, loaded)
            for seen in [none] if loaded is there else [none, there]:
                want = printed(r, r.source, False, seen)
                assert want[1] and [x for x in want[0] if f"{name}-31" in x], want
                for at, ours in made:
                    assert printed(r, at, ours, seen) == want, (at, seen, printed(r, at, ours, seen), want)


def test_real_bitshuffle(b):
    if b.bitshuffle:
        r, a = through(b, b.bitshuffle, "1 6400", "UD=32008,0,2,1024,0")
        assert r.want[0][1][2:] == ["4", "1024", "0"], r.want
        if not sample.sampled():
            through(b, b.bitshuffle, "2 640", "UD=32008,0,2,0,2")


@dir_only
def test_bitshuffle_of_a_detector(b):
    """With the real plugin, and by our code alone."""
    if not b.bin:
        return
    for plugins in [b.bitshuffle, ""] if b.bitshuffle else [""]:
        env = {"HDF5_PLUGIN_PATH": plugins, "H5BUCKET_ALLOW": f"file://{os.path.dirname(BITSHUFFLE)}"}
        out = os.path.join(b.tmp, f"eiger-{bool(plugins)}.h5")
        ours = {**env, "HDF5_PLUGIN_PATH": f"{b.plugin}:{plugins}", "HDF5_VOL_CONNECTOR": "bucket"}
        for way in [[], ["--link"]]:
            a = b.new()
            ok(b.run("load", *way, BITSHUFFLE, a, env=env))
            assert b.json("verify", "--deep", a, env=env)[0]["n_problems"] == 0
            with open(b.object_of(a, "/d")) as f:
                got = json.load(f)["creationProperties"]["filters"]
            assert [f["parameters"] for f in got] == [[0, 5, 4, 0, 2]], got
            if os.path.exists(out):
                os.remove(out)
            ok(b.run("get", a, out, env=env))
            text = ok(b.run_any(os.path.join(b.bin, "h5dump"), "-pH", out, env=env))
            assert "PARAMS { 0 5 4 0 2 }" in text, text
            if plugins:
                ok(b.run_any(os.path.join(b.bin, "h5diff"), BITSHUFFLE, out, env=env))
                ok(b.run_any(os.path.join(b.bin, "h5diff"), BITSHUFFLE, a, env=ours))
