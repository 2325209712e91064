#!/bin/sh
# check.sh BUILD CC LIBDIR PLUGINDIR HDF5_INCLUDE LOADER: install into a folder and use it as others would: by pkg-config, by
# find_package, and by compiling with the public header.
set -eu
build=$1 cc=$2 libdir=$3 plugins=$4 hdf5_include=$5 loader=$6
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
prefix="$tmp/a prefix"
cmake --install "$build" --prefix "$prefix" > "$tmp/log" || { cat "$tmp/log"; exit 1; }
bad=0
for file in "$plugins/libhdf5_vol_bucket.so" "$libdir/libh5bucket_samples.so" include/h5bucket_samples.h "$libdir/pkgconfig/vol-bucket.pc" \
    "$libdir/cmake/vol-bucket/vol-bucketConfig.cmake" "$libdir/cmake/vol-bucket/vol-bucketConfigVersion.cmake" \
    include/h5bucket.h bin/h5bucket share/doc/vol-bucket/LICENSE share/doc/vol-bucket/README.md \
    share/doc/vol-bucket/docs/settings.md; do
    [ -s "$prefix/$file" ] || { echo "not installed: $file"; bad=1; }
done
[ "$loader" = 0 ] || ls "$prefix/$plugins"/h5bucket/hdf5-*.so > "$tmp/log" 2>&1 || { echo "no connector beside the loader"; bad=1; }

# everything installed is in the manifest, so that the manifest suffices to remove it
find "$prefix" -type f -o -type l | sort > "$tmp/installed"
sort "$build/install_manifest.txt" | diff - "$tmp/installed" || { echo "the manifest says something else than was installed"; bad=1; }

# a package's build: staged elsewhere, but as the files will lie
DESTDIR="$tmp/stage" cmake --install "$build" --prefix /usr/local > "$tmp/log" || { cat "$tmp/log"; exit 1; }
dir=$(PKG_CONFIG_PATH="$tmp/stage/usr/local/$libdir/pkgconfig" pkg-config --variable=plugindir vol-bucket)
[ -e "$tmp/stage$dir/libhdf5_vol_bucket.so" ] || { echo "staged, pkg-config names $dir, where no plugin will be"; bad=1; }

PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export PKG_CONFIG_PATH
dir=$(pkg-config --variable=plugindir vol-bucket)
[ -e "$dir/libhdf5_vol_bucket.so" ] || { echo "pkg-config names $dir, where no plugin is"; bad=1; }

mkdir "$tmp/user"
cat > "$tmp/user/main.c" <<'C'
#include <hdf5.h>
#include <h5bucket.h>
#include <h5bucket_samples.h>
int main(void)
{
    return 0;
}
C
eval "set -- $(pkg-config --cflags vol-bucket)" # blanks in it are quoted
"$cc" -std=c11 -Wall -Wextra -Werror "$@" -isystem "$hdf5_include" -fsyntax-only "$tmp/user/main.c" || {
    echo "the public header does not compile"; bad=1; }

cat > "$tmp/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(vol-bucket 0.1 REQUIRED)
if(NOT EXISTS "${vol-bucket_PLUGIN_DIR}/libhdf5_vol_bucket.so")
    message(FATAL_ERROR "no plugin in ${vol-bucket_PLUGIN_DIR}")
endif()
get_target_property(lib vol-bucket::samples IMPORTED_LOCATION)
if(NOT EXISTS "${lib}")
    message(FATAL_ERROR "no ${lib}")
endif()
get_target_property(dir vol-bucket::vol-bucket INTERFACE_INCLUDE_DIRECTORIES)
if(NOT EXISTS "${dir}/h5bucket.h")
    message(FATAL_ERROR "no h5bucket.h in ${dir}")
endif()
CMAKE
cmake -S "$tmp/user" -B "$tmp/user/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" > "$tmp/log" 2>&1 || {
    tail -n 20 "$tmp/log"; bad=1; }
exit $bad
