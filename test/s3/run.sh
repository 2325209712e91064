#!/bin/sh
# run.sh DIR COMMAND...: run a test with the settings of the radosgw in DIR; 77 (skip) if DIR has no radosgw.
# BKT_S3_TLS=yes: over https.
dir=$1
shift
if [ ! -e "$dir/env" ]; then
    echo "skipped: no radosgw was started (install radosgw, ceph-mon and ceph-osd: config/packages/test.txt)"
    exit 77
fi
. "$dir/env"
. "$(dirname "$0")/by_tls.sh"
exec "$@"
