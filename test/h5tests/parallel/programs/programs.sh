#!/bin/sh
# programs.sh SOURCE LOADER: parallel programs of Debian 13 in Fortran and Python, and netCDF-4, with the connector of this build; and the
# parallel tests of h5py and netCDF.
# LOADER is the build's folder of the installed form: the plugin and, beside it, the adapters.
set -eu
source=$1 loader=$2
. "$source/test/packages/in_a_tree.sh"
need_tree "./check --all makes a tree of Debian 13 for it"
for mpi in openmpi mpich; do
    [ -e "$loader/h5bucket/h5bucket_mpi-$mpi.so" ] || skip "no adapter for $mpi in the build"
done
# shellcheck source=../../../../config/setup.sh
. "$source/config/setup.sh"
# shellcheck disable=SC2046 # words
tree=$("$source/packaging/debian/tree" trixie $(listed "$source/config/packages/parallel.txt"))
netcdf=$("$source/config/libraries/netcdf-tests.sh")
work_folder
cp -R "$loader" "$work/plugin"
cp "$source"/test/h5tests/parallel/programs/* "$work/"
cp -R "$netcdf" "$work/netcdf"
"$source/packaging/debian/in_tree" "$tree" "$work" sh /mnt/in_tree.sh
