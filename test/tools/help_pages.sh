#!/bin/bash
# help_pages.sh H5BUCKET: texts made from the table of verbs: --help of each, man pages without a warning,
# completion that bash accepts and that completes, and the list of docs/tool.md.  `help_pages.sh H5BUCKET --write`
# updates that list.
set -u
tool=$1
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/tool.md
begin='<!-- commands: made by `h5bucket help --markdown` -->'
end='<!-- end of commands -->'
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0
wrong() { echo "$*"; bad=1; }

"$tool" help --markdown > "$tmp/table" || exit 1
if [ "${2:-}" = --write ]; then
    awk -v b="$begin" -v e="$end" -v t="$tmp/table" '
        $0 == e { skip = 0 } !skip { print } $0 == b { while ((getline l < t) > 0) print l; skip = 1 }' "$page" > "$tmp/new"
    cat "$tmp/new" > "$page"
    exit 0
fi
awk -v b="$begin" -v e="$end" '$0 == e { on = 0 } on { print } $0 == b { on = 1 }' "$page" > "$tmp/page"
diff -u "$tmp/page" "$tmp/table" || wrong "docs/tool.md is behind: test/tools/help_pages.sh $tool --write"

mkdir "$tmp/man"
"$tool" help --write-man "$tmp/man" || wrong "no man pages"
verbs=$(sed -n 's/^| `h5bucket \([a-z]*\).*/\1/p' "$tmp/table")
[ "$(wc -w <<< "$verbs")" -gt 10 ] || wrong "hardly any verbs: $verbs"
for v in $verbs; do
    "$tool" "$v" --help > "$tmp/help" || wrong "$v --help fails"
    grep -q "^usage: h5bucket $v" "$tmp/help" || wrong "$v --help shows no usage"
    [ -s "$tmp/man/h5bucket-$v.1" ] || wrong "no page h5bucket-$v.1"
    awk 'length > (/^(usage:|  .*-)/ ? 130 : 100) { print FILENAME ": " $0; f = 1 } END { exit f }' "$tmp/help" ||
        wrong "$v --help has long lines"
    twice=$(sed -n 's/^  \(-[a-zA-Z]\), .*/\1/p' "$tmp/help" | sort | uniq -d)
    [ -z "$twice" ] || wrong "$v --help has $twice twice"
    # every option that --help shows is in the man page and in the completion
    for o in $(sed -n 's/^  ..*--\([a-z-]*\).*/\1/p' "$tmp/help"); do
        grep -qF -- "${o//-/\\-}" "$tmp/man/h5bucket-$v.1" || wrong "--$o is not in h5bucket-$v.1"
    done
done
for page in "$tmp"/man/*.1; do
    if command -v groff > /dev/null; then
        groff -man -ww -z -Tutf8 "$page" 2> "$tmp/warnings"
    elif command -v man > /dev/null; then
        man --warnings -l "$page" 2> "$tmp/warnings" > /dev/null
    else
        echo "neither groff nor man: the pages' syntax is not checked" > /dev/stderr; break
    fi
    [ -s "$tmp/warnings" ] && wrong "$page: $(cat "$tmp/warnings")"
done

"$tool" help --completion > "$tmp/completion"
bash -n "$tmp/completion" || wrong "bash does not take the completion"
# shellcheck disable=SC1091
complete_with() { ( source "$tmp/completion"; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _h5bucket; echo "${COMPREPLY[*]}" ); }
[ "$(complete_with h5bucket cata)" = catalog ] || wrong "cata completes to $(complete_with h5bucket cata)"
[ "$(complete_with h5bucket ls --sho)" = "--showattrs --showacls" ] || wrong "ls --sho completes to $(complete_with h5bucket ls --sho)"
case " $(complete_with h5bucket ls --set conn)" in *" connections="*) ;; *) wrong "--set conn completes to nothing" ;; esac
# names in a bucket: the tool's list, without the part that bash keeps in front of the last ':'
names() { ( source "$tmp/completion"; compopt() { :; }; h5bucket() { echo "called $*" >> "$tmp/called"; printf '%s\n' s3://b/home/run7.h5 s3://b/home/sub/ s3://b/home/x.h5; }
    COMP_WORDBREAKS=$' :='; COMP_LINE="h5bucket ls $1"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(h5bucket ls s3 : "${1#s3:}"); COMP_CWORD=4
    _h5bucket; echo "${COMPREPLY[*]}" ); }
[ "$(names s3://b/home/)" = "//b/home/run7.h5 //b/home/sub/ //b/home/x.h5" ] || wrong "s3://b/home/ completes to $(names s3://b/home/)"
[ "$(names s3://b/home/r)" = "//b/home/run7.h5" ] || wrong "s3://b/home/r completes to $(names s3://b/home/r)"
grep -q "called ls -n .* s3://b/home/$" "$tmp/called" || wrong "names are asked for by $(cat "$tmp/called")"
[ -z "$(names plain)" ] || wrong "a plain word completes to $(names plain)"
[ $bad = 0 ] && echo "texts are right"
exit $bad
