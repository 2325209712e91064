#!/bin/sh
# netcdf.sh SOURCE HDF5_PREFIX FIXTURES PLUGINS H5BUCKET [BASE]: ncdump, built once against our HDF5, prints
# the same for a domain below BASE (a folder, or s3://bucket/...) and for its twin. netCDF-C looks into a file
# before it asks HDF5, so it gets a pointer file.
source=$1 hdf5=$2 fixtures=$3 plugins=$4 h5bucket=$5
base=${6:-$fixtures/hsopen/home/test_user1/fx}
here=$(cd "$(dirname "$0")" && pwd)
netcdf=$("$source/config/libraries/netcdf.sh" "$hdf5") || { echo "skipped: netCDF-C could not be built"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
for domain in dimscales tracked strings refs partition; do
    "$h5bucket" pointer "$base/$domain.h5" "$work/$domain.h5" || exit 1
    echo "$domain:"
    "$here/same_output.sh" "$work/$domain.h5" "$fixtures/native/$domain.h5" "$plugins" "$netcdf/bin/ncdump" FILE || failed=1
done
exit $failed
