#!/bin/sh
# In place of h5bucket, for tests of it: $BKT_TOOL, by 3 processes of $BKT_MPIEXEC if the verb shares its work.
# The processes read the arguments from a file: MPICH's mpiexec ends with a segmentation fault at 1,000 of them.
case ${1:-} in
--arguments-from)
    file=$2
    set --
    while IFS= read -r argument; do set -- "$@" "$argument"; done <"$file"
    exec "$BKT_TOOL" "$@"
    ;;
load | get | verify | diff)
    file=$(mktemp) || exit 1
    trap 'rm -f "$file"' EXIT
    printf '%s\n' "$@" >"$file"
    "$BKT_MPIEXEC" -n 3 "$0" --arguments-from "$file"
    ;;
*) exec "$BKT_TOOL" "$@" ;;
esac
