#!/bin/bash
# netcdf.sh SOURCE HDF5_PREFIX FIXTURES PLUGINS: ncdump, built once against our HDF5, prints the same for a domain and its twin.
# netCDF-C looks into a file before it asks HDF5, and takes a folder for HDF5 only where an extended attribute with
# ".daos" in its name says that another connector keeps it; so a copy of the domains gets one.
source=$1 hdf5=$2 fixtures=$3 plugins=$4
here=$(cd "$(dirname "$0")" && pwd)
netcdf=$("$source/config/netcdf.sh" "$hdf5") || { echo "skipped: netCDF-C could not be built"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp -r "$fixtures/hsopen" "$work" && chmod -R u+w "$work" || exit 1
failed=0
for domain in dimscales tracked tree; do
    name=$work/hsopen/home/test_user1/fx/$domain.h5
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.connector.daos", b"1")' "$name" ||
        { echo "skipped: no extended attributes on the file system of $work"; exit 77; }
    echo "$domain:"
    "$here/same_output.sh" "$name" "$fixtures/native/$domain.h5" "$plugins" "$netcdf/bin/ncdump" FILE || failed=1
done
exit $failed
