#!/bin/sh
# same_written.sh H5DUMP PLUGINS PROGRAM [BASE]: a program that was never made for the connector writes a file of HDF5's and a
# domain below BASE (or a temporary folder); h5dump prints the same of both.
h5dump=$1 plugins=$2 program=$3 base=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset HDF5_VOL_CONNECTOR HDF5_PLUGIN_PATH
"$program" "$work/native.h5" || exit 1
mkdir "$work/bucket"
domain=${base:-$work/bucket}/written$$.h5
HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1 env ${BKT_PRELOAD:+"LD_PRELOAD=$BKT_PRELOAD"} \
    "$program" "$domain" 2> "$work/err" || { cat "$work/err"; exit 1; }
grep -q 'h5bucket: .*PUT [1-9]' "$work/err" || { echo "the connector was not asked:"; cat "$work/err"; exit 1; }
"$here/same_output.sh" "$domain" "$work/native.h5" "$plugins" "$h5dump" FILE
