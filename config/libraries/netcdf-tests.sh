#!/bin/sh
# The sources of netCDF-C's parallel tests, from the source package of Debian 13, once, into the user's cache.  For the tests only.
#
#   netcdf-tests.sh            fetch unless they are there already; prints the folder as the only line on stdout
#   netcdf-tests.sh --prefix   print where they would be (or are), fetch nothing
#
# The folder has nc_test4/*.c and include/, which need a config.h (test/h5tests/parallel/programs/netcdf_tests.sh).
set -eu

SUITE=trixie
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
prefix=$cache/netcdf-tests-$SUITE
[ "${1:-}" = --prefix ] || [ -e "$prefix/.complete" ] && { echo "$prefix"; exit 0; }

name=netcdf-tests
. "$here/build_once.sh"
build_once apt-get tar
. "$here/debian_source.sh"
step "fetching the source of netCDF" debian_source "$work" $SUITE netcdf --tar-only
rm -rf "$prefix"
mkdir -p "$prefix"
# shellcheck disable=SC2016 # the inner shell's
step "unpacking its tests" sh -c 'tar -xf "$1"/src/netcdf_*.orig.tar.* -C "$2" --strip-components=1 --wildcards "*/nc_test4/*.c" "*/include/*.h"' \
    sh "$work" "$prefix"
date -u > "$prefix/.complete"
echo "$prefix"
