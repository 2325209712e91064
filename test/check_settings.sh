#!/bin/sh
# check_settings.sh H5BUCKET: `h5bucket settings` shows the values in force, and the table of docs/settings.md
# is the code's.  `check_settings.sh H5BUCKET --write` updates the table.
set -eu
tool=$1
page=$(cd "$(dirname "$0")/.." && pwd)/docs/settings.md
begin='<!-- settings: made by `h5bucket settings --markdown` -->'
end='<!-- end of settings -->'
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

H5BUCKET_CONNECTIONS=17 "$tool" settings > "$tmp/now"
grep -q 'connections.*17' "$tmp/now" || { echo "H5BUCKET_CONNECTIONS=17 is not shown:"; cat "$tmp/now"; exit 1; }
if H5BUCKET_CONNECTIONS=many "$tool" settings > /dev/null 2> "$tmp/err"; then
    echo "H5BUCKET_CONNECTIONS=many was taken"; exit 1
fi
grep -q 'connections\|CONNECTIONS' "$tmp/err" || { echo "the message names no setting:"; cat "$tmp/err"; exit 1; }

"$tool" settings --markdown > "$tmp/table"
if [ "${2:-}" = --write ]; then
    awk -v b="$begin" -v e="$end" -v t="$tmp/table" '
        $0 == e { skip = 0 } !skip { print } $0 == b { while ((getline l < t) > 0) print l; skip = 1 }' "$page" > "$tmp/new"
    cat "$tmp/new" > "$page"
else
    awk -v b="$begin" -v e="$end" '$0 == e { on = 0 } on { print } $0 == b { on = 1 }' "$page" > "$tmp/page"
    diff -u "$tmp/page" "$tmp/table" || { echo "docs/settings.md is behind: test/check_settings.sh $tool --write"; exit 1; }
fi
