#!/bin/sh
# Unpack Debian unstable's Python with kerchunk, zarr, fsspec, xarray and fastparquet once, into the user's cache.  For ./check --all
# only: programs that write reference sets for `load --kerchunk`, and read those of `export --kerchunk`.
#
#   zarr.sh            unpack unless it is there already; prints the prefix as the only line on stdout
#   zarr.sh --prefix   print where it would be (or is), unpack nothing
#
# PREFIX/usr/bin/python3 then runs on this machine as any program, with its own C library.  The Debian mirror is the one that apt
# uses; the system's packages and lists are not touched.  About 120 MB.
set -eu

SUITE=sid
PACKAGES="python3-kerchunk python3-xarray python3-h5py python3-fastparquet"
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
prefix=$cache/zarr-$( { echo "$PACKAGES"; cat "$here/unpacked_python.sh"; } | sha256sum | cut -c1-10)
[ "${1:-}" != --prefix ] && [ ! -e "$prefix/.complete" ] || { echo "$prefix"; exit 0; }

name=zarr
. "$here/build_once.sh"
build_once apt-get dpkg-deb
. "$here/debian_source.sh"
. "$here/unpacked_python.sh"
echo 'Acquire::Check-Valid-Until "false";' > "$work/apt.conf" # unstable of any day will do; signatures are checked
export APT_CONFIG="$work/apt.conf"
fetch() {
    # shellcheck disable=SC2086 # several packages
    debian_lists "$work" $SUITE deb && debian_apt -y --no-install-recommends --download-only install $PACKAGES
}
step "fetching kerchunk and zarr of Debian $SUITE" fetch

verify() { "$prefix/usr/bin/python3" -c 'import kerchunk, zarr, xarray, fsspec, h5py; print(zarr.__version__, fsspec.__version__)'; }

step "unpacking it" unpack_packages
step "making its start" make_start
keep_it
