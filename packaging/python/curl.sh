#!/bin/sh
# Build a libcurl.a that has only http and https, from the system's source package of curl, into the user's cache.  Debian's libcurl needs
# thirty more libraries, for protocols that the connector doesn't use, and a wheel would have to carry them.
#
#   curl.sh            build unless it is there already; prints the prefix as the only line on stdout
#   curl.sh --prefix   print where it would be (or is), build nothing
set -eu

here=$(cd "$(dirname "$0")" && pwd)
libraries=$here/../../config/libraries
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
parts() {
    echo "$suite"
    "${CC:-cc}" --version | head -n1
    sed -n "/^configure()/,/^}/p" "$here/curl.sh"
}
prefix=$cache/curl-static-$(parts | sha256sum | cut -c1-10)
[ "${1:-}" != --prefix ] && [ ! -e "$prefix/.complete" ] || { echo "$prefix"; exit 0; }

name=curl
. "$libraries/build_once.sh"
more_packages=" and config/packages/build.txt"
build_once apt-get dpkg-source cmake cc
. "$libraries/debian_source.sh"
step "fetching the source of curl" debian_source "$work" "$suite" curl
src=$(echo "$work"/src/curl-*)

configure() {
    cmake -S "$src" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF \
        -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DCURL_ZLIB=ON -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF \
        -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DCURL_USE_GSSAPI=OFF -DENABLE_ARES=OFF -DENABLE_THREADED_RESOLVER=ON \
        -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=/etc/ssl/certs
}
step "configuring" configure
step "compiling" cmake --build "$work/build" --parallel "$(nproc)"
stage() {
    rm -rf "$prefix.part"
    DESTDIR="$work/stage" cmake --install "$work/build" && mv "$work/stage$prefix" "$prefix.part" && cp "$src/COPYING" "$prefix.part/" &&
        date -u > "$prefix.part/.complete" && mv -T "$prefix.part" "$prefix"
}
step "installing into $prefix" stage
echo "$prefix"
