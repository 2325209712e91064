#!/bin/sh
# write_netcdf.sh SOURCE HDF5_PREFIX PLUGINS H5BUCKET CC [BASE]: a netCDF-4 program writes a file and, the connector loaded, a
# domain; ncdump prints the same of both.  So it does when the program has added to the file, and to a domain loaded from it.
source=$1 hdf5=$2 plugins=$3 h5bucket=$4 cc=$5 base=$6
here=$(cd "$(dirname "$0")" && pwd)
netcdf=$("$source/config/libraries/netcdf.sh" "$hdf5") || { echo "skipped: netCDF-C could not be built"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$cc" -o "$work/write" "$here/write_netcdf.c" "-I$netcdf/include" "-L$netcdf/lib" -lnetcdf "-Wl,-rpath,$netcdf/lib:$hdf5/lib" || exit 1
unset HDF5_VOL_CONNECTOR HDF5_PLUGIN_PATH
mkdir "$work/bucket" "$work/native" "$work/ours"
"$work/write" "$work/native/file.nc" || exit 1
# netCDF-C treats names with a scheme as its own kinds of remote files, so a bucket is named beside the path
case $base in
    s3://*) path=${base#s3://}/netcdf$$.nc domain=s3://$path name=${path#*/}; export H5BUCKET_BUCKET="${path%%/*}";;
    *) domain=$work/bucket/netcdf.nc name=$domain;;
esac
HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1 env ${BKT_PRELOAD:+"LD_PRELOAD=$BKT_PRELOAD"} \
    "$work/write" "$name" 2> "$work/err" || { cat "$work/err"; exit 1; }
unset H5BUCKET_BUCKET
grep -q 'h5bucket: .*PUT [1-9]' "$work/err" || { echo "the connector was not asked:"; cat "$work/err"; exit 1; }
"$h5bucket" pointer "$domain" "$work/ours/file.nc" || exit 1
# a domain has no superblock of any version
same_dump() {
    "$here/same_output.sh" "$work/ours/file.nc" "$work/native/file.nc" "$plugins" \
        sh -c '"$0" -s "$1" > "$2" && grep -v _SuperblockVersion "$2"' "$netcdf/bin/ncdump" FILE "$work/dump"
}
same_dump || exit 1

"$h5bucket" load --force "$work/native/file.nc" "$domain" || exit 1
"$work/write" append "$work/native/file.nc" || exit 1
HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=bucket env ${BKT_PRELOAD:+"LD_PRELOAD=$BKT_PRELOAD"} \
    "$work/write" append "$work/ours/file.nc" || exit 1
same_dump
