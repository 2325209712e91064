#!/bin/sh
# lint.sh SOURCE BUILD RUN_CLANG_TIDY CPPCHECK: both over src, with all findings; used by the target `lint`.
# If ./check sets BKT_SAMPLE, clang's analyzer (nearly all of the time) takes one file in eight.  All other checks take all.
set -u
src=$1 build=$2 tidy=$3 cppcheck=$4
bad=0
jobs=$(nproc)
out=$build/lint.log

tidy() { # tidy LOG options and files...
    log=$1; shift
    "$tidy" -quiet -p "$build" -j "$jobs" "$@" > "$log" 2>&1 || bad=1
    grep -E -A5 '(warning|error):' "$log"
}

in_sample() { [ $(($(printf %s "$1" | cksum | cut -d' ' -f1) % 8)) = 0 ]; } # by the name: a finding comes again

if [ -z "${BKT_SAMPLE:-}" ]; then
    tidy "$out" "^$src/src/.*\.c\$"
else
    analysed='' others='' n=0 of=0
    for file in $(cd "$src" && find src -name '*.c'); do
        of=$((of + 1))
        if in_sample "$file"; then n=$((n + 1)) analysed="$analysed /$file\$"; else others="$others /$file\$"; fi
    done
    # shellcheck disable=SC2086 # patterns, which match the ends of paths
    tidy "$out" $analysed
    # shellcheck disable=SC2086
    tidy "$out.others" "-checks=-clang-analyzer-*" $others
    echo "clang's analyzer: $n of $of files (a sample: ./check --all takes all)"
fi
"$cppcheck" --quiet --error-exitcode=1 --std=c11 -j "$jobs" --enable=warning,portability --inline-suppr \
    -D'H5E_BEGIN_TRY={' -D'H5E_END_TRY=}' \
    --suppressions-list="$src/config/cppcheck.supp" --project="$build/compile_commands.json" \
    --file-filter="$src/src/*" -i "$build" 2> "$out.cppcheck" || bad=1
cat "$out.cppcheck"
[ $bad = 0 ] && echo "clang-tidy and cppcheck have nothing to say"
exit $bad
