#!/bin/sh
# write_netcdf.sh SOURCE HDF5_PREFIX PLUGINS H5BUCKET CC [BASE]: a netCDF-4 program writes a file and, the connector loaded, a
# domain; ncdump prints the same of both.
source=$1 hdf5=$2 plugins=$3 h5bucket=$4 cc=$5 base=$6
here=$(cd "$(dirname "$0")" && pwd)
netcdf=$("$source/config/netcdf.sh" "$hdf5") || { echo "skipped: netCDF-C could not be built"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$cc" -o "$work/write" "$here/write_netcdf.c" "-I$netcdf/include" "-L$netcdf/lib" -lnetcdf "-Wl,-rpath,$netcdf/lib:$hdf5/lib" || exit 1
unset HDF5_VOL_CONNECTOR HDF5_PLUGIN_PATH
"$work/write" "$work/native.nc" || exit 1
mkdir "$work/bucket"
domain=${base:-$work/bucket}/netcdf$$.nc
HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1 env ${BKT_PRELOAD:+"LD_PRELOAD=$BKT_PRELOAD"} \
    "$work/write" "$domain" 2> "$work/err" || { cat "$work/err"; exit 1; }
grep -q 'h5bucket: .*PUT [1-9]' "$work/err" || { echo "the connector was not asked:"; cat "$work/err"; exit 1; }
"$h5bucket" pointer "$domain" "$work/ours.nc" || exit 1
"$here/same_output.sh" "$work/ours.nc" "$work/native.nc" "$plugins" "$netcdf/bin/ncdump" -s FILE
