#!/bin/bash
# behind_cutter.sh CUTTER COMMAND...: run COMMAND with $BKT_PROXY, TLS in front of the radosgw of $BKT_S3_ENDPOINT that is cut now and
# then (tls_cutter.c).  With BKT_ALL_IS_CUT=yes it has no other endpoint.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cutter=$1
shift
[ -n "${BKT_S3_ENDPOINT:-}" ] || { echo "skipped: no radosgw was started"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/bkt-cutter-XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$here/certificate.sh" "$dir"
coproc "$cutter" "$dir/cert.pem" "$dir/key.pem" "${BKT_S3_ENDPOINT##*:}" # it ends with our end of the pipe
from=${COPROC[0]} to=${COPROC[1]} pid=$COPROC_PID
read -r _ port <&"$from"
export BKT_PROXY="https://localhost:$port"
. "$here/by_tls.sh"
cat "$BKT_S3_CA" "$dir/ca.pem" > "$dir/both.pem"
trust "$dir/both.pem"
[ -z "${BKT_ALL_IS_CUT:-}" ] || export AWS_ENDPOINT_URL="$BKT_PROXY"
rc=0
"$@" <&- || rc=$?
exec {to}>&-
read -r line <&"$from" || true
echo "$line"
wait "$pid" || rc=1
case $line in
"cut: 0 "*) echo "no answer was cut"; exit 1 ;;
esac
exit $rc
