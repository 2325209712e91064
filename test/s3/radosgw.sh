#!/bin/bash
# A real S3 server to throw away: Ceph's radosgw with one monitor and one OSD in memory, all on free ports of 127.0.0.1,
# everything in one folder, no root needed.  Starts in about a second.  It serves http, and https on another port.
#
#   radosgw.sh start DIR [BUCKET=FOLDER...]   start, make the buckets, upload the folders; DIR/env has its addresses
#   radosgw.sh stop DIR                       end exactly those processes and remove DIR
#   radosgw.sh away DIR, back DIR             kill the gateway; start it again on its ports, with all that was stored
#   radosgw.sh user DIR UID ACCESSKEY SECRET  one more user
#
# start exits with 77 when radosgw is not installed.  Debian: radosgw ceph-mon ceph-osd openssl curl python3
# ENDS_WITH_CALLER=yes: it is stopped when the process that called start has ended, if it wasn't before.
# STORE=bluestore keeps data in files; RGW_OPTIONS="line" adds to the [client.rgw] section.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
verb=${1:?start, stop, away, back or user}
dir=$(readlink -m "${2:?folder}")
access=testaccesskey
secret=testsecretkey
daemons="client.rgw osd.0 mon.a"
export CEPH_CONF=$dir/ceph.conf

stop() {
    local d pid
    for d in $daemons; do
        pid=$(cat "$dir/run/$d.pid" 2>/dev/null) || continue
        # Another process may have the number by now: only a process that runs on our configuration is ended.
        grep -qzF "$dir" "/proc/$pid/environ" 2>/dev/null && kill -9 "$pid" 2>/dev/null || true
    done
    rm -rf "$dir"
}

# The caller may be killed, and the daemons are not its children: a process that waits for the caller's end
# stops them then.
stop_with_caller() {
    (setsid sh -c 'tail --pid="$1" -f /dev/null; [ "$(cat "$3/serial" 2>/dev/null)" != "$4" ] || exec "$2" stop "$3"' sh "$PPID" \
        "$here/radosgw.sh" "$dir" "$$" < /dev/null > /dev/null 2>&1 &)
}

away() {
    local pid
    pid=$(cat "$dir/run/client.rgw.pid")
    grep -qzF "$dir" "/proc/$pid/environ" && kill -9 "$pid"
    tail --pid="$pid" -f /dev/null
    rm -f "$dir/run/client.rgw.pid"
}

back() {
    # shellcheck disable=SC1091
    . "$dir/env"
    radosgw -n client.rgw 2>/dev/null
    for ((i = 0; i < 4800; i++)); do
        [ "$(curl -s -o /dev/null -w '%{http_code}' "$BKT_S3_ENDPOINT/")" = 200 ] && return 0
        sleep .05
    done
    return 1
}

free_port() { # below the range from which the kernel picks outgoing ports
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
    done
}

write_conf() {
    local class_dir
    class_dir=$(dirname "$(find /usr/lib -name libcls_version.so -print -quit)")
    cat > "$dir/ceph.conf" <<CONF
[global]
fsid = $fsid
mon_host = v2:127.0.0.1:$mon_port
ms_bind_msgr1 = false
ms_cluster_mode = crc
ms_service_mode = crc
ms_client_mode = crc
ms_mon_cluster_mode = crc
ms_mon_service_mode = crc
ms_mon_client_mode = crc
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = $dir/run
admin_socket =
pid_file = $dir/run/\$name.pid
log_file = $dir/\$name.log
log_to_stderr = false
err_to_stderr = false
mon_cluster_log_file = $dir/cluster.log
crash_dir = $dir/run
keyring = $dir/keyring
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_data_avail_crit = 1
mon_data_avail_warn = 2
# a lone monitor need not wait for others: this makes the start take one second and not twelve
paxos_propose_interval = 0.02
paxos_min_wait = 0.01
[mon.a]
mon_data = $dir/mon
[osd]
osd_data = $dir/osd
osd_uuid = $osd_uuid
osd_objectstore = ${STORE:-memstore}
osd_class_dir = $class_dir
osd_max_scrubs = 0
osd_class_update_on_start = false
osd_crush_update_on_start = false
# 0.8 of this is a read lease, by default 16 s: an OSD that did not run for so long, on an overloaded or suspended machine,
# can come to hold back all reads for ever
osd_heartbeat_grace = 3600
memstore_device_bytes = 8589934592
bluestore_block_size = 10737418240
[client.rgw]
# without tcp_nodelay each small GET takes 44 ms
rgw_frontends = beast endpoint=127.0.0.1:$port ssl_endpoint=127.0.0.1:$tls_port ssl_certificate=$dir/tls.pem tcp_nodelay=1
rgw_dns_name = localhost
rgw_enable_lc_threads = false
rgw_enable_quota_threads = false
rgw_thread_pool_size = 64
rgw_gc_obj_min_wait = 60
rgw_gc_processor_period = 30
rgw_gc_processor_max_time = 30
# roles can be assumed: check_sts.sh
rgw_s3_auth_use_sts = true
rgw_sts_key = 0123456789abcdef
${RGW_OPTIONS:-}
CONF
}

start_once() {
    local fsid osd_uuid port tls_port mon_port rgw i
    mkdir -p "$dir/mon" "$dir/osd" "$dir/run"
    cd /
    fsid=$(cat /proc/sys/kernel/random/uuid)
    osd_uuid=$(cat /proc/sys/kernel/random/uuid)
    port=$(free_port) tls_port=$(free_port) mon_port=$(free_port)
    "$here/certificate.sh" "$dir" || return 1
    cat "$dir/cert.pem" "$dir/key.pem" > "$dir/tls.pem"
    write_conf
    touch "$dir/keyring"
    monmaptool --create --clobber --fsid "$fsid" --addv a "[v2:127.0.0.1:$mon_port]" "$dir/monmap" >/dev/null &&
    ceph-mon -i a --mkfs --monmap "$dir/monmap" &&
    ceph-mon -i a &&
    timeout 120 ceph osd new "$osd_uuid" >/dev/null &&
    timeout 120 ceph osd crush add osd.0 1.0 host=h root=default 2>/dev/null &&
    ceph-osd -i 0 --mkfs --osd-uuid "$osd_uuid" >/dev/null 2>&1 &&
    ceph-osd -i 0 >/dev/null 2>&1 || return 1
    radosgw -n client.rgw 2>/dev/null & rgw=$! # returns when it serves
    for ((i = 0; i < 1800; i++)); do
        kill -0 $rgw 2>/dev/null || break
        kill -0 "$(cat "$dir/run/osd.0.pid" 2>/dev/null || echo 999999999)" 2>/dev/null || ceph-osd -i 0 >/dev/null 2>&1 || true
        sleep .1
    done
    kill -0 $rgw 2>/dev/null && { kill -9 $rgw; return 1; }
    timeout 180 radosgw-admin -n client.rgw user create --uid=test --display-name=test \
        --access-key=$access --secret-key=$secret >/dev/null || return 1
    for ((i = 0; i < 2400; i++)); do
        if [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/")" = 200 ]; then
            cat > "$dir/env.part" <<ENV
export BKT_S3_ENDPOINT=http://127.0.0.1:$port
export BKT_S3_TLS_ENDPOINT=https://localhost:$tls_port
export BKT_S3_CA=$dir/ca.pem
export AWS_ENDPOINT_URL=http://127.0.0.1:$port
export AWS_ACCESS_KEY_ID=$access
export AWS_SECRET_ACCESS_KEY=$secret
export AWS_REGION=us-east-1
export AWS_EC2_METADATA_DISABLED=true
export AWS_CONFIG_FILE=/dev/null
export AWS_SHARED_CREDENTIALS_FILE=/dev/null
ENV
            return 0
        fi
        sleep .05
    done
    return 1
}

case $verb in
start)
    command -v radosgw >/dev/null && command -v ceph-osd >/dev/null && command -v ceph-mon >/dev/null || {
        echo "radosgw, ceph-mon and ceph-osd are not all installed: tests on a real S3 server will be skipped"
        exit 77
    }
    shift 2
    [ -e "$dir" ] && stop # left by an interrupted run
    mkdir -p "$dir"
    for try in 1 2 3; do
        ok=yes
        start_once || ok=no
        [ $ok = yes ] && break
        echo "radosgw.sh: attempt $try failed" >&2
        tail -n 3 "$dir"/*.log >&2 || true
        stop
    done
    [ $ok = yes ] || exit 1
    # shellcheck disable=SC1091
    . "$dir/env.part"
    [ $# = 0 ] || python3 "$here/upload.py" "$@" || { stop; exit 1; }
    mv "$dir/env.part" "$dir/env" # its presence means: ready
    [ -z "${ENDS_WITH_CALLER:-}" ] || { echo $$ > "$dir/serial"; stop_with_caller; }
    echo "radosgw serves at $BKT_S3_ENDPOINT"
    ;;
away) away ;;
back) back ;;
stop) stop ;;
user) radosgw-admin -n client.rgw user create --uid="$3" --display-name="$3" --access-key="$4" --secret-key="$5" >/dev/null ;;
*) echo "radosgw.sh: start, stop, away, back or user" >&2; exit 2 ;;
esac
