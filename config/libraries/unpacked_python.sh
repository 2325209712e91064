# Sourced by h5py.sh and zarr.sh, after build_once.sh: a Python of another Debian release, unpacked into $prefix, that runs on this
# machine with its own C library.  Wants $work/archives (debian_source.sh) and $prefix.  POSIX sh.
# shellcheck shell=sh disable=SC2154

out=$prefix.part

unpack_packages() {
    rm -rf "$out" && mkdir -p "$out" || return 1
    for package in "$work"/archives/*.deb; do
        dpkg-deb -x "$package" "$out" || return 1
    done
}

# make_start [FOLDER]: PREFIX/usr/bin/python3, which finds libraries of FOLDER first.  The program finds its modules from its own name,
# so that name must lie beside them.
make_start() {
    loader=$(cd "$out" && ls usr/lib/*/ld-linux*.so.*)
    libraries=$prefix/$(dirname "$loader")
    program=$(cd "$out" && readlink -f usr/bin/python3)
    rm "$out/usr/bin/python3" && cat > "$out/usr/bin/python3" <<START && chmod +x "$out/usr/bin/python3"
#!/bin/sh
exec "$prefix/$loader" --argv0 "\$0" --library-path "${1:+$1:}$libraries:$libraries/blas:$libraries/lapack" \\
    "$prefix/usr/bin/$(basename "$program")" "\$@"
START
}

# keep_it: move it to its place, and try it there by the script's verify().
keep_it() {
    rm -rf "$prefix"
    mv -T "$out" "$prefix"
    step "trying it" verify
    date -u > "$prefix/.complete"
    echo "$prefix"
}
