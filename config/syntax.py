#!/usr/bin/env python3
"""syntax.py BUILD: compile every file of a configured build folder as its compile_commands.json says, without making objects.

A compiler's warnings come from its front end, so this finds what a build finds, in less time.  Prints each failed file's messages.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def check(entry):
    words = shlex.split(entry["command"])
    at = words.index("-o")
    command = [*words[:at], *words[at + 2:], "-fsyntax-only"]
    run = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
    return run.returncode, run.stderr


def main():
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as f:
        entries = [e for e in json.load(f) if "/alone/" not in e["file"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        failed = [text for code, text in pool.map(check, entries) if code]
    print("".join(failed), file=sys.stderr, end="")
    print(f"{len(entries)} files, {len(failed)} with faults")
    return bool(failed) or not entries


if __name__ == "__main__":
    sys.exit(main())
