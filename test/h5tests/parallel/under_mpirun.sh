#!/bin/sh
# In place of h5bucket, for tests of it: $BKT_TOOL, by 3 processes of $BKT_MPIEXEC if the verb shares its work.
case ${1:-} in
load | get | verify | diff) exec "$BKT_MPIEXEC" -n 3 "$BKT_TOOL" "$@" ;;
*) exec "$BKT_TOOL" "$@" ;;
esac
