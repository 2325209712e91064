"""The fault proxy of test/s3/faultproxy.sh, which stands before the S3 server."""
import os
import urllib.request


def ask(query):
    """Change its settings by a query, as ?clear=1, if there is one; its settings and counts."""
    with urllib.request.urlopen(os.environ["BKT_PROXY"] + "/__fault" + query, timeout=120) as r:
        return dict(line.split("=", 1) for line in r.read().decode().split("\n") if "=" in line)
