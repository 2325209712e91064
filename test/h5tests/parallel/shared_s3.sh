#!/bin/sh
# shared_s3.sh MPIEXEC H5BUCKET MAKE_SHARED H5DIFF S3FOLDER: load, diff, verify and get by 3 processes, in a real S3 server.
set -eu
mpiexec=$1 tool=$2 make=$3 h5diff=$4 folder=$5/shared-$$
files=$(mktemp -d "${TMPDIR:-/tmp}/h5bucket-shared-XXXXXX")
trap 'rm -rf "$files"; "$tool" rm -r -f "$folder" > /dev/null 2>&1 || true' EXIT
shared() { # VERB...: each process must work
    H5BUCKET_TRACE=vol "$mpiexec" -n 3 "$tool" "$@" > "$files/log" 2>&1 || { tail -n 20 "$files/log"; echo "$*: FAILED"; exit 1; }
    grep -o 'process [0-9] has done .* units' "$files/log" | tail -n 3 | tee "$files/units"
    [ "$(grep -vc ' 0 units' "$files/units")" -ge 2 ] || { echo "$*: one process worked alone"; exit 1; }
}
"$make" "$files" 6 > /dev/null
"$tool" touch "$folder/"
shared load "$files/big.h5" "$folder/big.h5"
shared diff "$files/big.h5" "$folder/big.h5"
shared verify --deep "$folder/big.h5"
shared get "$folder/big.h5" "$files/back.h5"
"$h5diff" "$files/big.h5" "$files/back.h5"
shared load "$files"/f000?.h5 "$folder/"
"$tool" diff "$files/f0003.h5" "$folder/f0003.h5"
shared load --extend step "$files"/f000?.h5 "$folder/all.h5"
"$tool" load --extend step "$files"/f000?.h5 "$folder/alone.h5" 2> /dev/null
"$tool" diff "$folder/alone.h5" "$folder/all.h5"
shared verify -r "$folder"
echo "as by one process"
