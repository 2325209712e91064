"""A web server with ranges, for tests: the files below a folder, with ETags.  127.0.0.1, a free port."""
import http.server
import os
import re
import threading
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def nothing(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.server.count()
        path = os.path.join(self.server.folder, urllib.parse.unquote(self.path).lstrip("/"))
        if not os.path.isfile(path):
            self.nothing(404)
            return
        with open(path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            first, last = (int(span[1]), min(int(span[2] or size - 1), size - 1)) if span else (0, size - 1)
            if span and first >= size:
                self.nothing(416)
                return
            f.seek(first)
            body = f.read(last - first + 1)
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{os.path.getmtime(path)}-{size}"')
        if span:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.requests, self.lock = folder, 0, threading.Lock()
        self.base = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def count(self):
        with self.lock:
            self.requests += 1

    def handle_error(self, request, client_address):
        """A client may cancel a request."""
