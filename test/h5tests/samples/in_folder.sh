#!/bin/sh
# in_folder.sh PROGRAM ARGUMENT...: run it on an empty repository in a folder of its own: "@" in an argument is the folder.
set -eu
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bkt-samples.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/repo/data/00" "$tmp/repo/data/01"
program=$1
shift
for a in "$@"; do
    shift
    case $a in @) a=$tmp/repo ;; esac
    set -- "$@" "$a"
done
"$program" "$@"
