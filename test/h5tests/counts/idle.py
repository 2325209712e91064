#!/usr/bin/env python3
"""idle.py PROGRAM: an open file is idle while the program makes no call (idle_file.c).  It is read and
written, in a directory and over HTTP, whose connections are kept.  The web server is started here, on a free
port.  Standard library only."""
import functools
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading

CHUNK, READ = 65536 * 4, 8  # of dataset "long": bytes of a chunk, and how many are read


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files with ranges, connections kept."""
    protocol_version = "HTTP/1.1"
    asked, chunks, stored = 0, set(), 0

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
            self.absent()
            return
        Handler.chunks.add(path)
        size, begin = len(body), 0
        if wanted:
            begin = int(wanted[1])
            body = body[begin:int(wanted[2]) + 1]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(body) - 1}/{size}")
        self.send_header("Content-Length", str(len(body)))
        try:
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:  # the program has ended, or asked again over another connection
            self.close_connection = True

    def absent(self):
        body = b"<Error><Code>NoSuchKey</Code></Error>"
        self.send_response(404)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        if os.path.isfile(self.translate_path(self.path)):
            super().do_HEAD()
        else:
            self.absent()

    def do_PUT(self):
        Handler.stored += 1
        path = self.translate_path(self.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", "0")
        self.end_headers()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 1024  # all that connect at once


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        bucket = os.path.join(folder, "bucket")
        os.mkdir(bucket)
        path = os.path.join(bucket, "idle.h5")
        skipped = subprocess.run([program, "make", path], check=False).returncode
        if skipped:
            sys.exit(skipped)
        server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**{k: v for k, v in os.environ.items() if "proxy" not in k.lower()}, "AWS_NO_SIGN_REQUEST": "1", "AWS_REGION": "us-east-1",
               "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}", "H5BUCKET_WRITERS": "one"}
        failed = subprocess.run([program, "read", path], check=False).returncode
        failed |= subprocess.run([program, "write", os.path.join(bucket, "own.h5")], check=False).returncode
        if Handler.asked:
            sys.exit("the directory was read over HTTP")
        failed |= subprocess.run([program, "read", "s3://bucket/idle.h5"], env=env, check=False).returncode
        chunks = sum(os.path.getsize(path) == CHUNK for path in Handler.chunks)
        print(f"{chunks} chunks came")
        if chunks <= READ:
            sys.exit(f"nothing was read ahead: {chunks} chunks came")
        failed |= subprocess.run([program, "write", "s3://bucket/other.h5"], env=env, check=False).returncode
        if Handler.stored < READ:
            sys.exit("nothing was written over HTTP")
        server.shutdown()
        sys.exit(failed)


if __name__ == "__main__":
    main()
