"""The command h5bucket: the tool in this package, in place of this process."""
import os
import sys


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ.setdefault("HDF5_PLUGIN_PATH", os.path.join(here, "plugins"))
    os.execv(os.path.join(here, "bin", "h5bucket"), ["h5bucket", *sys.argv[1:]])
