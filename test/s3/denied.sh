#!/bin/sh
# denied.sh PROGRAM: run it (changes_refused.c) in a bucket of its own, whose policy denies all changes and then allows them again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bucket=denied-$$
send() { python3 -B -c '
import os, sys
sys.path.insert(0, sys.argv[1])
import upload
method, path, query, body = sys.argv[2:6]
upload.send(method, path, body.encode(), query=query)' "$here" "$@"; }
case ${1:?} in
deny) send PUT "/$2" policy= '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":["s3:PutObject",
    "s3:DeleteObject"],"Resource":["arn:aws:s3:::'"$2"'/*"]}]}' ;;
allow) send DELETE "/$2" policy= '' ;;
*)
    send PUT "/$bucket" '' ''
    rc=0
    "$1" "s3://$bucket/out.h5" "'$0' deny $bucket" "'$0' allow $bucket" reads "HTTP 403" AccessDenied "request id" s3:PutObject \
        "s3://$bucket/" || rc=$?
    exit $rc
    ;;
esac
