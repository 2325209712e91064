#!/usr/bin/env python3
"""samples_counts.py --read PROGRAM --writer PROGRAM: requests of reading samples by record.

A batch of all samples of a plain file, on a web server and in S3, and of a domain in S3.  PROGRAM is bench/programs/samplesread.c, the
writer is sample_writer.c.  The server counts."""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "helpers"))
import web_folder  # noqa: E402

ABSENT = b"<Error><Code>NoSuchKey</Code></Error>"


class AsS3(web_folder.Handler):
    """A folder of buckets; objects that are missing have S3's document."""

    def answer(self, status, body, headers=()):
        if status == 404:
            return super().answer(status, ABSENT, {**dict(headers), "Content-Type": "application/xml"})
        return super().answer(status, body, headers)


class WithoutChunks(AsS3):
    """The server fails for all objects of chunks."""

    def answer_file(self, f, stat):
        return self.answer(503, b"") if os.path.basename(self.path)[0].isdigit() else super().answer_file(f, stat)


def serve(folder, s3, handler=AsS3):
    web = web_folder.WebFolder(folder)
    if s3:
        web.RequestHandlerClass = handler
    return web


def read(program, name, records, env, code=0):
    with tempfile.NamedTemporaryFile("w", prefix="bkt-records.", suffix=".txt") as f:
        f.writelines(r + "\n" for r in records)
        f.flush()
        run = subprocess.run([program, name, f.name, "1000"], env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    if run.returncode != code:
        sys.exit(f"{name}: exit code {run.returncode}: {run.stderr}")
    return run.stderr


def check(what, web, most):
    n = len(web.requests)
    print(f"{what}: {n} requests")
    if os.environ.get("SHOW_REQUESTS"):
        first = min(r[0] for r in web.requests)
        print("\n".join(f"  {1000 * (at - first):7.1f} {urllib.parse.unquote(path)} {r}" for at, path, r in web.requests))
    web.requests.clear()
    return [] if n <= most else [f"{what}: {n} requests instead of at most {most}"]


def merge(old, new):
    if os.path.isdir(old):
        shutil.copytree(old, new, dirs_exist_ok=True)
    elif os.path.exists(old):
        shutil.copyfile(old, new)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--read", required=True)
    p.add_argument("--writer", required=True)
    a = p.parse_args()
    bad = []
    with tempfile.TemporaryDirectory(prefix="bkt-samples.") as tmp:
        repo = {}
        os.makedirs(os.path.join(tmp, "bucket", "db"))
        for form in "file", "domain":
            repo[form] = os.path.join(tmp, "bucket", form)
            os.makedirs(os.path.join(repo[form], "data", "00"))
        names = {}
        for form, folder in repo.items():
            name = folder if form == "file" else "hdf5://domain"
            run = subprocess.run([a.writer, "write", name, f"backend={form};fsync=no;bucket=file://{tmp}/bucket", "600", "600", "type=u1", "shape=64,64", "backend=0",
                                  "complib=none"],
                                 stdout=subprocess.PIPE, text=True, check=True)
            names[form] = [line.split(" ", 1)[1] for line in run.stdout.splitlines() if line[0].isdigit()]
            random.Random(1).shuffle(names[form])
            assert len(names[form]) == 600, run.stdout
        env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "H5BUCKET_TEST": "hedge=0"}
        # A plain file: its 2.4 MB in long ranges, and the question for a domain.  A domain: its objects of 1 MiB.
        for form, s3, all_most, one_most in (("file", False, 8, 2), ("file", True, 8, 2), ("domain", True, 10, 5)):
            with serve(os.path.join(tmp, "bucket") if not s3 else tmp, s3) as web:
                name, where = f"s3://bucket/{form}" if s3 else f"{web.url}/{form}", "S3" if s3 else "web"
                read(a.read, name, names[form], {**env, "AWS_ENDPOINT_URL": web.url})
                bad += check(f"{form}, {where}: 600 samples in 3 collections", web, all_most)
                read(a.read, name, names[form][:1], {**env, "AWS_ENDPOINT_URL": web.url})
                bad += check(f"{form}, {where}: one sample", web, one_most)
        # A batch is divided to find the samples that fail, but not to the last one if the server is down.
        with serve(tmp, True, WithoutChunks) as web:
            down = {**env, "AWS_ENDPOINT_URL": web.url, "H5BUCKET_RETRIES": "0"}
            said = read(a.read, "s3://bucket/domain", names["domain"], down, code=1)
            bad += check("domain, no answer for chunks: 600 samples", web, 60)
            bad += [] if "503" in said else [f"no answer for chunks: no status in {said}"]
        # In a folder the connector reads the plain file as one in a store; HDF5's own drivers would have no statistics.
        said = read(a.read, repo["file"], names["file"], {"H5BUCKET_STATS": "1"})
        ranges = sum(int(n) for n in re.findall(r"^h5bucket: GET (\d+)", said, re.M))
        print(f"file, folder: {ranges} reads")
        bad += [] if 0 < ranges <= 10 else [f"file, folder: {ranges} reads by the connector: {said}"]
        # Both kinds of files in one repository, in one batch: the sum of both.
        for part in ("data/00",):
            for form in "file", "domain":
                merge(os.path.join(tmp, "bucket", form, part), os.path.join(tmp, "bucket", "both", part))
        both = names["file"] + names["domain"]
        random.Random(2).shuffle(both)
        with serve(tmp, True) as web:
            read(a.read, "s3://bucket/both", both[:900], {**env, "AWS_ENDPOINT_URL": web.url})
            bad += check("both: 900 samples", web, 18)
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
