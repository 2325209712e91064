"""Claims about h5bucket: catalog.  Run by tool.py."""
import json, os

from sandbox import fails, ok, own_bucket


@own_bucket
def test_catalog_counts_as_hsds_does(b):
    for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"]:
        info = b.path(d["root_key"].replace(".group.json", ".info.json"))
        if "schema1" in d["domain"] or not os.path.exists(info) or "fastlinked" in d["domain"]:
            continue
        want = json.load(open(info))
        ok(b.run("catalog", b.bucket + d["domain"]))
        got = json.load(open(info))
        for k in ("num_groups", "num_datatypes", "num_chunks", "allocated_bytes", "metadata_bytes", "logical_bytes", "md5_sum"):
            assert got[k] == want[k], (d["domain"], k, got[k], want[k])
        for i, w in want["datasets"].items():
            for k in ("num_chunks", "allocated_bytes", "logical_bytes"):
                assert got["datasets"][i][k] == w[k], (d["domain"], i, k)
        lines = open(b.bucket + d["domain"] + "/.datasets.txt").read().splitlines()
        assert [len(x.split()) for x in lines] == [6] * len(want["datasets"])
        for line in lines:
            i, etag, when, size, n, total = line.split()
            chunks = b.bucket + d["domain"] + f"/.{i}.chunks.txt"
            rows = open(chunks).read().splitlines() if os.path.exists(chunks) else []
            assert len(rows) == int(n) and sum(int(r.split()[3]) for r in rows) == int(total) and len(etag) == 32


def test_catalog_into_a_folder(b):
    out = os.path.join(b.tmp, "cat")
    os.makedirs(out)
    ok(b.run("catalog", "-o", out, b.fx("groups.h5")))
    assert {".groups.txt", ".datasets.txt", ".datatypes.txt", ".info.json"} <= set(os.listdir(out))
    assert json.load(open(out + "/.info.json"))["num_groups"] == b.json("info", b.fx("groups.h5"))[0]["num_groups"]


def test_catalog_in_a_folder_of_any_name(b):
    out = os.path.join(b.tmp, "cat-odd")
    os.makedirs(out)
    for name in ('a "quoted" \\ one', "ein\tGruß", os.fsdecode(b"latin-\xfc")):  # the last is not UTF-8
        folder = os.path.join(b.tmp, name)
        os.makedirs(folder)
        ok(b.run("cp", b.fx("groups.h5"), folder + "/g.h5"))
        ok(b.run("catalog", "-o", out, folder + "/g.h5"))
        assert json.load(open(out + "/.info.json"))["bucket"] == name


def test_catalog_of_version_1(b):
    out = os.path.join(b.tmp, "cat1")
    os.makedirs(out)
    d = b.fx("schema1.h5")
    n = b.json("catalog", "-o", out, d)["files"]
    assert n == len(os.listdir(out)), os.listdir(out)
    want = b.json("info", d)[0]
    rows = {k: [x.split() for x in open(f"{out}/.{k}.txt").read().splitlines()] for k in ("groups", "datasets", "datatypes")}
    assert len(rows["groups"]) == want["num_groups"] - 1 and len(rows["datasets"]) == want["num_datasets"]
    assert len(rows["datatypes"]) == want["num_datatypes"] and sum(int(r[4]) for r in rows["datasets"]) == want["num_chunks"]
    for i, etag, when, size, chunks, total in rows["datasets"]:
        lines = [x.split() for x in open(f"{out}/.{i}.chunks.txt")] if int(chunks) else []
        assert len(lines) == int(chunks) and sum(int(x[3]) for x in lines) == int(total) and len(etag) == 32 and int(when) > 0
