"""A folder behind a web server that supports ranges and ETags, and can fail on purpose."""
import email.utils, hashlib, http.server, os, threading, time


class WebFolder:
    """`with WebFolder(folder) as web`: requests are noted in web.requests as (begin, path, range) and web.sent
    counts the bytes of bodies.  After web.cut_after bytes all further answers are cut off.  Bytes behind
    web.stuck_from are not sent.  web.after = (n, f): f is called once, after n requests for the file."""

    def __init__(self, folder, wait=0.0, etags=True):
        self.folder, self.wait, self.etags = folder, wait, etags
        self.requests, self.sent, self.cut_after, self.stuck_from, self.after = [], 0, None, None, None
        self.lock, self.files = threading.RLock(), {}
        handler = type("Handler", (Handler,), {"web": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that went away
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def etag(self, name):
        return self.file(name)[1]

    def file(self, name):
        """Its bytes and its ETag."""
        path = os.path.join(self.folder, name)
        with self.lock:
            at = os.stat(path)
            if self.files.get(name, (0,))[0] != (at.st_ino, at.st_mtime_ns):
                with open(path, "rb") as f:
                    data = f.read()
                self.files[name] = (at.st_ino, at.st_mtime_ns), data, '"' + hashlib.sha256(data).hexdigest()[:16] + '"'
            return self.files[name][1:]

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
        self.act(name)
        if not os.path.isfile(path):
            return self.answer(404, b"")
        data, etag = web.file(name)
        headers = {"Last-Modified": email.utils.formatdate(os.path.getmtime(path), usegmt=True)}
        if web.etags:
            headers["ETag"] = etag
        match = self.headers.get("If-Match")
        if match and web.etags and match != etag:
            return self.answer(412, b"", headers)
        first, _, last = (self.headers.get("Range") or "").removeprefix("bytes=").partition("-")
        if not first:
            return self.answer(200, data, headers)
        while web.stuck_from is not None and int(first) >= web.stuck_from:
            time.sleep(0.1)
        body = data[int(first):int(last) + 1 if last else None]
        headers["Content-Range"] = f"bytes {first}-{int(first) + len(body) - 1}/{len(data)}"
        return self.answer(206 if body else 416, body, headers)

    do_HEAD = do_GET

    def act(self, name):
        with self.web.lock:
            after = self.web.after
            if after and sum(p.startswith("/" + name) and r is not None for _, p, r in self.web.requests) > after[0]:
                self.web.after = None
                after[1]()

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
