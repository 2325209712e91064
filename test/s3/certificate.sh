#!/bin/sh
# certificate.sh FOLDER: a CA made for one test, and a certificate for this machine that it has signed.  The folder then has ca.pem,
# cert.pem, and key.pem.  The CA's key isn't kept.  Both were valid a month ago, for tests on another day.  Debian: openssl
set -eu
dir=$(readlink -f "${1:?folder}")
work=$dir/ca
mkdir "$work"
finish() {
    status=$?
    [ $status = 0 ] || cat "$work/log" >&2
    rm -rf "$work"
    exit $status
}
trap finish EXIT
: > "$work/index.txt"
openssl rand -hex 8 > "$work/serial"
cat > "$work/conf" <<CONF
[ca]
default_ca = here
[here]
database = $work/index.txt
serial = $work/serial
new_certs_dir = $work
default_md = sha256
policy = any
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
subjectKeyIdentifier = hash
[machine]
basicConstraints = critical,CA:FALSE
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost,DNS:hsopen.localhost,DNS:hspublic.localhost,IP:127.0.0.1
CONF
request() { # KEY NAME
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$1" -out "$work/request"
}
sign() { # EXTENSIONS TO OPTION...
    extensions=$1 to=$2
    shift 2
    openssl ca -batch -notext -config "$work/conf" -extensions "$extensions" -in "$work/request" -out "$to" \
        -startdate "$(date -u -d '-30 days' +%Y%m%d%H%M%SZ)" -enddate "$(date -u -d '+365 days' +%Y%m%d%H%M%SZ)" "$@"
}
make() {
    request "$work/key" "CA of a test, $$"
    sign authority "$dir/ca.pem" -selfsign -keyfile "$work/key"
    request "$dir/key.pem" localhost
    sign machine "$dir/cert.pem" -cert "$dir/ca.pem" -keyfile "$work/key"
}
make > "$work/log" 2>&1
