#!/bin/sh
# run.sh DIR COMMAND...: run a test with the settings of the radosgw in DIR; 77 (skip) where there is none.
dir=$1
shift
if [ ! -e "$dir/env" ]; then
    echo "skipped: no radosgw was started (install radosgw, ceph-mon and ceph-osd: config/packages-test.txt)"
    exit 77
fi
. "$dir/env"
exec "$@"
