"""web_files.py --plugin FOLDER --bin FOLDER --read READ_DATASET: a plain HDF5 file behind a web server, by its address.

h5dump must print the same as for the file on disk.  Addresses have percent escapes, blanks and queries, and lead
through redirects to another server and through logins.  Each case's requests are counted.  If the file can't
be read, the error names the reason.  No secret is printed.
"""
import argparse, base64, http.server, os, subprocess, tempfile, threading, urllib.parse

parser = argparse.ArgumentParser()
for option in ("--plugin", "--bin", "--read"):
    parser.add_argument(option, required=True)
args = parser.parse_args()
BASIC = "Basic " + base64.b64encode(b"me:hidden").decode()
problems, seen = [], []


class Site(http.server.BaseHTTPRequestHandler):
    """Folders with the file under any name; each wants something else of its clients."""
    protocol_version = "HTTP/1.1"

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file(self):
        first, _, last = (self.headers.get("Range") or "").removeprefix("bytes=").partition("-")
        if not last:
            return self.answer(200, (), DATA)
        body = DATA[int(first):int(last) + 1]
        span = f"bytes {first}-{int(first) + len(body) - 1}/{len(DATA)}"
        return self.answer(206 if body else 416, (("Content-Range", span), ("ETag", '"e"')), body)

    def no_domain(self, folder):
        """The server has no domain; the folder's name has the status of the answer."""
        s3 = folder.startswith("s3-")
        status = folder.removeprefix("s3-")
        if folder == "itself":  # a program that ignores the end of the path
            self.file()
        elif status == "302":
            self.answer(302, (("Location", f"{OTHER}/page/login"),))
        else:
            self.answer(int(status) if status.isdigit() else 404, (("x-amz-request-id", "1"),) if s3 else (), b"<html>nothing</html>")

    def do_GET(self):
        other = OTHER if self.server is server else HERE
        folder = self.path.split("/")[1]
        if not self.path.endswith(".domain.json"):
            seen.append(f"{'here' if self.server is server else 'other'} {self.path}")
        if self.path.endswith(".domain.json"):
            self.no_domain(folder)
        elif folder == "moved":
            self.answer(302, (("Location", f"{other}/plain/x.h5?sig=hidden%2Fa"),))
        elif folder == "token" and self.headers.get("Authorization") != "Bearer hidden":
            self.answer(401)
        elif folder == "password" and self.headers.get("Authorization") != BASIC:
            self.answer(401)
        elif folder == "session" and "id=hidden" not in (self.headers.get("Cookie") or ""):
            self.answer(302, (("Location", f"{other}/door"),))
        elif folder == "door":
            self.answer(302, (("Location", f"{other}/in"),))
        elif folder == "in":
            self.answer(302, (("Location", "/session/x.h5"), ("Set-Cookie", "id=hidden; Path=/")))
        elif folder == "deaf":
            self.answer(200, (), DATA)
        elif folder == "page":
            self.answer(200, (("Content-Type", "text/html"),), b"<html>please log in</html>")
        elif folder == "nothing":
            self.answer(404)
        elif folder == "empty":
            self.answer(416, (("Content-Range", "bytes */0"),))
        else:
            self.file()

    def log_message(self, *_):
        pass


server, second = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) for _ in range(2))
for s in (server, second):
    threading.Thread(target=s.serve_forever, daemon=True).start()
PORT = server.server_port
HERE, OTHER = f"http://127.0.0.1:{PORT}", f"http://localhost:{second.server_port}"
clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HS_", "H5BUCKET_", "HDF5_VOL", "NETRC"))}
OURS = {"HDF5_PLUGIN_PATH": args.plugin, "HDF5_VOL_CONNECTOR": "bucket", "H5BUCKET_TEST": "hedge=0", "H5BUCKET_RETRIES": "1"}


def run(argv, env):
    preload = {"LD_PRELOAD": os.environ["BKT_PRELOAD"]} if os.environ.get("BKT_PRELOAD") else {}
    return subprocess.run(argv, env={**clean, **preload, **env}, capture_output=True, text=True, timeout=600, errors="replace")


def dump(name, env):
    r = run([os.path.join(args.bin, "h5dump"), name], env)
    return r.stdout.partition("\n")[2], r.returncode, r.stderr


def opens(what, path, requests, **env):
    seen.clear()
    said, code, errors = dump(HERE + path, {**OURS, "H5BUCKET_TRACE": "all", "HOME": tmp, **env})
    if code or said != LOCAL:
        problems.append(f"{what}: h5dump ended with {code}, {errors[-3000:]}")
    if seen[:len(requests)] != requests:
        problems.append(f"{what}: the requests were {seen}, should begin with {requests}")
    if "hidden" in errors or BASIC in errors:
        problems.append(f"{what}: a secret was printed")


def fails_by_path(what, path, *words):
    """HDF5 asks the connector for the name after its own connector has failed."""
    said, code, errors = dump(HERE + path, {**OURS, "HDF5_VOL_CONNECTOR": "", "H5BUCKET_TRACE": "all", "HOME": tmp})
    missing = [w for w in words if w not in errors]
    if code <= 0 or missing:
        problems.append(f"{what}: h5dump ended with {code}, should speak of {missing}: {errors[-3000:]}")


def fails(what, path, *words, **env):
    r = run([args.read, HERE + path, "/x", "first"], {**OURS, "HOME": tmp, **env})
    said = r.stdout + r.stderr
    missing = [w for w in words if w not in said]
    if r.returncode <= 0 or missing or "hidden" in said:
        problems.append(f"{what}: ended with {r.returncode}, should speak of {missing}: {said[-3000:]}")


with tempfile.TemporaryDirectory() as tmp:
    text, path = os.path.join(tmp, "in.txt"), os.path.join(tmp, "x.h5")
    with open(text, "w") as f:
        f.write(" ".join(str(i) for i in range(400000)))
    made = run([os.path.join(args.bin, "h5import"), text, "-d", "400,1000", "-p", "/x", "-t", "TEXTIN", "-s", "32", "-o", path], {})
    assert made.returncode == 0, made.stderr
    with open(path, "rb") as f:
        DATA = f.read()
    assert len(DATA) > 1500000
    LOCAL = dump(path, {})[0]
    assert len(LOCAL) > 1000000

    for name in ("x.h5", "my%20data.h5", "%2e%2Fx+y.h5", "x.h5?X-Amz-Signature=hidden%2F%2b", "7?id=hidden"):
        opens(name, "/plain/" + name, ["here /plain/" + name])
    for name in ("%da%2F.h5", "x%05d.h5"):  # escapes, and not a family
        opens(name, "/plain/" + name, ["here /plain/" + name])
    opens("a blank", "/plain/my data.h5", ["here /plain/my%20data.h5"])
    opens("a fragment", "/plain/x.h5#mode=bytes", ["here /plain/x.h5"])
    target = "other /plain/x.h5?sig=hidden%2Fa"
    opens("a redirect", "/moved/x.h5", ["here /moved/x.h5", target, target])
    opens("a session", "/session/x.h5", ["here /session/x.h5", "other /door", "here /in", "here /session/x.h5", "here /session/x.h5"])
    opens("a token", "/token/x.h5", ["here /token/x.h5"], H5BUCKET_TOKEN=f"127.0.0.1:{PORT}:hidden")
    with open(os.path.join(tmp, ".netrc"), "w") as f:
        f.write("machine 127.0.0.1 login me password hidden\n")
    opens("a password", "/password/x.h5", ["here /password/x.h5"])
    os.remove(os.path.join(tmp, ".netrc"))

    # the server has no domain, whatever it answers; an outage is not such an answer
    for status in (200, 302, 400, 401, 403, 405, 406, 410, 422, 451, 500, 501):
        opens(f"a server that answers {status}", f"/{status}/x.h5", [f"here /{status}/x.h5"])
    opens("a server that ignores the end of the path", "/itself/x.h5", ["here /itself/x.h5"])
    opens("the same by path", "/500/x.h5", ["here /500/x.h5"], HDF5_VOL_CONNECTOR="")
    for status in ("429", "503", "s3-500", "s3-503"):
        fails(f"a server that answers {status}", f"/{status}/x.h5", f"/{status}/x.h5/.domain.json: HTTP {status[-3:]}")
        fails_by_path(f"a server that answers {status}, by path", f"/{status}/x.h5", f"/{status}/x.h5/.domain.json: HTTP {status[-3:]}")

    fails("no password", "/password/x.h5?sig=hidden", "HTTP 401", "~/.netrc")
    fails("a token for another host", "/token/x.h5?sig=hidden", "HTTP 401", H5BUCKET_TOKEN="localhost:hidden")
    fails("a malformed token", "/token/x.h5?sig=hidden", "HOST:TOKEN", H5BUCKET_TOKEN="hidden")
    fails("no ranges", "/deaf/x.h5?sig=hidden", "the server ignores ranges")
    fails("a page", "/page/x.h5?sig=hidden", "a web page, not with the file")
    fails("an empty file", "/empty/x.h5", "file signature not found")
    fails("no file", "/nothing/x.h5?sig=hidden", "/nothing/x.h5")

for p in problems:
    print(p)
raise SystemExit(1 if problems else 0)
