#!/bin/sh
# same_output.sh DOMAIN TWIN PLUGINS PROGRAM [ARGUMENT...]: run a program that was never made for the
# connector on a native file and on a domain (FILE in the arguments means the name); it must print the same.
# The domain's run must have made requests, and the same run without the plugin must fail.
domain=$1 twin=$2 plugins=$3
shift 3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset HDF5_VOL_CONNECTOR HDF5_PLUGIN_PATH
run() { # run NAME OUTPUT PROGRAM ARGUMENT...
    name=$1 to=$2; shift 2
    n=$#
    while [ "$n" -gt 0 ]; do
        a=$1; shift; n=$((n - 1))
        case $a in FILE) a=$name;; esac
        set -- "$@" "$a"
    done
    "$@" > "$to" 2> "$to.err"
}
export HDF5_PLUGIN_PATH=/nonexistent
run "$twin" "$work/twin" "$@" || { echo "fails on the native file:"; cat "$work/twin.err"; exit 1; }
export HDF5_PLUGIN_PATH="$plugins" HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1
run "$domain" "$work/ours" env ${BKT_PRELOAD:+"LD_PRELOAD=$BKT_PRELOAD"} "$@" || { echo "fails on the domain:"; cat "$work/ours" "$work/ours.err"; exit 1; }
grep -q 'h5bucket: GET [1-9]' "$work/ours.err" || { echo "the connector was not asked:"; cat "$work/ours.err"; exit 1; }
base=$(basename "$twin" .h5) other=$(basename "$domain" .h5)
sed -i "s|$twin|FILE|g; s|^netcdf $base {|netcdf FILE {|" "$work/twin"
sed -i "s|$domain|FILE|g; s|^netcdf $other {|netcdf FILE {|" "$work/ours"
diff "$work/twin" "$work/ours" || { echo "the domain's output differs"; exit 1; }
[ -s "$work/ours" ] || { echo "nothing was printed"; exit 1; }
export HDF5_PLUGIN_PATH=/nonexistent
if run "$domain" "$work/control" "$@"; then echo "works without the plugin as well: nothing is proved"; exit 1; fi
echo "the same on domain and twin: $(wc -l < "$work/ours") lines"
