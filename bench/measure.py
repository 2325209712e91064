"""Shared by bench/run and bench/write: building the programs, running one, medians."""
import os
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DEFAULT_BUILD = os.path.join(ROOT, "build", "bench")


def build(folder):
    if not os.path.exists(os.path.join(folder, "CMakeCache.txt")):
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DBUILD_TESTING=OFF", *hdf5_option()], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "bench_programs", "-j", str(os.cpu_count() or 2)], check=True,
                   stdout=subprocess.DEVNULL)


def hdf5_option():
    """The HDF5 that ./check or ./try built, unless the user names another."""
    prefix = subprocess.run([os.path.join(ROOT, "config", "libraries", "hdf5.sh"), "--prefix"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return [f"-DHDF5_ROOT={prefix}"] if os.path.exists(os.path.join(prefix, ".complete")) and "HDF5_ROOT" not in os.environ else []


def hdf5_prefix(folder):
    with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("BKT_HDF5_LIBRARY:"):
                return os.path.dirname(os.path.dirname(line.strip().partition("=")[2]))
    return ""


def environment(plugin):
    """The user's environment, without variables that change how the connector and its peers work."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "H5BUCKET_", "HS_", "HDF5_")) and "proxy" not in k.lower()}
    return {**env, "HDF5_PLUGIN_PATH": plugin, "AWS_NO_SIGN_REQUEST": "1", "AWS_REGION": "us-east-1"}


def run(command, env):
    """Wall time, CPU time, peak memory (MiB) and printed text."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
    text = process.stdout.read().decode(errors="replace").strip()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} gave {process.returncode}")
    return {"wall": wall, "CPU": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024, "text": text}


def medians(runs):
    """Medians of numbers; the first of other values."""
    return {key: statistics.median(r[key] for r in runs) if isinstance(first, (int, float)) else first for key, first in runs[0].items()}
