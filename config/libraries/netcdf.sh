#!/bin/sh
# Build netCDF-C's library and ncdump once, from the source package of Debian 13, against an HDF5 that the connector can
# serve (Debian 12's own netCDF uses HDF5 1.10).  For the tests only, into the user's cache.
#
#   netcdf.sh HDF5_PREFIX            build unless it is there already; prints the prefix as the only line on stdout
#   netcdf.sh --prefix HDF5_PREFIX   print where it would be (or is), build nothing
#   --byterange, before the others: with its own reading of files on web servers, which bench/run compares with
#
# The Debian mirror is the one that apt uses; the system's package lists are not touched.  About a minute on two cores.
set -eu

SUITE=trixie
only= byterange=OFF kind=
if [ "${1:-}" = --byterange ]; then byterange=ON kind=byterange-; shift; fi
if [ "${1:-}" = --prefix ]; then only=1; shift; fi
hdf5=${1:?prefix of HDF5}
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
prefix=$cache/netcdf-$kind$(printf '%s' "$hdf5" | sha256sum | cut -c1-10)
[ -n "$only" ] || [ -e "$prefix/.complete" ] && { echo "$prefix"; exit 0; }

name=netcdf
more_packages=", and m4"
. "$here/build_once.sh"
build_once apt-get cmake cc m4

. "$here/debian_source.sh"
# The original tar file alone: apt checks its sum, and Debian's packaging is not needed.
step "fetching the source of netCDF" debian_source "$work" $SUITE netcdf --tar-only
step "unpacking it" sh -c 'mkdir "$1/src/netcdf" && tar -xf "$1"/src/netcdf_*.orig.tar.* -C "$1/src/netcdf" --strip-components=1' \
    sh "$work"
src=$work/src/netcdf

if command -v ninja >/dev/null; then generator=Ninja; else generator="Unix Makefiles"; fi
step "configuring" cmake -S "$src" -B "$work/build" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_RPATH="$prefix/lib;$hdf5/lib" \
    -DCMAKE_PREFIX_PATH="$hdf5" -DHDF5_ROOT="$hdf5" -DBUILD_SHARED_LIBS=ON \
    -DENABLE_DAP=$byterange -DENABLE_BYTERANGE=$byterange -DENABLE_NCZARR=OFF -DENABLE_TESTS=OFF -DENABLE_EXAMPLES=OFF \
    -DENABLE_PLUGINS=OFF -DENABLE_FILTER_TESTING=OFF -DENABLE_LIBXML2=OFF -DENABLE_HDF4=OFF -DBUILD_TESTING=OFF \
    -DNETCDF_ENABLE_DAP=$byterange -DNETCDF_ENABLE_BYTERANGE=$byterange -DNETCDF_ENABLE_NCZARR=OFF -DNETCDF_ENABLE_TESTS=OFF \
    -DNETCDF_ENABLE_EXAMPLES=OFF -DNETCDF_ENABLE_PLUGINS=OFF -DNETCDF_ENABLE_LIBXML2=OFF -DNETCDF_ENABLE_HDF4=OFF
step "compiling" cmake --build "$work/build" --parallel "${H5BUCKET_HDF5_JOBS:-$(nproc)}"
rm -rf "$prefix"
step "installing into $prefix" cmake --install "$work/build"
"$prefix/bin/ncdump" 2>&1 | grep -q 'ncdump' || true
date -u > "$prefix/.complete"
echo "$prefix"
