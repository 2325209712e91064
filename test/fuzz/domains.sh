#!/bin/sh
# Changed domains through HDF5's tools and h5bucket, all of them built with AddressSanitizer (domains.py).
#
#   domains.sh [--seconds N] [--seed N] [--keep FOLDER]
#
# HDF5 is built for that once, into the user's cache (config/libraries/hdf5_asan.sh).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$("$root/config/libraries/hdf5_asan.sh")
build=$root/build/fuzz-domains
cd "$root"
cmake --preset asan -B "$build" "-DHDF5_ROOT=$prefix" > "$build.log" 2>&1 &&
    cmake --build "$build" --target hdf5_vol_bucket h5bucket fuzz_make_domain >> "$build.log" 2>&1 ||
    { tail -n 40 "$build.log" >&2; exit 1; }
exec python3 -B "$root/test/fuzz/domains.py" --bin "$prefix/bin" --plugin "$build/plugin" --tool "$build/bin/h5bucket" \
    --make "$build/bin/fuzz_make_domain" "$@"
