#!/usr/bin/env python3
"""idle.py PROGRAM: an open file is idle while nobody calls (idle_file.c), in a directory and over HTTP, whose connections are
kept.  The web server is started here, on a free port.  Standard library only."""
import functools
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files with ranges, connections kept."""
    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def do_GET(self):
        Handler.asked += 1
        path = self.translate_path(self.path)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        try:
            with open(path, "rb") as f:
                body = f.read()
        except OSError:
            self.send_error(404)
            return
        size, begin = len(body), 0
        if wanted:
            begin = int(wanted[1])
            body = body[begin:int(wanted[2]) + 1]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(body) - 1}/{size}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        bucket = os.path.join(folder, "bucket")
        os.mkdir(bucket)
        path = os.path.join(bucket, "idle.h5")
        skipped = subprocess.run([program, "make", path], check=False).returncode
        if skipped:
            sys.exit(skipped)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**{k: v for k, v in os.environ.items() if "proxy" not in k.lower()}, "AWS_NO_SIGN_REQUEST": "1", "AWS_REGION": "us-east-1",
               "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}"}
        local = subprocess.run([program, "watch", path], check=False).returncode
        if Handler.asked:
            sys.exit("the directory was read over HTTP")
        remote = subprocess.run([program, "watch", "s3://bucket/idle.h5"], env=env, check=False).returncode
        if not Handler.asked:
            sys.exit("nothing was read over HTTP")
        server.shutdown()
        sys.exit(local or remote)


if __name__ == "__main__":
    main()
