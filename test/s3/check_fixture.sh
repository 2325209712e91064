#!/bin/sh
# The server that the other tests rely on holds the sample bucket, refuses strangers and lets them into the public one.
set -eu
key=home/test_user1/fx/groups.h5/.domain.json
curl -sf "$AWS_ENDPOINT_URL/hspublic/$key" | cmp - "$BKT_FIXTURES/hsopen/$key"
code=$(curl -s -o /dev/null -w '%{http_code}' "$AWS_ENDPOINT_URL/hsopen/$key")
[ "$code" = 403 ] || { echo "anonymous GET of a private object: $code"; exit 1; }
code=$(curl -s -o /dev/null -w '%{http_code}' --cacert "$BKT_S3_CA" "$BKT_S3_TLS_ENDPOINT/hspublic/$key")
[ "$code" = 200 ] || { echo "GET by TLS: $code"; exit 1; }
case ${BKT_S3_TLS:+tls}$AWS_ENDPOINT_URL in
http:* | tlshttps:*) ;;
*) echo "the endpoint is $AWS_ENDPOINT_URL"; exit 1 ;;
esac
