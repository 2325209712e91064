"""The scenarios of bench/run --samples: samples by record, from plain files that h5py wrote by Hangar's rules.

10,000 images of 28 x 28 bytes and 500 of 3 x 224 x 224 float32 are read in random order, 256 at a time.  Plain libcurl fetches
the ranges of their chunks in the same order, all at once.  The goals are explained in scenarios.py."""
import os
import shutil
import subprocess

from scenarios import Scenario

HERE = os.path.dirname(os.path.abspath(__file__))
MAKER = os.path.join(HERE, "..", "test", "h5tests", "samples", "make_repository.py")
SMALL, LARGE, BATCH = 10000, 500, 256


def make(folder, python):
    bucket = os.path.join(folder, "bucket")
    os.makedirs(bucket, exist_ok=True)
    subprocess.run([python, "-B", MAKER, bucket, "--bench", "--small", str(SMALL), "--large", str(LARGE)], check=True)
    subprocess.run([python, "-B", os.path.join(HERE, "programs", "samplesh5py.py"), "list", os.path.join(bucket, "bench"), folder], check=True)
    os.remove(os.path.join(bucket, "bench", "values.bin"))
    shutil.rmtree(os.path.join(HERE, "__pycache__"), ignore_errors=True)


def table():
    peers = (("h5py, local copy", "samples_local", "bench"),)
    return [Scenario("samples_" + name, title, "bench", [f"samples_{name}.records", str(BATCH)], {"R": 1.3, **goals}, f"samples_{name}.list",
                     connections, peers, mib, part="samples")
            for name, title, connections, mib, goals in (
                ("digits", f"{SMALL} samples of 28 x 28 bytes, random order", 256, 8, {}),
                ("photos", f"{LARGE} samples of 3 x 224 x 224 float32, random order", 64, 2 * BATCH * 602112 / 2**20, {"rss_over": 160}))]
