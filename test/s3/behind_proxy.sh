#!/bin/bash
# behind_proxy.sh 'FAULTS' COMMAND...: run COMMAND with $BKT_PROXY, a proxy in front of the radosgw of
# $BKT_S3_ENDPOINT with FAULTS (faultproxy.lua); without nginx, COMMAND runs without.  BKT_S3_TLS=yes:
# $BKT_PROXY is reached by https.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/bkt-proxy-XXXXXX")
faults=$1
shift
[ -n "${AWS_ENDPOINT_URL:-}" ] || { echo "skipped: no radosgw was started"; exit 77; }
rc=0
"$here/faultproxy.sh" start "$dir/p" "${BKT_S3_ENDPOINT#http://}" || rc=$?
case $rc in
0)
    . "$dir/p/env"
    . "$here/by_tls.sh"
    if [ -n "${BKT_S3_TLS:-}" ]; then
        export BKT_PROXY="$BKT_PROXY_TLS"
        cat "$BKT_S3_CA" "$BKT_PROXY_CA" > "$dir/both.pem"
        trust "$dir/both.pem"
    fi
    curl -gsSf -o /dev/null "$BKT_PROXY/__fault?$faults"
    ;;
77) ;;
*) exit 1 ;;
esac
rc=0
"$@" || rc=$?
[ -z "${BKT_PROXY:-}" ] || { curl -gsSf "$BKT_PROXY/__fault" | grep ^n_ | tr '\n' ' '; echo; "$here/faultproxy.sh" stop "$dir/p"; }
rm -rf "$dir"
exit $rc
