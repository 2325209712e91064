#!/bin/sh
# fill_chunk_tables.sh H5BUCKET H5DUMP: h5bucket chunks --fill makes the chunk tables that hsload --fastlink left
# out.  A reader sees the same as before, and no longer needs the HDF5 file's metadata.
set -eu
tool=$1 dump=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/bkt-fill.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -r "$BKT_FIXTURES/hsopen" "$work/hsopen"
domain=$work/hsopen/home/test_user1/fx/fastlinked.h5
export HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1
LD_PRELOAD=${BKT_PRELOAD:-} "$dump" "$domain" > "$work/before" 2> "$work/stats-before"
env -u HDF5_VOL_CONNECTOR "$tool" chunks --fill "$domain" | grep -q '^[1-9][0-9]* chunk tables made' || { echo "nothing was made"; exit 1; }
env -u HDF5_VOL_CONNECTOR "$tool" chunks --fill "$domain" | grep -q '^0 chunk tables made' || { echo "made twice"; exit 1; }
LD_PRELOAD=${BKT_PRELOAD:-} "$dump" "$domain" > "$work/after" 2> "$work/stats-after"
cmp "$work/before" "$work/after"
grep -q 'GET [1-9]' "$work/stats-after" || { echo "not read through the connector"; exit 1; }
test -n "$(find "$work/hsopen/db" -path '*/d/*' -name '0' -newer "$work/before" | head -n 1)" || { echo "no table was stored"; exit 1; }
