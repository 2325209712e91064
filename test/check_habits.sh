#!/bin/sh
# check_habits.sh: rules of CONTRIBUTING.md that a machine can see.  Each line of output is one broken rule.
cd "$(dirname "$0")/.." || exit 1
bad=0
rule() { # rule TEXT LINES
    [ -z "$2" ] && return
    bad=1
    printf '%s\n' "$2" | sed "s|^|$1: |"
}
code() { grep -nE "$@" 2>/dev/null; } # prints file:line:text

rule "hdf5.h only in src/vol, src/samples, src/tools and test/h5tests" \
    "$(code -r --include='*.[ch]' '#include *[<"](hdf5|H5[A-Z]*public|H5VL.*|H5PL.*)\.h' src/base src/storage src/schema src/chunk src/mpi src/loader test/helpers test/unit test/http test/fuzz)"
rule "jansson only in src/schema" "$(code -r --include='*.[ch]' '#include *<jansson' src | grep -v '^src/schema/')"
rule "curl, expat and openssl only in src/storage" \
    "$(code -r --include='*.[ch]' '#include *<(curl/|expat|openssl/)' src | grep -v '^src/storage/')"
rule "src/mpi includes base only, src/loader base/files.h only" \
    "$(code -r --include='*.[ch]' '#include *"' src/mpi src/loader | grep -vE '^src/mpi/.*"(base|mpi)/|^src/loader/.*"(base/files\.h|loader/)')"
rule "use snprintf" "$(code -r --include='*.[ch]' '(^|[^a-z_n])v?sprintf *\(' src test bench)"
rule "no strcpy, strcat, gets, alloca" "$(code -r --include='*.[ch]' '(^|[^a-z_])(strcpy|strcat|gets|alloca|strtok) *\(' src)"
rule "threads by bkt_thread_start(), which keeps the program's signals away" \
    "$(code -r --include='*.[ch]' 'pthread_create *\(' src | grep -v '^src/base/os/thread\.[ch]:')"
rule "H5Epush only in src/vol/core/h5err.c" "$(code -r --include='*.[ch]' 'H5Epush' src | grep -v '^src/vol/core/h5err\.c:')"
rule "no struct typedefs" "$(code -r --include='*.[ch]' '^typedef struct' src | grep -vE '^src/(vol/h5bucket|samples/h5bucket_samples)\.h:')"
rule "a name in a header of a library without bkt_" \
    "$(code -ro --include='*.h' '^(struct|enum) [a-z0-9_]+ \{|^#define [A-Z0-9_]+|^[a-zA-Z][a-zA-Z0-9_ *]*[ *][a-z0-9_]+\(' src/base src/storage src/schema src/chunk src/vol src/samples src/mpi |
        grep -vE '[ *](bkt|BKT|h5bucket|H5BUCKET|look|LOOK)_[a-zA-Z0-9_]*( \{|\()?$|__attribute__|#define X$')"
rule "a struct's name has two meanings" \
    "$(find src -name '*.[ch]' -exec grep -hoE '^struct bkt_[a-z0-9_]+ \{' {} + | sort | uniq -d)"
rule "no machine's path" "$(git ls-files -z 2>/dev/null | xargs -0 grep -nIE '(^|[^a-zA-Z0-9_.$}/])/(work|root)/[a-z]' -- 2>/dev/null | grep -v '^test/check_habits\.sh:')"
rule "no registry's host name" \
    "$(git ls-files -z 2>/dev/null | xargs -0 grep -nIE '(deb|snapshot|security|ftp)\.debian\.org|archive\.ubuntu\.com|pypi\.org|pythonhosted' -- 2>/dev/null | grep -v '^test/check_habits\.sh:')"
rule "no tabs or trailing blanks in C" "$(code -r --include='*.[ch]' "	| +$" src test bench)"
rule "the end of a comment in a line of its own" "$(find src test bench -name '*.[ch]' -exec awk '
    FNR == 1 { last = "" } /^ *\*\/$/ && last !~ /^ *\*$/ { print FILENAME ":" FNR ":" last } { last = $0 }' {} +)"
rule "a comment that begins with a parameter, or with another function's comment" \
    "$(code -r --include='*.h' '^ */\*\** ((@p|@param) |The same[ ,;.])' src)"
rule "line longer than 110" "$(code -r --include='*.[ch]' '^.{111,}' src)"
rule "line longer than 132, not a table, code or an address" \
    "$(LC_ALL=C.UTF-8 grep -HnE '^.{133,}' $(git ls-files '*.md' 2>/dev/null | grep -v '^bench/') /dev/null | grep -vE '^[^:]*:[0-9]*:(\||    |[^ ]*$)')"
for f in $(find src test bench -name '*.h' 2>/dev/null); do
    grep -q '^#ifndef .*_H' "$f" || grep -q '^#pragma once' "$f" || rule "no include guard" "$f"
done
# A function has a comment directly above it, or behind it; or the nearest comment above it in its paragraph has its
# name; or a comment of the paragraph describes a family, bkt_foo_*.  Names that end in _fini, _free, … say it all.
rule "a function in a header without a word of its own" "$(awk '
    function words(text, family,  w, i, n, all) { # as a regular expression; family: only those with an asterisk
        n = split(text, w, /[^a-z0-9_*]+/)
        for (i = 1; i <= n; i++)
            if (w[i] ~ /^[a-z]/ && w[i] != "bkt_*" && (!family || w[i] ~ /\*/)) {
                gsub(/\*/, "[a-z0-9_]*", w[i])
                all = all "|" w[i]
            }
        return all
    }
    FNR == 1 || /^$/ || /^\/\* ----/ { near = families = decl = ""; own = open = 0 }
    /^\/\*/ && !/^\/\* ----/ && !decl { families = families words(near, 1); near = ""; open = 1 }
    open { near = near " " $0; own = 1; open = !/\*\//; next }
    !decl && /^[A-Za-z].*[ *][a-z0-9_]+\(/ && !/^(static|typedef|extern "C")/ { decl = $0; line = FNR }
    decl && FNR > line { decl = decl $0 }
    decl && /;/ {
        match(decl, /[a-z0-9_]+\(/)
        known = "^([a-z0-9_]*_(fini|finip|free|freep|closep)" words(near) families ")$"
        if (!own && decl !~ /; *\/\*/ && substr(decl, RSTART, RLENGTH - 1) !~ known) print FILENAME ":" line ":" decl
        decl = ""
    }
    !decl { own = 0 }' $(find src -name '*.h'))"
# A heading of bench/tuning.md has names in capitals or with (), and files: each file exists, and one has the name.
sources=$(find src -name '*.[ch]')
rule "a heading of bench/tuning.md is out of date" "$(grep -nE '^### .*\.[ch]\b' bench/tuning.md | while IFS= read -r heading; do
    files=
    for f in $(printf '%s\n' "$heading" | grep -oE '[a-z0-9_/]+\.[ch]\b'); do
        found=$(printf '%s\n' "$sources" | grep "/$f\$")
        [ "$found" ] || printf 'no file %s: %s\n' "$f" "$heading"
        files="$files $found"
    done
    for name in $(printf '%s\n' "$heading" | grep -oE '\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b[A-Z]{4,}\b|\b[a-z_0-9]+\(\)' | tr -d '()'); do
        [ -z "$files" ] || grep -qwF -- "$name" $files || printf 'no %s: %s\n' "$name" "$heading"
    done
done)"
rule "a page is too long for what it is" "$(wc -c README.md | awk '$1 > 10000 { print "README.md: " $1 " bytes, at most 10,000" }'
    wc -l CHANGELOG.md | awk '$1 > 40 { print "CHANGELOG.md: " $1 " lines, at most 40 for a release" }')"
[ $bad = 0 ] && echo "habits kept"
exit $bad
