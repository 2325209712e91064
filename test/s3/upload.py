#!/usr/bin/env python3
"""upload.py BUCKET[:public]=FOLDER...: make buckets and put every file of the folders into them, several at a time.

The place and the keys: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION.  Standard
library only.  `:public` lets anyone read.
"""
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import os
import sys
import threading
import urllib.parse

ENDPOINT = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
ACCESS = os.environ["AWS_ACCESS_KEY_ID"]
SECRET = os.environ["AWS_SECRET_ACCESS_KEY"]
REGION = os.environ.get("AWS_REGION", "us-east-1")
LOCAL = threading.local()


def sign(method, path, extra, digest, query=""):
    """Headers of a request with an AWS Signature Version 4."""
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{REGION}/s3/aws4_request"
    headers = {"host": ENDPOINT.netloc, "x-amz-content-sha256": digest, "x-amz-date": stamp, **extra}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = "\n".join([method, path, query, lines, names, digest])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/") + [text]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    )
    return headers


def put(path, body, extra=None):
    """PUT; path is not yet percent-encoded."""
    send("PUT", path, body, extra)


def get(path):
    """GET: the object's bytes, and the answer's headers by their names in lower case."""
    return exchange("GET", path)


def send(method, path, body=b"", extra=None, query=""):
    """PUT for any method and query, as the signature wants it; gives back the answer's text."""
    return exchange(method, path, body, extra, query)[0].decode(errors="replace")


def exchange(method, path, body=b"", extra=None, query=""):
    path = urllib.parse.quote(path, safe="/-_.~")
    if getattr(LOCAL, "connection", None) is None:
        kind = http.client.HTTPSConnection if ENDPOINT.scheme == "https" else http.client.HTTPConnection
        LOCAL.connection = kind(ENDPOINT.netloc, timeout=600)
    headers = sign(method, path, extra or {}, hashlib.sha256(body).hexdigest(), query)
    LOCAL.connection.request(method, path + ("?" + query if query else ""), body, headers)
    answer = LOCAL.connection.getresponse()
    data = answer.read()
    if answer.status not in (200, 204):
        raise SystemExit(f"{method} {path}: {answer.status} {data.decode(errors='replace')}")
    return data, {name.lower(): value for name, value in answer.getheaders()}


def main():
    jobs = []
    for arg in sys.argv[1:]:
        bucket, _, folder = arg.partition("=")
        bucket, _, access = bucket.partition(":")
        extra = {"x-amz-acl": "public-read"} if access == "public" else {}
        put("/" + bucket, b"", extra)
        for parent, _, names in os.walk(folder):
            for name in names:
                file = os.path.join(parent, name)
                jobs.append((f"/{bucket}/{os.path.relpath(file, folder)}", file, extra))

    def upload(job):
        key, file, extra = job
        with open(file, "rb") as stream:
            put(key, stream.read(), extra)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in pool.map(upload, jobs):
            pass
    print(f"{len(jobs)} objects uploaded")


if __name__ == "__main__":
    main()
