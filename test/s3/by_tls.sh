# Sourced when the settings of a radosgw are known: with BKT_S3_TLS=yes all that follows reaches it by https, and trusts its CA alone.
# shellcheck shell=sh
trust() { export AWS_CA_BUNDLE="$1" CURL_CA_BUNDLE="$1" SSL_CERT_FILE="$1"; } # the connector; curl; Python
if [ -n "${BKT_S3_TLS:-}" ]; then
    export AWS_ENDPOINT_URL="$BKT_S3_TLS_ENDPOINT"
    trust "$BKT_S3_CA"
fi
