"""A folder behind a web server that supports ranges and ETags, and can fail on purpose."""
import email.utils, hashlib, http.server, os, threading, time


class WebFolder:
    """`with WebFolder(folder) as web`: requests are noted in web.requests as (begin, path, range) and web.sent
    counts the bytes of bodies.  After web.cut_after bytes all further answers are cut off."""

    def __init__(self, folder, wait=0.0, etags=True):
        self.folder, self.wait, self.etags = folder, wait, etags
        self.requests, self.sent, self.cut_after = [], 0, None
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"web": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def etag(self, name):
        with open(os.path.join(self.folder, name), "rb") as f:
            return '"' + hashlib.sha256(f.read()).hexdigest()[:16] + '"'

    def allowed(self, n):
        """The part of a body of n bytes that may still be sent."""
        with self.lock:
            n = n if self.cut_after is None else max(0, min(n, self.cut_after - self.sent))
            self.sent += n
            return n


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        web, name = self.web, self.path.partition("?")[0].lstrip("/")
        path = os.path.join(web.folder, name)
        web.requests.append((time.monotonic(), self.path, self.headers.get("Range")))
        time.sleep(web.wait)
        if not os.path.isfile(path):
            return self.answer(404, b"")
        with open(path, "rb") as f:
            data = f.read()
        headers = {"Last-Modified": email.utils.formatdate(os.path.getmtime(path), usegmt=True)}
        if web.etags:
            headers["ETag"] = web.etag(name)
        match = self.headers.get("If-Match")
        if match and web.etags and match != headers["ETag"]:
            return self.answer(412, b"", headers)
        first, _, last = (self.headers.get("Range") or "").removeprefix("bytes=").partition("-")
        if not first:
            return self.answer(200, data, headers)
        body = data[int(first):int(last) + 1 if last else None]
        headers["Content-Range"] = f"bytes {first}-{int(first) + len(body) - 1}/{len(data)}"
        return self.answer(206 if body else 416, body, headers)

    do_HEAD = do_GET

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for key, value in dict(headers).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        n = self.web.allowed(len(body))
        self.wfile.write(body[:n])
        if n < len(body):
            self.close_connection = True

    def log_message(self, *_):
        pass
