#!/bin/sh
# killed.sh MPIEXEC PROGRAM BUCKET: see parallel_killed.c.  The first run must fail, and end by itself.
set -eu
if timeout 30 "$1" -n 3 "$2" write "$3/killed.h5"; then
    echo "a program whose process was killed succeeded"
    exit 1
fi
exec "$1" -n 1 "$2" check "$3/killed.h5"
