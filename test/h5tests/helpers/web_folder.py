"""A folder behind a web server that supports ranges and ETags, and can fail on purpose.  127.0.0.1, a free port."""
import email.utils
import http.server
import os
import threading
import time
import urllib.parse


class WebFolder(http.server.ThreadingHTTPServer):
    """It serves from the beginning; `with` ends it.  Requests are noted in web.requests as (begin, path, range) and
    web.sent counts the bytes of bodies.  After web.cut_after bytes all further answers are cut off.  Bytes behind
    web.stuck_from are not sent.  web.after = (n, f): f is called once, after n requests for the file."""
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, folder, wait=0.0, etags=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.wait, self.etags = folder, wait, etags
        self.requests, self.sent, self.cut_after, self.stuck_from, self.after = [], 0, None, None, None
        self.lock = threading.RLock()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client may cancel a request."""

    def path(self, name):
        return os.path.join(self.folder, name)

    def etag(self, name):
        return etag_of(os.stat(self.path(name)))

    def act(self, name):
        with self.lock:
            after = self.after
            if after and sum(p.startswith("/" + name) and r is not None for _, p, r in self.requests) > after[0]:
                self.after = None
                after[1]()

    def allowed(self, n):
        """The part of a body of n bytes that may still be sent."""
        with self.lock:
            n = n if self.cut_after is None else max(0, min(n, self.cut_after - self.sent))
            self.sent += n
            return n


def etag_of(stat):
    return f'"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        web, name = self.server, urllib.parse.unquote(self.path.partition("?")[0].lstrip("/"))
        web.requests.append((time.monotonic(), self.path, self.headers.get("Range")))
        time.sleep(web.wait)
        web.act(name)
        if not os.path.isfile(web.path(name)):
            return self.answer(404, b"")
        with open(web.path(name), "rb") as f:
            return self.answer_file(f, os.fstat(f.fileno()))

    do_HEAD = do_GET

    def answer_file(self, f, stat):
        web, size = self.server, stat.st_size
        headers = {"Last-Modified": email.utils.formatdate(stat.st_mtime, usegmt=True)}
        if web.etags:
            headers["ETag"] = etag_of(stat)
            if self.headers.get("If-Match", headers["ETag"]) != headers["ETag"]:
                return self.answer(412, b"", headers)
        first, _, last = (self.headers.get("Range") or "").removeprefix("bytes=").partition("-")
        if not first:
            return self.answer(200, f.read(), headers)
        while web.stuck_from is not None and int(first) >= web.stuck_from:
            time.sleep(0.1)
        first, last = int(first), min(int(last or size), size - 1)
        if first >= size:
            return self.answer(416, b"", {**headers, "Content-Range": f"bytes */{size}"})
        f.seek(first)
        return self.answer(206, f.read(last - first + 1), {**headers, "Content-Range": f"bytes {first}-{last}/{size}"})

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for key, value in dict(headers).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        n = self.server.allowed(len(body))
        self.wfile.write(body[:n])
        if n < len(body):
            self.close_connection = True

    def log_message(self, *_):
        pass
