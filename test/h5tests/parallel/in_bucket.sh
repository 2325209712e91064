#!/bin/sh
# in_bucket.sh COMMAND...: run the command with one more argument, a new folder that is a bucket; then remove the folder.
set -eu
bucket=$(mktemp -d "${TMPDIR:-/tmp}/h5bucket-parallel-XXXXXX")
trap 'rm -rf "$bucket"' EXIT
mkdir "$bucket/db"
"$@" "$bucket"
