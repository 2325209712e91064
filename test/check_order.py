#!/usr/bin/env python3
"""check_order.py: src/'s layers and the folders inside each depend on each other one way only.

By the #include lines.  An include may go down in ORDER, and stay in its own folder.  A file that is listed with its name is a
level of its own.  KNOWN are includes that still go up; an entry whose include is gone must go, too.

A call may go down, too, though a header that stands lower declares the function, as a layer's own header does.  DECLARED are
headers by which a lower folder calls a higher one on purpose.  A private header (*_impl.h) is included in its own folder
only; PRIVATE are exceptions.
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")
# Lowest first.
ORDER = """
base base/text base/os
storage storage/aws storage/http storage/web storage/aws/cred storage/file storage/s3 storage/store_open.c
schema/model schema/h5enc schema/jansson schema/json schema/name schema/snapshot schema/domain schema/edit
chunk/filter chunk/select chunk/chunk.h chunk/dataset chunk/read chunk/ahead chunk/write chunk/list
vol/h5bucket.h vol/core vol/parallel vol/vfd vol/plain vol/connector_info.h vol/connector_info.c vol/convert vol/open vol/path vol/calls vol/dataset vol/dataset/plain vol/copy vol
loader mpi
samples/h5bucket_samples.h samples/names samples
tools/source tools/show tools/share tools/cli tools/bucket tools/load tools/load/gather tools/kerchunk/format tools/kerchunk tools/kerchunk/export tools/samples tools/doctor tools/cmd tools/verify
""".split()
KNOWN = set()
DECLARED = {
    "vol/core/ops.h",  # entries of the tables of operations
}
PRIVATE = {  # kinds of stores, and changes, are parts of what stands in the folder above or beside
    ("schema/edit/edit_impl.h", "schema/domain/domain_impl.h"),
    ("storage/file/file_impl.h", "storage/store_impl.h"),
    ("storage/http/request.h", "storage/store_impl.h"),
}
FUNCTION = re.compile(r"^(?!static|typedef|extern \"C\")[A-Za-z][\w \n*]*?[ *](\w+)\(([^;{}]*)\)\s*([;{])", re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*", re.S | re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([a-z0-9_]+(?:/[a-z0-9_]+)*\.h)[">]', re.M)


def level(path):
    """The place of a file in ORDER; None: its folder is not listed."""
    for name in (path, os.path.dirname(path)):
        if name in ORDER:
            return ORDER.index(name)
    return None


def files():
    for folder, _, names in os.walk(ROOT):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def tree_of(design):
    """The folders of DESIGN.md's tree, lowest first."""
    block = design.split("\n## Layers\n")[1].split("\n    test ")[0]
    found = re.findall(r"^ {4,6}(?:src/)?([a-z_0-9]+(?:/[a-z_0-9]+)*) ", block, re.M)
    return found[::-1]


def calls_up():
    """Calls of functions that a lower header declares, so that no include shows them, and a higher folder defines."""
    texts = {}
    declared = {}
    defined = {}
    for path in files():
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            texts[path] = COMMENT.sub("", f.read())
        for name, _, end in FUNCTION.findall(texts[path]):
            if end == ";" and path.endswith(".h"):
                declared.setdefault(name, path)
            elif end == "{" and path.endswith(".c"):
                defined[name] = path
    for name, header in sorted(declared.items()):
        above = defined.get(name)
        if not above or level(header) >= level(above) or header in DECLARED:
            continue
        for path, text in sorted(texts.items()):
            if path != header and level(path) < level(above) and re.search(rf"\b{name}\b", text):
                yield f"src/{path}: calls {name}() of src/{above}, which is above it"


def faults():
    upward = set()
    yield from calls_up()
    ours = {os.path.basename(path) for path in files()}
    for path in files():
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            included = INCLUDE.findall(f.read())
        if level(path) is None:
            yield f"src/{path}: its folder is not in ORDER"
            continue
        for mark, other in included:
            if not os.path.exists(os.path.join(ROOT, other)):
                if mark == '"' and os.path.basename(other) in ours and other != "bkt_config.h":
                    yield f"src/{path}: the include of {other} has no path from src/"
            elif level(other) is not None and level(other) > level(path):
                upward.add((path, other))
            if other.endswith("_impl.h") and os.path.dirname(other) != os.path.dirname(path) and (path, other) not in PRIVATE:
                yield f"src/{path}: includes {other}, which is private to its folder"
    for path, other in sorted(upward - KNOWN):
        yield f"src/{path}: includes {other}, which is above it"
    for path, other in sorted(KNOWN - upward):
        yield f"KNOWN: src/{path} no longer includes {other}; remove the entry"
    with open(os.path.join(os.path.dirname(ROOT), "DESIGN.md"), encoding="utf-8") as f:
        design = f.read()
    layers = {"schema", "chunk", "tools"}  # have no files of their own, or only files with a level of their own
    if sorted(tree_of(design)) != sorted({name for name in ORDER if "." not in name} | layers):
        yield "DESIGN.md: the tree has other folders than ORDER"
    inside = [name for name in tree_of(design) if "/" in name]
    if inside != [name for name in ORDER if "/" in name and "." not in name]:
        yield "DESIGN.md: the tree has another order than ORDER"
    for name in ORDER:
        if "." not in name and not os.path.exists(os.path.join(ROOT, name, "README.md")):
            yield f"src/{name}: no README.md"


def main():
    found = list(faults())
    print("\n".join(found) if found else f"{len(ORDER)} folders in order, {len(KNOWN)} known exceptions")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
