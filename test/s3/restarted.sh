#!/bin/sh
# restarted.sh PROGRAM: run it (changes_refused.c) on a radosgw of its own that ends, as if it were killed, and starts
# again on its port: unstored changes are kept meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/bkt-restart-XXXXXX")
trap '"$here/radosgw.sh" stop "$dir/s3"; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM # sh doesn't come to that otherwise
mkdir "$dir/empty"
rc=0
ENDS_WITH_CALLER=yes "$here/radosgw.sh" start "$dir/s3" "buck=$dir/empty" || rc=$?
[ $rc = 0 ] || exit $rc
. "$dir/s3/env"
. "$here/by_tls.sh"
host=${AWS_ENDPOINT_URL#*://}
away="'$here/radosgw.sh' away '$dir/s3'" back="'$here/radosgw.sh' back '$dir/s3'"
H5BUCKET_RETRIES=2 H5BUCKET_TEST=hedge=0,backoff_ms=1 "$1" s3://buck/out.h5 "$away" "$back" gone "s3://buck/" "cannot connect" "${host%:*}"
