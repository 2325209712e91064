#!/bin/bash
# behind_proxy.sh 'FAULTS' COMMAND...: run COMMAND with $BKT_PROXY, a proxy in front of the radosgw of
# $AWS_ENDPOINT_URL that does what FAULTS says (faultproxy.lua); without nginx, COMMAND goes without.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/bkt-proxy-XXXXXX")
faults=$1
shift
[ -n "${AWS_ENDPOINT_URL:-}" ] || { echo "skipped: no radosgw was started"; exit 77; }
rc=0
"$here/faultproxy.sh" start "$dir/p" "${AWS_ENDPOINT_URL#http://}" || rc=$?
case $rc in
0)
    . "$dir/p/env"
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
