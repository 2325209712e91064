#!/bin/sh
# hdf5_symbols.sh NM LIBHDF5: C source of a library with libhdf5's symbols, without versions.  A connector that is linked with
# it needs a library of a name that the loader replaces.
set -eu
case $2 in
*.a) "$1" -g --defined-only "$2" ;;
*) "$1" -D --defined-only "$2" ;;
esac | awk '
    { sub(/@.*/, "", $3) }
    $3 !~ /^H5[A-Za-z0-9_]*$/ || seen[$3]++ { next }
    $2 ~ /^[TWi]$/ { print "void " $3 "(void);\nvoid " $3 "(void) {}" }
    $2 ~ /^[BDRV]$/ { print "extern char " $3 "[8];\nchar " $3 "[8] = {0};" }'
