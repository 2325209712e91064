#!/usr/bin/env python3
"""check_callbacks.py INCLUDE_DIR: every callback and operation in HDF5's headers stands in the tables of
test_callbacks.c and test_capabilities.c.  A new one in HDF5 fails here until a developer has decided what it
does."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
include = sys.argv[1]


def text(path):
    with open(path, encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def callbacks(header):
    """Members of the structs that make up H5VL_class_t, as "attr_cls.create"."""
    for body, name in re.findall(r"typedef struct H5VL_\w+_class_t \{(.*?)\} H5VL_(\w+)_class_t;", header, re.S):
        for member in re.findall(r"\(\*(\w+)\)\s*\(", body):
            if not (name == "info" and member == "size"):
                yield f"{name}_cls.{member}"
    body = re.search(r"typedef struct H5VL_class_t \{(.*?)\} H5VL_class_t;", header, re.S)
    yield from re.findall(r"\(\*(\w+)\)\s*\(", body.group(1))


def operations(header):
    for body, name in re.findall(r"typedef enum H5VL_\w+ \{(.*?)\} (H5VL_\w+);", header, re.S):
        if name not in ("H5VL_get_conn_lvl_t", "H5VL_subclass_t"):
            yield from re.findall(r"\bH5VL_[A-Z0-9_]+\b", body)


version = re.search(r"#define\s+H5_VERS_MAJOR\s+(\d+).*?#define\s+H5_VERS_MINOR\s+(\d+)", text(f"{include}/H5public.h"), re.S)
if version.groups() != ("1", "14"):
    print("skipped: the tables are for HDF5 1.14, this is %s.%s" % version.groups())
    sys.exit(77)
connector, native = text(f"{include}/H5VLconnector.h"), text(f"{include}/H5VLnative.h")
table = text(f"{HERE}/test_callbacks.c")
optional = text(f"{HERE}/test_capabilities.c")

wanted = list(callbacks(connector)) + list(operations(connector))
missing = [w for w in wanted if not re.search(rf"(?<![\w.]){re.escape(w)}\b(?!\.)", table)]
# The last is HDF5's own after an open, and MPI's are only there with MPI, which no connector but HDF5's knows
NOT_CALLED = {"FILE_POST_OPEN", "FILE_GET_MPI_ATOMICITY", "FILE_SET_MPI_ATOMICITY"}
natives = re.findall(r"#define H5VL_NATIVE_((?:ATTR|DATASET|FILE|GROUP|OBJECT)_\w+)\s+\d+", native)
for op in natives:
    cls, rest = op.split("_", 1)
    if op not in NOT_CALLED and not re.search(rf"OP\({cls}, {rest},", optional):
        missing.append(f"H5VL_NATIVE_{op}")
for m in missing:
    print(f"in no table: {m}")
print(f"{len(wanted)} callbacks and operations, {len(natives)} optional ones, {len(missing)} in no table")
sys.exit(1 if missing or len(wanted) < 100 or len(natives) < 40 else 0)
