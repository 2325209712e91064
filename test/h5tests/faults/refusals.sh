#!/bin/sh
# refusals.sh PROGRAM [s3]: run it on a copy of the sample bucket, in a folder and behind a web server, or
# with s3 in a bucket of its own, by S3 and anonymously.  Afterwards not one byte of the copy may have
# changed, and no object may have been stored again.
program=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
mkdir "$work/data" && cp -r "$BKT_FIXTURES/hsopen" "$work/data/hsopen" || exit 1
# Users that may do one thing only.
python3 - "$work/data/hsopen/home/test_user1/fx/groups.h5/.domain.json" <<'END' || exit 1
import json, sys
with open(sys.argv[1]) as f:
    doc = json.load(f)
for user, right in (("creator", "create"), ("updater", "update"), ("deleter", "delete")):
    doc["acls"][user] = {k: k in ("read", right) for k in ("create", "read", "update", "delete", "readACL", "updateACL")}
with open(sys.argv[1], "w") as f:
    json.dump(doc, f)
END
if [ "${2-}" = s3 ]; then
    bucket=refusals-$$
    upload=$here/../../s3/upload.py
    python3 -B "$upload" "$bucket:public=$work/data/hsopen" || exit 1
    objects() { python3 -B - "$(dirname "$upload")" "$bucket" <<'END'
import os, re, sys, urllib.parse
sys.path.insert(0, sys.argv[1])
import upload
after = ""
while after is not None:
    # the parameters in the order in which they are signed
    text = upload.send("GET", "/" + sys.argv[2], query="list-type=2" + (after and "&start-after=" + urllib.parse.quote(after, safe="")))
    for object in re.findall("<Contents>(.*?)</Contents>", text, re.S):
        print(*(re.search(f"<{tag}>(.*?)</{tag}>", object).group(1) for tag in ("Key", "ETag", "Size", "LastModified")))
        last = re.search("<Key>(.*?)</Key>", object).group(1)
    after = last if "<IsTruncated>true</IsTruncated>" in text else None
END
    }
    objects > "$work/before" && [ "$(wc -l < "$work/before")" -gt 100 ] || { echo "the bucket can't be listed"; exit 1; }
    BKT_REFUSALS=s3://$bucket "$program" "$AWS_ENDPOINT_URL/$bucket" || failed=1
    objects > "$work/after" || failed=1
    cmp -s "$work/before" "$work/after" || { echo "something has changed:"; diff "$work/before" "$work/after" | head -n 20; failed=1; }
    exit ${failed:-0}
fi
sums() { (cd "$work/data" && find . -type f -exec sha256sum {} + | sort -k2; find . -type d | sort); }
sums > "$work/before"
python3 -u - "$work/data" > "$work/server" 2>&1 <<'END' &
import functools, http.server, sys
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024  # all that connect at once
server = Server(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
print("on port", server.server_port)
server.serve_forever()
END
server=$!
port=
while [ -z "$port" ] && kill -0 "$server" 2> /dev/null; do
    port=$(sed -n 's/^on port \([0-9][0-9]*\)$/\1/p' "$work/server")
    [ -n "$port" ] || sleep 0.1
done
[ -n "$port" ] || { echo "no web server: $(cat "$work/server")"; exit 1; }
BKT_REFUSALS=$work/data/hsopen "$program" "http://127.0.0.1:$port/hsopen" || failed=1
sums > "$work/after"
cmp -s "$work/before" "$work/after" || { echo "something has changed:"; diff "$work/before" "$work/after" | head -n 20; failed=1; }
exit ${failed:-0}
