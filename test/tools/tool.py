#!/usr/bin/env python3
"""tool.py --tool H5BUCKET --store dir|s3 --about PART [--only NAME]: every verb of h5bucket but chunks and get.

The claims are the test_* functions of tool_PART.py.  In a folder they work on a copy of the sample buckets,
in S3 on copies of sample domains below a folder of their own in the shared bucket.  JSON output is parsed."""
import argparse, importlib, os, sys, time, traceback

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "h5tests", "helpers"))
import sample
from sandbox import Sandbox

ONE_IN = 5  # claims about S3 that are sampled hold in folders, where all are tried; those about S3 alone are all tried


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--store", choices=["dir", "s3"], default="dir")
    p.add_argument("--about", required=True)
    p.add_argument("--only")
    p.add_argument("--bin", help="where HDF5's tools are, to try the connector too")
    p.add_argument("--plugin")
    p.add_argument("--rights", help="the program try_rights.c")
    p.add_argument("--refs", help="the program make_refs.c")
    p.add_argument("--two-refs", help="the program two_refs.c")
    p.add_argument("--sparse", help="the program make_sparse.c")
    p.add_argument("--odd", help="the program make_odd_files.c")
    p.add_argument("--cases", help="the folder of files that other programs wrote")
    p.add_argument("--no-delete", help="the library no_delete.c")
    p.add_argument("--clock-ahead", help="the library clock_ahead.c")
    p.add_argument("--filters", help="the folder of turned_filter.c's library")
    p.add_argument("--adding", help="the folder of adding_filter.c's libraries")
    p.add_argument("--filtered-rows", help="the program filtered_rows.c")
    p.add_argument("--bitshuffle", help="the folder of the real plugin for bitshuffle")
    args = p.parse_args()
    bad = n = 0
    shared = None
    other = {"s3": "dir_only", "dir": "s3_only"}[args.store]
    claims = [(name, f) for name, f in vars(importlib.import_module("tool_" + args.about)).items()
              if name.startswith("test_") and (args.only or "") in name and not hasattr(f, other)]
    step = sample.step(ONE_IN) if args.store == "s3" else 1
    for name, f in [c for i, c in enumerate(claims) if i % step == 0 or hasattr(c[1], "s3_only")]:
        own = hasattr(f, "own_bucket")
        shared = shared or Sandbox(args)
        b = Sandbox(args) if own else shared
        n += 1
        begin = time.time()
        try:
            f(b)
            print(f"ok {name} {time.time() - begin:.1f} s", flush=True)
        except Exception as e:
            bad += 1
            print(f"NOT OK {name}: line {traceback.extract_tb(e.__traceback__)[1].lineno}: {type(e).__name__} {str(e)[:1500]}", flush=True)
        if own:
            b.end()
    if shared:
        shared.end()
    print(f"{n - bad} of {n} claims hold" + (f", of {len(claims)} in all{sample.note()}" if step > 1 else ""))
    sys.exit(bad > 0 or n == 0)


main()
