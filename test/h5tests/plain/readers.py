#!/usr/bin/env python3
"""readers.py: h5py and netCDF-C read the same of a file in a store, opened by its name, as of the file itself.

    readers.py --bin DIR --hdf5 PREFIX --plugin DIR --store http|s3 --tool H5BUCKET [--only GLOB] [--programs NAME,...] [--show]

The files are those of HDF5's own tests, and the project's own of netCDF and HDF5.  h5py_walk.py prints all that h5py
reads of a file, and ncdump what netCDF-C reads.  The file on disk is read by HDF5's own connector.  The name is
read by the connector: h5py gets it as it is, and on the web with its ROS3 driver too.  netCDF-C gets a pointer file in
S3, and on the web the address with `#mode=bytes`.  Text, exit code and messages must be equal but for the name; what native HDF5 refuses is
refused.  readers_differences.txt lists allowed differences, each with its reason.
"""
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
import hdf5_tools  # noqa: E402
from load_compare import ROOT  # noqa: E402

WAYS = {"http": ["h5py", "h5py-ros3", "ncdump-bytes"], "s3": ["h5py", "ncdump"]}


def built(script, *argv):
    """The prefix of what a script in config/libraries builds; else the test is skipped."""
    done = subprocess.run([os.path.join(ROOT, "config", "libraries", script), *argv], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"skipped: config/libraries/{script} could not make its programs")
        sys.exit(77)
    return done.stdout.strip()


class Readers(hdf5_tools.Run):
    allowed = "readers_differences.txt"

    def __init__(self, args, work):
        super().__init__(args, work)
        self.programs = WAYS[args.store]
        self.python = os.path.join(built("h5py.sh", args.hdf5), "usr", "bin", "python3")
        self.ncdump = {"ncdump": os.path.join(built("netcdf.sh", args.hdf5), "bin", "ncdump")}
        if "ncdump-bytes" in (args.programs or self.programs):
            self.ncdump["ncdump-bytes"] = os.path.join(built("netcdf.sh", "--byterange", args.hdf5), "bin", "ncdump")
        self.base["PYTHONDONTWRITEBYTECODE"] = self.ours["PYTHONDONTWRITEBYTECODE"] = "1"

    def files(self):
        """HDF5's, and ours beside them in folders that HDF5's names_of() goes through."""
        folder = os.path.join(self.work, "files")
        shutil.copytree(super().files(), folder)
        ours = glob.glob(os.path.join(os.environ["BKT_FIXTURES"], "native", "*.h5")) + glob.glob(os.path.join(ROOT, "test", "tools", "cases", "*.nc"))
        if not ours:
            raise SystemExit("our own samples are not there")
        for path in ours:
            shutil.copy(path, os.path.join(folder, "misc", "our_" + os.path.basename(path)))
        self.made_by_netcdf(os.path.join(folder, "misc"))
        return folder

    def made_by_netcdf(self, folder):
        ncgen = os.path.join(os.path.dirname(self.ncdump["ncdump"]), "ncgen")
        for kind in ("nc4", "nc7"):
            subprocess.run([ncgen, "-k", kind, "-o", os.path.join(folder, f"our_{kind}.nc"), os.path.join(HERE, f"sample_{kind}.cdl")],
                           check=True, env=dict(self.base, LD_LIBRARY_PATH=os.path.join(self.args.hdf5, "lib")))

    def driver(self, program, tool, name):
        """h5py's driver: families and split files need one, here and there."""
        if "%" in name:
            return ["family"]
        if os.path.exists(os.path.join(self.folder, tool, name + "-m.h5")):
            return ["split"]
        return ["ros3"] if program == "h5py-ros3" else []

    def local(self, program, tool, name):
        """The program on the file itself."""
        if program in self.ncdump:
            return [self.ncdump[program], name]
        return [self.python, os.path.join(HERE, "h5py_walk.py"), name, *self.driver("h5py", tool, name)]

    def remote(self, program, tool, name, folder):
        """The program on the name, and the name in its output."""
        full = f"{self.store}/{tool}/{name}"
        if program == "ncdump":
            pointer = os.path.join(folder, name)
            subprocess.run([self.args.tool, "pointer", full, pointer], env=self.base, check=True, stdout=subprocess.DEVNULL)
            return [self.ncdump[program], pointer], pointer
        if program == "ncdump-bytes":
            return [self.ncdump[program], full + "#mode=bytes"], full + "#mode=bytes"
        return [self.python, os.path.join(HERE, "h5py_walk.py"), full, *self.driver(program, tool, name)], full

    def pair(self, program, tool, name, folder):
        command, full = self.remote(program, tool, name, folder)
        want = self.run(self.local(program, tool, name), self.base, os.path.join(self.folder, tool))
        got = self.run(command, self.ours, self.empty)
        if want[0] >= 0:
            self.count(f"{program}: {'read' if want[0] == 0 else 'refused'} by native HDF5")
        return want, got, (name,), (full, f"{self.store}/{tool}/{name}", name)


if __name__ == "__main__":
    sys.exit(hdf5_tools.main(Readers, "tool"))
