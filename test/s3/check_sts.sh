#!/bin/sh
# check_sts.sh DIR PROGRAM: make a role on the radosgw in DIR that may read one bucket, then run PROGRAM, which assumes it.
set -eu
dir=$1
program=$2
home=$(mktemp -d "${TMPDIR:-/tmp}/bkt-sts-XXXXXX")
role=reader-$$
admin() { CEPH_CONF=$dir/ceph.conf timeout 180 radosgw-admin -n client.rgw "$@" > "$home/log" 2>&1; }
finish() {
    status=$?
    [ $status = 0 ] || cat "$home/log"
    admin role-policy delete --role-name "$role" --policy-name read || true
    admin role delete --role-name "$role" || true
    rm -rf "$home"
    exit $status
}
trap finish EXIT
allow='{"Version":"2012-10-17","Statement":[{"Effect":"Allow"'
admin role create --role-name "$role" --path=/ --assume-role-policy-doc \
    "$allow,\"Principal\":{\"AWS\":[\"arn:aws:iam:::user/test\"]},\"Action\":[\"sts:AssumeRole\"]}]}"
admin role-policy put --role-name "$role" --policy-name read --policy-doc \
    "$allow,\"Action\":[\"s3:GetObject\",\"s3:ListBucket\"],\"Resource\":[\"arn:aws:s3:::hsopen\",\"arn:aws:s3:::hsopen/*\"]}]}"
cat > "$home/config" <<CONFIG
[profile role]
role_arn = arn:aws:iam:::role/$role
source_profile = base
duration_seconds = 900
[profile wrong]
role_arn = arn:aws:iam:::role/$role
source_profile = wrong-keys
[profile other]
role_arn = arn:aws:iam:::role/no-such-role
source_profile = base
[profile tool]
credential_process = printf '{"Version":1,"AccessKeyId":"%s","SecretAccessKey":"%s"}' $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY
CONFIG
cat > "$home/credentials" <<CREDENTIALS
[base]
aws_access_key_id = $AWS_ACCESS_KEY_ID
aws_secret_access_key = $AWS_SECRET_ACCESS_KEY
[wrong-keys]
aws_access_key_id = $AWS_ACCESS_KEY_ID
aws_secret_access_key = wrong
CREDENTIALS
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
AWS_CONFIG_FILE=$home/config AWS_SHARED_CREDENTIALS_FILE=$home/credentials "$program"
