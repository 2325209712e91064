#!/usr/bin/env python3
"""names.py: every form of a name by which a plain HDF5 file in a store opens.

    names.py --bin DIR --plugin DIR --tool H5BUCKET --hdf5 PREFIX

For a radosgw (test/s3/run.sh).  h5dump by name prints the same as for the local file, and a statistics line
with requests proves that the connector read it.  The files are those of HDF5's own tests.  Standard library only.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path += [os.path.join(HERE, "..", "helpers"), os.path.join(ROOT, "test", "s3")]
import hdf5_files  # noqa: E402
import upload  # noqa: E402
from web_folder import WebFolder  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("bin", "plugin", "tool", "hdf5"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()
BASE = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "HS_"))}
BASE.update(HDF5_PLUGIN_PATH="/nonexistent", HDF5_USE_FILE_LOCKING="FALSE")
OURS = dict(BASE, HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_STATS="1", H5BUCKET_TEST="hedge=0")
if os.environ.get("BKT_PRELOAD"):
    OURS["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
BY_PATH, BY_NAME = {}, {"HDF5_VOL_CONNECTOR": "bucket"}
STATS = re.compile(r"^h5bucket: GET (\d+).*\n", re.M)
failures = []


def check(what, good, more=""):
    print(("ok   " if good else "FAIL ") + what + ("" if good else "\n" + str(more)[-1500:]), flush=True)
    if not good:
        failures.append(what)


def run(command, env, cwd):
    done = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="surrogateescape", timeout=300)
    return done.returncode, done.stdout, done.stderr


def dump(name, env, cwd, *options):
    rc, out, err = run([os.path.join(args.bin, "h5dump"), *options, name], env, cwd)
    return rc, out.replace(name, "FILE").split("\n", 1)[-1], err


class Names:
    def __init__(self, files, work):
        self.files, self.work = files, work
        self.bucket = f"names-{os.getpid()}"
        self.empty = os.path.join(work, "empty")
        os.mkdir(self.empty)
        self.tall = os.path.join(files, "h5dump", "tall.h5")

    def put(self, key, path):
        with open(path, "rb") as f:
            upload.put(f"/{self.bucket}/{key}", f.read())

    def upload(self):
        upload.put("/" + self.bucket, b"")
        for folder in ("h5copy", "h5dump"):
            for name in os.listdir(os.path.join(self.files, folder)):
                if re.search(r"tall|tsplit|tfamily|extlinks|textlink|tvlstr", name):
                    self.put(f"{folder}/{name}", os.path.join(self.files, folder, name))
        vds = os.path.join(self.files, "h5dump", "vds")
        for name in os.listdir(vds):
            if name.startswith("1_"):
                self.put(f"h5dump/vds/{name}", os.path.join(vds, name))

    def same(self, what, name, local, env, *options, more=()):
        """h5dump prints the same for the name, read by the connector, as for the local file."""
        want = dump(os.path.basename(local), BASE, os.path.dirname(local), *more)
        rc, out, err = dump(name, {**OURS, **env}, self.empty, *options, *more)
        requests = sum(int(n) for n in STATS.findall(err))
        check(f"{what}: the same as the local file", rc == want[0] == 0 and out == want[1], err + out[:300])
        check(f"{what}: the connector read it", requests > 0, err)

    def refused(self, what, command, env, *words):
        rc, out, err = run(command, {**OURS, **env}, self.empty)
        check(f"{what}: refused", rc != 0 and all(word in out + err for word in words), out + err)

    def schemes(self):
        for how, env in (("by path", BY_PATH), ("by name", BY_NAME)):
            self.same(f"s3://, {how}", f"s3://{self.bucket}/h5dump/tall.h5", self.tall, env)
            self.same(f"hsds+s3://, {how}", f"hsds+s3://{self.bucket}/h5dump/tall.h5", self.tall, env)
        for name in ("h5dump/tall.h5", "/h5dump/tall.h5", "hdf5://h5dump/tall.h5"):
            for bucket in (self.bucket, "s3://" + self.bucket):
                self.same(f"{name} in the default bucket {bucket[:5]}", name, self.tall, {**BY_NAME, "H5BUCKET_BUCKET": bucket})
        want, got = dump("tall.h5", BASE, os.path.dirname(self.tall)), dump("h5dump/tall.h5", {**OURS, **BY_NAME, "H5BUCKET_BUCKET": self.files}, self.empty)
        check("in a folder as default bucket: the same as the local file", got[:2] == want[:2], got[2])

    def longest(self):
        """No key of a domain of that name could be as long."""
        key = "h5dump/" + "k" * (1024 - len("h5dump/"))
        self.put(key, self.tall)
        for how, env in (("by path", BY_PATH), ("by name", BY_NAME)):
            self.same(f"the longest key, {how}", f"s3://{self.bucket}/{key}", self.tall, env)

    def through(self):
        """hsds+file:// reads a file of this machine as one in a store, with the files that it leads to."""
        for name in ("h5dump/tall.h5", "h5dump/vds/1_vds.h5", "h5copy/h5copy_extlinks_src.h5"):
            path = os.path.join(self.files, name)
            self.same(f"hsds+file://, {name}", "hsds+file://" + path, path, BY_NAME)
        self.same("hsds+file:// of a family with its driver", f"hsds+file://{self.files}/h5dump/tfamily%05d.h5",
                  os.path.join(self.files, "h5dump", "tfamily%05d.h5"), BY_NAME, "--filedriver=family")
        self.refused("hsds+file:// for writing", [os.path.join(args.bin, "h5clear"), "-s", "hsds+file://" + self.tall],
                     {**BY_NAME, "H5BUCKET_TRACE": "vol"}, "for reading only")

    def locked(self):
        """A file of this machine is locked when it opens.  A file in a store, to which its link leads, has no locks."""
        where = os.path.join(self.files, "h5copy")
        old, begin = b"h5copy_extlinks_trg.h5", f"s3://{self.bucket}/"
        key = "t" * (len(old) - len(begin))
        with open(os.path.join(where, "h5copy_extlinks_src.h5"), "rb") as f:
            content = f.read().replace(old, (begin + key).encode())
        path = os.path.join(self.work, "linking.h5")
        with open(path, "wb") as f:
            f.write(content)
        self.put(key, os.path.join(where, old.decode()))
        env = {**OURS, **BY_NAME, "H5BUCKET_ALLOW": begin[:-1], "HDF5_USE_FILE_LOCKING": "TRUE"}
        want = dump("h5copy_extlinks_src.h5", BASE, where, "-d", "/group_ext/extlink_dset")
        rc, out, err = dump("hsds+file://" + path, env, self.empty, "-d", "/group_ext/extlink_dset")
        check("a locked file that links to a store: the same as the local one", rc == want[0] == 0 and out == want[1], err + out)
        del env["H5BUCKET_ALLOW"]
        _, _, err = dump("hsds+file://" + path, env, self.empty, "--enable-error-stack", "-d", "/group_ext/extlink_dset")
        check("a link to a store that is not allowed: the error has the reason", "setting allow" in err, err)

    def pointer(self):
        pointer = os.path.join(self.work, "x.nc")
        rc, _, err = run([args.tool, "pointer", f"s3://{self.bucket}/h5dump/tall.h5", pointer], OURS, self.work)
        check("a pointer file is made", rc == 0, err)
        for how, env in (("by path", BY_PATH), ("by name", BY_NAME)):
            self.same(f"a pointer file, {how}", pointer, self.tall, env)

    def forms(self):
        """A user block, a family, a split pair."""
        where = os.path.join(self.files, "h5dump")
        jammed, text = os.path.join(self.work, "jammed.h5"), os.path.join(self.work, "text")
        with open(text, "w") as f:
            f.write("a user block " * 200)
        rc, _, err = run([os.path.join(args.bin, "h5jam"), "-u", text, "-i", self.tall, "-o", jammed], BASE, self.work)
        check("a file with a user block is made", rc == 0, err)
        self.put("jammed.h5", jammed)
        self.same("a user block", f"s3://{self.bucket}/jammed.h5", jammed, BY_NAME)
        self.same("a family", f"s3://{self.bucket}/h5dump/tfamily%05d.h5", os.path.join(where, "tfamily%05d.h5"), BY_NAME)
        self.same("a family with its driver", f"s3://{self.bucket}/h5dump/tfamily%05d.h5", os.path.join(where, "tfamily%05d.h5"),
                  BY_NAME, "--filedriver=family")
        self.same("a split pair with its driver", f"s3://{self.bucket}/h5dump/tsplit_file", os.path.join(where, "tsplit_file"),
                  BY_NAME, "--filedriver=split")

    def links(self):
        """From plain files and from domains to plain files."""
        for name in ("h5repack_ext.h5", "h5repack_ext.bin"):
            self.put("h5repack/" + name, os.path.join(self.files, "h5repack", name))
        self.same("raw files", f"s3://{self.bucket}/h5repack/h5repack_ext.h5", os.path.join(self.files, "h5repack", "h5repack_ext.h5"), BY_NAME)
        vds = os.path.join(self.files, "h5dump", "vds", "1_vds.h5")
        self.same("a virtual dataset", f"s3://{self.bucket}/h5dump/vds/1_vds.h5", vds, BY_NAME)
        links = os.path.join(self.files, "h5copy", "h5copy_extlinks_src.h5")
        self.same("external links", f"s3://{self.bucket}/h5copy/h5copy_extlinks_src.h5", links, BY_NAME)
        for name, source in (("links", links), ("vds", vds)):
            folder = "h5copy" if name == "links" else "h5dump/vds"
            rc, _, err = run([args.tool, "load", source, f"s3://{self.bucket}/{folder}/{name}_domain.h5"], OURS, self.work)
            check(f"{name}: a domain is made", rc == 0, err)
            self.same(f"{name} of a domain lead to plain files", f"s3://{self.bucket}/{folder}/{name}_domain.h5", source, BY_NAME)

    def both(self):
        """The domain is opened where both have the name."""
        other = os.path.join(self.files, "h5dump", "tvlstr.h5")
        rc, _, err = run([args.tool, "load", self.tall, f"s3://{self.bucket}/both.h5"], OURS, self.work)
        check("a domain is made", rc == 0, err)
        self.put("both.h5", other)
        self.same("a domain and a file of one name", f"s3://{self.bucket}/both.h5", self.tall, BY_NAME)

    def ros3(self):
        """The keys of the list are used, and the environment has no keys."""
        bare = {k: "" for k in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")}
        bare.update(AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE="/dev/null", AWS_SHARED_CREDENTIALS_FILE="/dev/null")
        keys = "--s3-cred=({},{},{})".format(os.environ.get("AWS_REGION", "us-east-1"), os.environ["AWS_ACCESS_KEY_ID"],
                                             os.environ["AWS_SECRET_ACCESS_KEY"])
        url = f"{os.environ['AWS_ENDPOINT_URL']}/{self.bucket}/h5dump/tall.h5"
        for name in (f"s3://{self.bucket}/h5dump/tall.h5", url):
            self.same(f"ros3 with keys, {name[:5]}", name, self.tall, {**BY_NAME, **bare}, "--filedriver=ros3", keys)
        self.refused("without keys", [os.path.join(args.bin, "h5dump"), f"s3://{self.bucket}/h5dump/tall.h5"], {**BY_NAME, **bare})
        server = WebFolder(self.files)
        self.same("ros3 without keys, a web server", server.url + "/h5dump/tall.h5", self.tall, BY_NAME, "--filedriver=ros3",
                  "--s3-cred=(,,)")

    def refusals(self):
        name = f"s3://{self.bucket}/h5dump/tall.h5"
        self.refused("writing", [os.path.join(args.bin, "h5clear"), "-s", name], {**BY_NAME, "H5BUCKET_TRACE": "vol"},
                     "can't be opened for writing", "h5bucket load")
        self.refused("a file that isn't there", [os.path.join(args.bin, "h5dump"), name + "x"], {**BY_NAME, "H5BUCKET_TRACE": "vol"},
                     "no domain or HDF5 file")

    def main(self):
        self.upload()
        for part in (self.schemes, self.longest, self.through, self.locked, self.pointer, self.forms, self.links, self.both, self.ros3, self.refusals):
            part()


def main():
    work = tempfile.mkdtemp(prefix="bkt-names-")
    try:
        Names(hdf5_files.folder(args.hdf5), work).main()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
