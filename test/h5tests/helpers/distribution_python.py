"""For scripts that need packages of Debian's Python: another Python may come first on the path."""
import os
import sys

DEBIAN = "/usr/bin/python3"


def or_skip(error, why):
    """After an ImportError: start the script again with Debian's Python, once; else skip the test with the reason."""
    if os.path.exists(DEBIAN) and os.environ.get("BKT_PYTHON_TRIED") != "yes":
        os.environ["BKT_PYTHON_TRIED"] = "yes"
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print(f"skipped: {error}; {why}")
    sys.exit(77)
