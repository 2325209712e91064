#!/bin/sh
# get_domains.sh H5BUCKET H5DIFF [BASE]: `h5bucket get` of the sample domains below BASE (a folder, or
# s3://bucket/...) gives files equal to their native twins. h5diff needs no connector here: both are HDF5
# files.
h5bucket=$1 h5diff=$2 base=${3:-$BKT_FIXTURES/hsopen/home/test_user1/fx}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
n=0 domains="attrs types shapes filters refs strings tracked dimscales partition linked fastlinked groups" least=8 note=
case ${BKT_SAMPLE:+${BKT_PRELOAD:-$base}} in
s3://* | *san*) domains="types shapes filters refs linked" least=4 note=" of 12 (a sample: ./check --all takes all, and so do folders without a sanitizer)" ;;
esac
for domain in $domains; do
    twin=$BKT_FIXTURES/native/$domain.h5
    [ -e "$twin" ] || continue
    "$h5bucket" get "$base/$domain.h5" "$work/back.h5" || fail "get $domain"
    [ "$(ls "$work")" = back.h5 ] || fail "$domain: something else is left: $(ls "$work")"
    "$h5bucket" get "$base/$domain.h5" "$work/back.h5" 2> /dev/null && fail "an existing file was replaced"
    "$h5bucket" get --force "$base/$domain.h5" "$work/back.h5" || fail "get --force $domain"
    "$h5diff" "$twin" "$work/back.h5" || fail "h5diff of $domain"
    rm "$work/back.h5"
    n=$((n + 1))
done
[ $n -ge $least ] || fail "only $n domains were there"
(cd "$work" && "$h5bucket" get "$base/types.h5" && [ -e types.h5 ]) || fail "get without a file name"
"$h5bucket" get "$base/none.h5" "$work/none.h5" 2> "$work/err" && fail "a domain that isn't there"
grep -q none.h5 "$work/err" || fail "the message does not name the domain: $(cat "$work/err")"
[ ! -e "$work/none.h5" ] || fail "a file was left"
echo "$n domains$note"
