#!/bin/sh
# whole_sources.sh BIN PLUGINS TOOL PROGRAM: virtual datasets of whole sources, brought into a domain (load, h5repack) and out of it
# (get), have the same mappings and elements as in the file they come from.
bin=$1 plugins=$2 tool=$3 program=$4
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset HDF5_VOL_CONNECTOR HDF5_PLUGIN_PATH
fail() { echo "$*"; cat "$work"/*.err 2> /dev/null; exit 1; }
ours() { HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=bucket env ${BKT_PRELOAD:+"LD_PRELOAD=$BKT_PRELOAD"} "$@"; }
same() { # same WHAT FILE PRINTED
    diff "$work/want" "$3" || fail "$1: the mappings or elements differ"
    ours "$bin/h5diff" "$work/virtual.h5" "$2" > "$work/diff.err" 2>&1 || fail "$1: h5diff"
}
"$program" make "$work" || exit 1
"$program" print "$work/virtual.h5" > "$work/want" || exit 1
grep -q "^below: layout 3, 2 mappings" "$work/want" && grep -q " source 3 " "$work/want" || fail "no whole sources: $(cat "$work/want")"

"$tool" load "$work/virtual.h5" "$work/loaded.h5" 2> "$work/load.err" || fail "load"
[ -f "$work/loaded.h5/.domain.json" ] || fail "load made no domain"
ours "$program" print "$work/loaded.h5" > "$work/loaded.out" 2> "$work/print.err" || fail "the loaded domain"
same load "$work/loaded.h5" "$work/loaded.out"

ours "$tool" get "$work/loaded.h5" "$work/got.h5" 2> "$work/get.err" || fail "get"
"$program" print "$work/got.h5" > "$work/got.out" 2> "$work/print.err" || fail "the file that get made"
same get "$work/got.h5" "$work/got.out"

for from in virtual loaded; do
    ours "$bin/h5repack" "$work/$from.h5" "$work/$from-repacked.h5" 2> "$work/repack.err" || fail "h5repack of $from.h5"
    [ -f "$work/$from-repacked.h5/.domain.json" ] || fail "h5repack made no domain"
    ours "$program" print "$work/$from-repacked.h5" > "$work/$from.out" 2> "$work/print.err" || fail "$from, repacked"
    same "h5repack of $from.h5" "$work/$from-repacked.h5" "$work/$from.out"
done
if HDF5_PLUGIN_PATH=/nonexistent HDF5_VOL_CONNECTOR=bucket "$program" print "$work/loaded.h5" > /dev/null 2>&1; then
    fail "works without the plugin as well: nothing is proved"
fi
