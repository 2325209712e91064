#!/bin/sh
# lint.sh SOURCE BUILD RUN_CLANG_TIDY CPPCHECK: both over src, with all findings; used by the target `lint`.
set -u
src=$1 build=$2 tidy=$3 cppcheck=$4
bad=0
jobs=$(nproc)
out=$build/lint.log
"$tidy" -quiet -p "$build" -j "$jobs" "^$src/src/.*\.c\$" > "$out" 2>&1 || bad=1
grep -E -A5 '(warning|error):' "$out"
"$cppcheck" --quiet --error-exitcode=1 --std=c11 -j "$jobs" --enable=warning,portability --inline-suppr \
    -D'H5E_BEGIN_TRY={' -D'H5E_END_TRY=}' \
    --suppressions-list="$src/config/cppcheck.supp" --project="$build/compile_commands.json" \
    --file-filter="$src/src/*" -i "$build" 2> "$out.cppcheck" || bad=1
cat "$out.cppcheck"
[ $bad = 0 ] && echo "clang-tidy and cppcheck have nothing to say"
exit $bad
