"""Claims about user blocks: bytes in a file before HDF5's own first byte (MATLAB's header).  Run by tool.py."""
import os, random, shutil, sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "h5tests", "helpers"))
from web_folder import WebFolder
from sandbox import dir_only, fails, ok

MATLAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases", "matlab73.mat")
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def block_of(path):
    """The file's bytes before HDF5's signature, which lies at 0, 512, 1024, 2048, ..."""
    data = open(path, "rb").read()
    at = 0
    while data[at:at + 8] != SIGNATURE:
        at = at * 2 or 512
        assert at < len(data), f"{path} is no HDF5 file"
    return data[:at]


def local(b, leaf):
    b.count += 1
    return os.path.join(b.tmp, f"{b.count}-{leaf}")


def with_block(b, block):
    """MATLAB's file with another user block, of 512 bytes at least: HDF5's addresses count from behind it, wherever that is."""
    size = 512
    while size < len(block):
        size *= 2
    path = local(b, "made.h5")
    with open(MATLAB, "rb") as old, open(path, "wb") as new:
        new.write(block.ljust(size, b"\0") + old.read()[512:])
    return path


def noise(n):
    return random.Random(n).randbytes(n - 1) + b"\1"


def same(b, domain, path, env=None):
    assert b.json("diff", domain, path, env=env) == [], (domain, path)
    back = local(b, "back.h5")
    ok(b.run("get", domain, back, env=env))
    assert block_of(back) == block_of(path), (domain, path)
    assert b.json("diff", back, path) == []
    if b.bin:
        ok(b.run_any(os.path.join(b.bin, "h5diff"), back, path))


def test_a_user_block_comes_back(b):
    assert block_of(MATLAB)[:19] == b"MATLAB 7.3 MAT-file" and len(block_of(MATLAB)) == 512
    for how in (), ("--link",):
        if how and b.store == "s3":
            continue  # a domain in a bucket can't refer to a file of this machine
        d, allow = b.new(".mat"), {"H5BUCKET_ALLOW": "file://" + b.tmp}
        ok(b.run("load", *how, shutil.copy(MATLAB, local(b, "m.mat")), d, env=allow))
        same(b, d, MATLAB, env=allow)
        assert b.json("info", d)[0]["user_block"] == 512 and "user block       512" in ok(b.run("info", d))
        assert b.json("verify", "--deep", d, env=allow)[0]["n_problems"] == 0


def test_of_every_size_and_kept_by_every_verb(b):
    plain = with_block(b, b"")
    for n in (512, 2048, 2049, 70000):  # up to 2048 they lie in the document
        path, d = with_block(b, noise(n)), b.new(".h5")
        ok(b.run("load", path, d))
        same(b, d, path)
        copied, moved = b.new(".h5"), b.new(".h5")
        ok(b.run("cp", d, copied))
        ok(b.run("mv", copied, moved))
        ok(b.run("acl", moved, "+r", "ted"))
        if b.store == "s3":
            ok(b.run("snapshot", moved))
        same(b, moved, path)
        found = b.json("diff", d, plain, rc=1)
        assert [t["what"] for t in found] == ["userblock"], found
        for one in d, moved:
            got = b.json("verify", one)[0]
            assert got["n_problems"] == 0 and got["n_orphans"] == 0, got
        ok(b.run("rm", d))
        same(b, moved, path)
        ok(b.run("load", "--force", plain, moved))
        same(b, moved, plain)
        ok(b.run("rm", moved))


def test_a_domain_of_version_1_keeps_it_too(b):
    for n in (512, 70000):
        path, d = with_block(b, noise(n)), b.new(".h5")
        ok(b.run("load", path, d, env={"H5BUCKET_SCHEMA": "v1"}))
        assert b.json("info", d)[0]["schema"] == "v1"
        same(b, d, path)
        ok(b.run("cp", d, to := b.new(".h5")))
        same(b, to, path)


@dir_only
def test_of_a_plain_file_in_a_store(b):
    path, other = with_block(b, noise(70000)), with_block(b, noise(70001))
    with WebFolder(b.tmp) as web:
        url = f"{web.url}/{os.path.relpath(path, b.tmp)}"
        assert b.json("diff", url, path) == []
        assert [t["what"] for t in b.json("diff", url, other, rc=1)] == ["userblock"]
        for copied in "--latest", "--nodata":  # object by object
            back = local(b, "back.h5")
            ok(b.run("get", copied, url, back))
            assert block_of(back) == block_of(path)


@dir_only
def test_a_large_one_goes_with_its_domain(b):
    path, d = with_block(b, noise(70000)), b.new(".h5")
    ok(b.run("load", path, d))
    key = os.path.join(os.path.dirname(b.object_of(d)), ".h5bucket-userblock")
    assert open(key, "rb").read() == noise(70000)
    ok(b.run("rm", d))
    assert not os.path.exists(key)


@dir_only
def test_a_damaged_one_is_an_error_and_found(b):
    path, d = with_block(b, noise(70000)), b.new(".h5")
    ok(b.run("load", path, d))
    doc = os.path.join(d, ".domain.json")
    key = os.path.join(os.path.dirname(b.object_of(d)), ".h5bucket-userblock")
    good, text = open(key, "rb").read(), open(doc).read()
    said = '"h5userblock": {"size": 131072, "apart": true}'
    assert said in text

    def is_bad(*words):
        back = local(b, "back.h5")
        fails(b.run("get", d, back), *words)
        assert not os.path.exists(back)
        assert [p["kind"] for p in b.json("verify", d, rc=1)[0]["problems"]] == ["userblock"]
        ok(b.run("ls", "-r", d))  # and nothing else suffers
    os.rename(key, key + "-away")
    is_bad("user block is missing", ".h5bucket-userblock")
    open(key, "wb").write(good + b"x" * 70000)
    is_bad("131072", "140000")
    for wrong in ('"h5userblock": {"size": 1000}', '"h5userblock": 7', '"h5userblock": {"size": 512, "bytes": "' + "QUFB" * 200 + '"}',
                  '"h5userblock": {"size": 512, "bytes": "?"}', '"h5userblock": {"size": -512}',
                  '"h5userblock": {"size": 512, "bytes": 3}', '"h5userblock": {"size": 18446744073709551616}'):
        open(doc, "w").write(text.replace(said, wrong))
        is_bad("h5userblock", "malformed")


# ---- programs that read and write it past HDF5 ----
class Programs:
    """HDF5's programs, with plain names in a default bucket and pointer files."""

    def __init__(self, b):
        self.b, self.bucket = b, os.path.join(b.tmp, f"bucket{b.count}")
        os.makedirs(self.bucket, exist_ok=True)
        self.env = {"HDF5_PLUGIN_PATH": b.plugin, "HDF5_VOL_CONNECTOR": "bucket", "HS_BUCKET": "file://" + self.bucket,
                    "H5BUCKET_POINTERS": "yes"}

    def __call__(self, program, *argv):
        return self.b.run_any(os.path.join(self.b.bin, program), *argv, env=self.env)

    def tool(self, *argv):
        return self.b.run(*argv, env=self.env)


def has(b, program):
    return b.bin and b.plugin and os.path.exists(os.path.join(b.bin, program))


def pointer_with_block(b, p):
    d, name = b.new(".mat"), local(b, "m.mat")
    ok(b.run("load", MATLAB, d))
    ok(b.run("pointer", "--user-block", d, name))
    assert block_of(name) == block_of(MATLAB)
    assert "Dataset" in ok(p("h5ls", name + "/a"))
    return name


@dir_only
def test_h5repack_copies_it_where_it_can(b):
    if not has(b, "h5repack"):
        return
    p = Programs(b)
    name, out, plain = pointer_with_block(b, p), local(b, "out.mat"), local(b, "plain.h5")
    ok(p("h5repack", name, out))
    assert os.path.isfile(out) and block_of(out) == block_of(MATLAB) and os.path.getsize(out) < 1024, "the pointer file is overwritten"
    assert "Dataset" in ok(p("h5ls", out + "/a"))
    back = local(b, "back.mat")
    ok(p.tool("get", out, back))
    assert block_of(back) == block_of(MATLAB) and p.tool("diff", back, MATLAB).returncode == 0
    # a domain by its own name is not a file that a program could read bytes from
    d = b.new(".mat")
    ok(b.run("load", MATLAB, d))
    ok(p("h5repack", d if b.store == "s3" else "file://" + d, "native:" + plain))
    assert block_of(plain) == b""


@dir_only
def test_a_program_writes_it_into_what_it_made(b):
    if not has(b, "h5repack"):
        return
    p, new = Programs(b), local(b, "ub")
    open(new, "wb").write(noise(1024))  # HDF5's program hangs where that is less
    out = local(b, "out.h5")
    ok(p("h5repack", "-u", new, "-b", "1024", MATLAB, out))
    assert block_of(out) == noise(1024) and "Dataset" in ok(p("h5ls", out + "/a"))
    domain = os.path.join(p.bucket, out.lstrip("/"))
    assert b.json("info", domain)[0]["user_block"] == 1024
    # opening it for writing gives it to the domain: then it is there without the pointer file, too
    ok(p("h5mkgrp", out, "/g"))
    back = local(b, "back.h5")
    ok(b.run("get", domain, back))
    assert block_of(back) == noise(1024)


@dir_only
def test_h5jam_and_h5unjam_work_on_pointer_files(b):
    if not has(b, "h5jam"):
        return
    p, new = Programs(b), local(b, "ub")
    open(new, "wb").write(noise(600))
    name, out, bare, old = pointer_with_block(b, p), local(b, "jammed.mat"), local(b, "bare.mat"), local(b, "old")
    ok(p("h5jam", "-i", name, "-u", new, "-o", out, "--clobber"))
    assert block_of(out)[:600] == noise(600) and "Dataset" in ok(p("h5ls", out + "/a"))
    back = local(b, "back.mat")
    ok(p.tool("get", out, back))
    assert block_of(back) == block_of(out)
    ok(p("h5unjam", "-i", name, "-u", old, "-o", bare))
    assert open(old, "rb").read() == block_of(MATLAB) and block_of(bare) == b"" and "Dataset" in ok(p("h5ls", bare + "/a"))
