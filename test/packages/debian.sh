#!/bin/sh
# debian.sh 12|13 SOURCE FIXTURES HDF5_PREFIX [s3://BUCKET/FOLDER]: the Debian packages, in a fresh tree of that release.  They are built,
# installed, used, upgraded and removed (in_debian.sh).  On Debian 13 the programs of docs/programs.md run, with nothing set.
set -eu
release=$1 source=$2 fixtures=$3 hdf5=$4 base=${5:-}
. "$source/test/packages/in_a_tree.sh"
need_tree "packages are built and tried whole by ./check --all (some minutes)"
. "$source/config/setup.sh"
case $release in
12) suite=bookworm clients="ca-certificates gcc hdf5-tools libc6-dev make pkg-config python3-h5py cmake" ;;
13) suite=trixie clients=$(listed "$source/config/packages/clients.txt") ;;
esac
packaging=$source/packaging/debian
# shellcheck disable=SC2086 # words
tree=$("$packaging/tree" $suite $clients)
work_folder
mkdir "$work/debs" "$work/newer"
"$packaging/build" "$release" --out "$work/debs"
# The same with a higher version: one build is enough.
for deb in "$work"/debs/*.deb; do
    dpkg-deb -R "$deb" "$work/package"
    sed -i -e 's/^Version: .*/&.1/' -e 's/\(= [0-9.]*+deb[0-9]*\))/\1.1)/g' "$work/package/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work/package" "$work/newer" > /dev/null
    rm -rf "$work/package"
done
cp "$source"/test/packages/in_debian.sh "$source"/test/packages/says.sh "$source"/test/packages/h5py_and_netcdf4.py "$work/"
cp -R "$source/test/h5tests/clients" "$fixtures" "$work/"
if [ "$release" = 12 ] && [ -e "$hdf5/bin/h5ls" ]; then # another HDF5 than Debian's
    mkdir -p "$work/hdf5/bin" "$work/hdf5/lib"
    cp "$hdf5/bin/h5ls" "$hdf5/bin/h5dump" "$work/hdf5/bin/"
    cp "$hdf5"/lib/lib*.so.* "$work/hdf5/lib/"
fi
"$packaging/in_tree" "$tree" "$work" sh /mnt/in_debian.sh "$release" "$base"
