#!/bin/sh
# check_readme.sh H5BUCKET: the README's table of settings is what the program prints.
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
sed -n '/^<!-- settings:/,/^<!-- end of settings/p' README.md | sed '1d;$d' > "$work/readme"
"$1" settings --markdown > "$work/now" || exit 1
[ -s "$work/now" ] && diff "$work/readme" "$work/now" && echo "the table is up to date"
