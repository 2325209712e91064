#!/bin/sh
# hdf5_2.sh SOURCE LOADER-FOLDER LIBHDF5 H5BUCKET [s3://BUCKET/FOLDER]: HDF5 2.x of Debian unstable.  The connector for it is built in a tree
# of unstable, and installed beside this build's loader and connector for LIBHDF5 (1.14).  Unstable's programs use it, and a process
# with both libhdf5 uses both (in_unstable.sh).
set -eu
source=$1 loader=$2 libhdf5=$(readlink -f "$3") tool=$4 base=${5:-}
. "$source/test/packages/in_a_tree.sh"
need_tree "HDF5 2.x of Debian unstable is tried by ./check --all (some minutes)"
[ -e "$loader/h5bucket/hdf5-1.14.so" ] || skip "this build's HDF5 is not 1.14"
. "$source/config/setup.sh"
# shellcheck disable=SC2046 # words
tree=$("$source/packaging/debian/tree" sid $(listed "$source/config/packages/build.txt") hdf5-tools libhdf5-dev python3-h5py)
work_folder
mkdir "$work/source" "$work/loader" "$work/loader/h5bucket" "$work/older"
tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$work/source" -xf -
cp "$loader/libhdf5_vol_bucket.so" "$work/loader/"
cp "$loader/h5bucket/hdf5-1.14.so" "$work/loader/h5bucket/"
cp "$libhdf5" "$work/older/"
cp "$tool" "$work/h5bucket"
cp "$source/test/packages/in_unstable.sh" "$source/test/packages/says.sh" "$source/test/h5tests/loader/each_hdf5.c" "$work/"
# the tool wants it by its soname
soname=$(readelf -d "$libhdf5" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = "${libhdf5##*/}" ] || ln -s "${libhdf5##*/}" "$work/older/$soname"
unset HDF5_ROOT
"$source/packaging/debian/in_tree" "$tree" "$work" sh /mnt/in_unstable.sh "$soname" ${base:+"$base"}
