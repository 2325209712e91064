"""HDF5's own test files, the tools' and the library's."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def folder(prefix):
    """The folder of the files that config/libraries/hdf5-tests.sh makes for the HDF5 at the prefix; else the test is skipped."""
    done = subprocess.run([os.path.join(ROOT, "config", "libraries", "hdf5-tests.sh"), prefix], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print("skipped: HDF5's test files could not be made (config/libraries/hdf5-tests.sh)")
        sys.exit(77)
    return os.path.join(done.stdout.strip(), "files")
