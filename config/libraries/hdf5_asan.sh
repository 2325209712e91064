#!/bin/sh
# Build HDF5 1.14.5, library and tools, with AddressSanitizer, once, into the user's cache: for test/fuzz/domains.sh.
#
#   hdf5_asan.sh            build unless it is there already; prints the prefix as the only line on stdout
#   hdf5_asan.sh --prefix   print where it would be (or is), build nothing
#
# As config/libraries/hdf5.sh; H5BUCKET_HDF5_SOURCE names an unpacked source that is taken instead of Debian's.
set -eu

VERSION=1.14.5
SUITE=trixie
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
key=$( { sed -n "/^configure()/,/^}/p" "$here/hdf5_asan.sh"; "${CC:-cc}" --version | head -n1; uname -m; } | sha256sum | cut -c1-10)
prefix=$cache/hdf5-asan-$VERSION-$key

name=hdf5_asan
. "$here/build_once.sh"

if [ "${1:-}" = --prefix ] || [ -e "$prefix/.complete" ]; then
    echo "$prefix"
    exit 0
fi
build_once apt-get dpkg-source cmake cc

src=${H5BUCKET_HDF5_SOURCE:-}
if [ -z "$src" ]; then
    . "$here/debian_source.sh"
    step "fetching the source of HDF5 $VERSION" debian_source "$work" $SUITE hdf5
    src=$(echo "$work/src/hdf5-$VERSION"*)
fi
[ -d "$src" ] || die "no source of HDF5 $VERSION: $src"

configure() {
    cmake -S "$src" -B "$work/build" -G "$generator" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_C_FLAGS="-O1 -g -fsanitize=address -fno-omit-frame-pointer" -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib" -DHDF5_INSTALL_LIB_DIR=lib -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF \
        -DBUILD_TESTING=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF \
        -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_JAVA=OFF -DHDF5_BUILD_TOOLS=ON -DHDF5_BUILD_UTILS=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
        -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_DISABLE_COMPILER_WARNINGS=ON -DHDF5_NO_PACKAGES=ON \
        -DHDF5_ALLOW_EXTERNAL_SUPPORT=NO
}
if command -v ninja >/dev/null; then generator=Ninja; else generator="Unix Makefiles"; fi
jobs=${H5BUCKET_HDF5_JOBS:-$(nproc)}
step "configuring" configure
step "compiling with $jobs jobs" env ASAN_OPTIONS=detect_leaks=0 cmake --build "$work/build" --parallel "$jobs"

stage() {
    DESTDIR="$work/stage" cmake --install "$work/build" &&
    mv "$work/stage$prefix" "$prefix.part" &&
    date -u > "$prefix.part/.complete" &&
    mv -T "$prefix.part" "$prefix"
}
rm -rf "$prefix.part"
step "installing into $prefix" stage
say "done"
echo "$prefix"
