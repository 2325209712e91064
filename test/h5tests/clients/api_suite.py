#!/usr/bin/env python3
"""HDF5's own API tests under the connector: every test that passes with HDF5's files passes in a domain.

Exceptions are listed in api_suite_exceptions.txt, a reason beside each; an unused line there fails.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^( *)Testing (.*?)(?: {1,}(PASSED|-SKIP-|\*FAILED\*))? *$")


def results(text):
    """{test: PASSED, -SKIP-, *FAILED* or None}; the parts of a test as 'test / part', a name's second coming as 'name (2)'."""
    found, outer = {}, ""

    def add(name, how):
        n, key = 1, name
        while key in found:
            n += 1
            key = f"{name} ({n})"
        found[key] = how
        return key

    last = None
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            indent, name, how = match.groups()
            if not indent:
                outer = last = add(name, how)
            else:
                last = add(f"{outer} / {name}", how)
        elif last and found[last] is None: # behind a long name, or a count of finished steps
            found[last] = next((how for how in ("PASSED", "-SKIP-", "*FAILED*") if line.rstrip().endswith(how)), None)
    return found


def run(program, env, timeout):
    with tempfile.TemporaryDirectory() as work:
        try:
            done = subprocess.run([program], cwd=work, env=env, capture_output=True, text=True, errors="replace", timeout=timeout)
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as e:
            return "a timeout", (e.stdout or b"").decode(errors="replace"), (e.stderr or b"").decode(errors="replace")


def exceptions(path):
    listed = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            name, _, reason = line.partition("  # ")
            if not reason.strip():
                sys.exit(f"{path}: '{name}' has no reason beside it")
            listed[name.strip()] = reason
    return listed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", required=True)
    p.add_argument("--plugin", required=True)
    p.add_argument("--prefix", default="", help="before each file name, e.g. s3://bucket/folder/")
    p.add_argument("--show", action="store_true")
    a = p.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    env = dict(os.environ)
    env.pop("HDF5_VOL_CONNECTOR", None)
    rc, out, err = run(a.program, env, 600)
    native = results(out)
    if rc != 0 or sum(r == "PASSED" for r in native.values()) < 1070:  # 1,073 names in 1.14.5
        sys.exit(f"with HDF5's own files the suite ends with {rc}:\n{out[-2000:]}{err[-2000:]}")

    env.update(HDF5_VOL_CONNECTOR="bucket", HDF5_PLUGIN_PATH=a.plugin, HDF5_API_TEST_PATH_PREFIX=a.prefix + f"api{os.getpid()}-" if a.prefix else "")
    env.setdefault("H5BUCKET_FSYNC", "no")  # hundreds of small files; durability is another test's
    if env.get("BKT_PRELOAD"):
        env["LD_PRELOAD"] = env["BKT_PRELOAD"]
    rc, out, err = run(a.program, env, 1200)
    if a.show:
        print(out, err, sep="\n")
    if "VOL connector 'bucket'" not in out:
        sys.exit(f"the suite does not run under the connector:\n{out[:2000]}{err[:2000]}")
    ours = results(out)

    listed = exceptions(os.path.join(here, "api_suite_exceptions.txt"))
    bad = []
    for name, how in native.items():
        passed = ours.get(name) == "PASSED"
        if how == "PASSED" and not passed and name not in listed:
            bad.append(f"{name}: {ours.get(name, 'not run')}")
        if name in listed and (passed or how != "PASSED"):
            bad.append(f"{name}: listed as an exception, which it no longer is")
    bad += [f"{name}: listed as an exception, but there is no such test" for name in listed if name not in native]
    bad += [f"{name}: fails, which is more than with HDF5's files" for name, how in ours.items()
            if how == "*FAILED*" and native.get(name) != "PASSED" and name not in listed]
    n = sum(ours.get(name) == "PASSED" for name, how in native.items() if how == "PASSED")
    print(f"{n} of {sum(how == 'PASSED' for how in native.values())} tests pass, {len(listed)} are listed as exceptions")
    if not isinstance(rc, int) or rc < 0 or rc > 1:
        bad.append(f"the suite ended with {rc}: {err[-1500:]}")
    if bad:
        print(*bad, sep="\n")
        sys.exit(1)


main()
