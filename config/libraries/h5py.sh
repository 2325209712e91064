#!/bin/sh
# Unpack Debian 13's Python with h5py once, into the user's cache, to run on an HDF5 1.14 that the connector can serve
# (Debian 12's own h5py uses HDF5 1.10).  For the tests only.
#
#   h5py.sh HDF5_PREFIX            unpack unless it is there already; prints the prefix as the only line on stdout
#   h5py.sh --prefix HDF5_PREFIX   print where it would be (or is), unpack nothing
#
# PREFIX/usr/bin/python3 then runs on this machine as any program, with its own C library.  h5py loads the libraries of
# HDF5_PREFIX.  The Debian mirror is the one that apt uses; the system's packages and lists are not touched.  About 36 MB.
set -eu

SUITE=trixie
only=
if [ "${1:-}" = --prefix ]; then only=1; shift; fi
hdf5=${1:?prefix of HDF5}
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
prefix=$cache/h5py-$( { echo "$hdf5"; cat "$here/unpacked_python.sh"; sed -n '/^# --- unpack/,/^# --- end/p' "$here/h5py.sh"; } | sha256sum | cut -c1-10)
[ -n "$only" ] || [ -e "$prefix/.complete" ] && { echo "$prefix"; exit 0; }

name=h5py
. "$here/build_once.sh"
for library in libhdf5 libhdf5_hl; do # of the version that Debian 13's h5py was built for
    [ -e "$hdf5/lib/$library.so.310" ] || die "$hdf5 has no $library.so.310: not HDF5 1.14 as config/libraries/hdf5.sh builds it"
done
build_once apt-get dpkg-deb
. "$here/debian_source.sh"
. "$here/unpacked_python.sh"
step "fetching h5py of Debian $SUITE" debian_binaries "$work" $SUITE python3-h5py

# --- unpack ---------------------------------------------------------------------------------------------------------
unpack() {
    unpack_packages || return 1
    for library in libhdf5 libhdf5_hl; do
        for place in "$out"/usr/lib/*/libhdf5_serial"${library#libhdf5}".so.310; do
            [ -e "$place" ] && ln -sf "$hdf5/lib/$library.so.310" "$place" || return 1
        done
    done
}

verify() {
    "$prefix/usr/bin/python3" -c 'import sys, h5py; print(h5py.version.info)
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5" in line}
sys.exit(not libraries or any(not library.startswith(sys.argv[1]) for library in libraries))' "$(readlink -f "$hdf5")/"
}
# --- end ------------------------------------------------------------------------------------------------------------

step "unpacking it" unpack
step "making its start" make_start "$hdf5/lib"
keep_it
