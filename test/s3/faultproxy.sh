#!/bin/bash
# A proxy that delays and spoils: in front of an S3 server, or of a plain folder of buckets.  faultproxy.lua
# lists its settings, which can be changed while it runs: curl "$BKT_PROXY/__fault?delay=30&p503=0.05"
#
#   faultproxy.sh start DIR HOST:PORT     in front of a server on this machine
#   faultproxy.sh start DIR /FOLDER       serves /FOLDER/BUCKET/KEY itself (no signature is looked at)
#   faultproxy.sh stop DIR
#
# DIR/env gets BKT_PROXY (http), BKT_PROXY_TLS and BKT_PROXY_CA.  Ports are free ones of 127.0.0.1.  A proxy
# ends with the process that started it, if it wasn't stopped before. start exits with 77 when nginx or its
# Lua module is missing.  Debian: nginx-light libnginx-mod-http-lua openssl curl
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
verb=${1:?start or stop}
dir=$(readlink -m "${2:?folder}")
modules=/usr/lib/nginx/modules
nginx=$(PATH=$PATH:/usr/sbin command -v nginx || true)

stop() {
    local pid
    pid=$(cat "$dir/nginx.pid" 2>/dev/null) || true
    if [ -n "$pid" ] && grep -qzF "$dir/nginx.conf" "/proc/$pid/cmdline" 2>/dev/null; then
        kill "$pid"
        for ((i = 0; i < 100; i++)); do
            kill -0 "$pid" 2>/dev/null || break
            sleep .02
        done
    fi
    rm -rf "$dir"
}

# The caller may be killed, and nginx is not its child: a process that waits for the caller's end stops nginx
# then.
stop_with_caller() {
    (setsid sh -c 'tail --pid="$1" -f /dev/null; exec "$2" stop "$3"' sh "$PPID" "$here/faultproxy.sh" "$dir" \
        < /dev/null > /dev/null 2>&1 &)
}

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
    done
}

write_conf() { # UPSTREAM PORT TLSPORT
    local location upstream= folder=0
    case $1 in
    /*) folder=1 location="root $1\$bucket; dav_methods PUT DELETE; create_full_put_path on;" ;;
    *)
        upstream="upstream server { server $1; keepalive 128; keepalive_requests 1000000; }"
        location="proxy_pass http://server; proxy_http_version 1.1; proxy_set_header Connection '';
            proxy_set_header Host \$http_host; proxy_request_buffering off; proxy_max_temp_file_size 0;
            proxy_buffer_size 64k; proxy_buffers 16 64k; proxy_busy_buffers_size 128k;
            proxy_read_timeout 600s; proxy_send_timeout 600s; proxy_next_upstream off; proxy_ignore_client_abort on;"
        ;;
    esac
    cat > "$dir/nginx.conf" <<CONF
load_module $modules/ndk_http_module.so;
load_module $modules/ngx_http_lua_module.so;
worker_processes 2;
pid $dir/nginx.pid;
error_log $dir/error.log error;
$([ "$(id -u)" = 0 ] && echo 'user root;')
events { worker_connections 2048; }
http {
    client_body_temp_path $dir/tmp/b; proxy_temp_path $dir/tmp/p; fastcgi_temp_path $dir/tmp/f;
    uwsgi_temp_path $dir/tmp/u; scgi_temp_path $dir/tmp/s;
    access_log off; sendfile on; sendfile_max_chunk 2m; tcp_nodelay on;
    keepalive_requests 10000000; keepalive_timeout 600s; client_max_body_size 0; reset_timedout_connection on;
    # keys may hold anything
    merge_slashes off; underscores_in_headers on; ignore_invalid_headers off; large_client_header_buffers 8 64k;
    default_type binary/octet-stream;
    ssl_certificate $dir/cert.pem; ssl_certificate_key $dir/key.pem;
    lua_package_path "$here/?.lua;/usr/share/lua/5.1/?.lua;;";
    lua_shared_dict fault 1m;
    lua_shared_dict busy 64k;
    map \$host \$bucket { default ""; ~^(?<b>[^.]+)\.localhost\$ /\$b; }
    $upstream
    init_worker_by_lua_block { math.randomseed(ngx.worker.pid() + ngx.now() * 1000) }
    server {
        listen 127.0.0.1:$2;
        listen 127.0.0.1:$3 ssl;
        location = /__fault { content_by_lua_block { require("faultproxy").control() } }
        set \$folder $folder;
        location / {
            access_by_lua_block { require("faultproxy").access() }
            log_by_lua_block { require("faultproxy").log() }
            header_filter_by_lua_block { return require("faultproxy").header_filter() }
            body_filter_by_lua_block { return require("faultproxy").body_filter() }
            $location
        }
    }
}
CONF
}

start_once() {
    local port tls_port i
    mkdir -p "$dir/tmp"
    port=$(free_port) tls_port=$(free_port)
    "$here/certificate.sh" "$dir" || return 1
    write_conf "$1" "$port" "$tls_port"
    "$nginx" -c "$dir/nginx.conf" -p "$dir" || return 1 # this reports a port that is taken
    for ((i = 0; i < 1500; i++)); do
        if [ -s "$dir/nginx.pid" ] && curl -sf -m 30 -o /dev/null "http://127.0.0.1:$port/__fault"; then
            cat > "$dir/env" <<ENV
export BKT_PROXY=http://127.0.0.1:$port
export BKT_PROXY_TLS=https://localhost:$tls_port
export BKT_PROXY_CA=$dir/ca.pem
ENV
            return 0
        fi
        sleep .02
    done
    return 1
}

case $verb in
start)
    [ -n "$nginx" ] && [ -e $modules/ngx_http_lua_module.so ] || {
        echo "nginx with its Lua module is not installed: tests behind a spoiling proxy will be skipped"
        exit 77
    }
    [ -e "$dir" ] && stop # left by an interrupted run
    for try in 1 2 3; do # a port may be taken between the look and the bind
        start_once "${3:?host:port or folder}" && stop_with_caller && exit 0
        echo "faultproxy.sh: attempt $try failed" >&2
        cat "$dir/error.log" >&2 || true
        stop
    done
    exit 1
    ;;
stop) stop ;;
*) echo "faultproxy.sh: start or stop" >&2; exit 2 ;;
esac
