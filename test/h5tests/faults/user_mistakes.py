"""user_mistakes.py --plugin FOLDER --tool H5BUCKET --read READ_DATASET --write CRASH_WRITER: the most frequent
mistakes of users.

An unknown setting, no credentials, a name without a domain, a place that can't hold a domain: programs that
use HDF5, and the tool, must report the mistake, even if HDF5 itself was the first to fail.  No stored object
may change.
"""
import argparse, http.server, os, resource, signal, socket, subprocess, tempfile, threading

parser = argparse.ArgumentParser()
for option in ("--plugin", "--tool", "--read", "--write"):
    parser.add_argument(option, required=True)
args = parser.parse_args()
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(92)
NO_KEY = b"<Error><Code>NoSuchKey</Code></Error>"


class Bucket(http.server.BaseHTTPRequestHandler):
    """S3 with one object, an HDF5 file."""

    def do_GET(self):
        there = self.path == "/buck/run.h5"
        last = int(self.headers.get("Range", f"bytes=0-{len(HDF5)}").rpartition("-")[2])
        body = HDF5[:last + 1] if there else NO_KEY
        self.send_response(206 if there else 404)
        self.send_header("Content-Length", str(len(body)))
        if there:
            self.send_header("Content-Range", f"bytes 0-{len(body) - 1}/{len(HDF5)}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
threading.Thread(target=server.serve_forever, daemon=True).start()
S3 = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_NO_SIGN_REQUEST": "1", "AWS_REGION": "us-east-1"}
NO_KEYS = {**S3, "AWS_NO_SIGN_REQUEST": "0", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
           "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
BY_PATH = {}  # HDF5_PLUGIN_PATH alone: HDF5's own connector fails first
BY_NAME = {"HDF5_VOL_CONNECTOR": "bucket"}
clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HS_", "H5BUCKET_", "HDF5_VOL")) and k != "HOME"}
problems = []


def fails(what, argv, env, *words, without=()):
    r = subprocess.run(argv, env={**clean, "HDF5_PLUGIN_PATH": args.plugin, **env}, capture_output=True, text=True, timeout=600,
                       errors="replace")
    said = r.stdout + r.stderr
    if "Error detected in HDF5 (2." in said and "HDF5_VOL_CONNECTOR" not in env:
        words = ()  # HDF5 2.x allows no additions to its errors while it looks for a connector
    missing, unwanted = [w for w in words if w not in said], [w for w in without if w in said]
    if r.returncode <= 0 or missing or unwanted:
        problems.append(f"{what}: ended with {r.returncode}, should speak of {missing}, and not of {unwanted}: {said[-4000:]}")


def read(what, name, env, *words, **more):
    fails(what, [args.read, name, "/x", "first"], env, *words, **more)


def settings():
    for text, words in (("conections=1", ["unknown setting 'conections' in the connector's info string; known settings: bucket, endpoint"]),
                        ("connections=many", ["connections in the connector's info string must be a number from 1 to 1024", "'many'"]),
                        ("region", ["'region' in the connector's info string is not key=value"]),
                        ("trace=nothing", ["unknown trace category 'nothing'"])):
        read(f"HDF5_VOL_CONNECTOR, {text}", "x.h5", {"HDF5_VOL_CONNECTOR": "bucket " + text}, *words)
    for env in (BY_PATH, BY_NAME):
        read("a category that isn't", "x.h5", {**env, "H5BUCKET_TRACE": "nothing"}, "unknown trace category 'nothing'")
    read("a number that is not one", "s3://buck/x.h5", {**BY_NAME, **S3, "H5BUCKET_RETRIES": "x"}, "retries in H5BUCKET_RETRIES must be a number")


def names(tmp):
    for how, env in (("by path", BY_PATH), ("by name", BY_NAME)):
        read(f"no credentials, {how}", "s3://buck/x.h5", {**env, **NO_KEYS}, "no AWS credentials found", "AWS_NO_SIGN_REQUEST=1")
        read(f"no such key, {how}", "s3://buck/x.h5", {**env, **S3}, "no domain or HDF5 file x.h5 in s3://buck")
        read(f"a damaged HDF5 file in S3, {how}", "s3://buck/run.h5", {**env, **S3}, "bad byte number in an address")
    read("a damaged HDF5 file in S3", "s3://buck/run.h5", {**BY_NAME, **S3}, "s3://buck/run.h5: opening a plain HDF5 file in a store: HDF5 reports: bad byte number in an address")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy = {"http_proxy": f"http://127.0.0.1:{nobody.getsockname()[1]}", "no_proxy": "", "NO_PROXY": "", "H5BUCKET_RETRIES": "0"}
        read("a proxy that isn't there", "s3://buck/x.h5", {**BY_NAME, **S3, **proxy}, "cannot connect", "no_proxy", "AWS_ENDPOINT_URL")
    read("a file that isn't there", f"{tmp}/x.h5", BY_PATH, "No such file or directory", without=["vol-bucket"])
    with open(f"{tmp}/text.h5", "w") as f:
        f.write("no HDF5")
    read("a file that is not an HDF5 file", f"{tmp}/text.h5", BY_PATH, "file signature not found", without=["vol-bucket"])
    with open(f"{tmp}/plain.h5", "wb") as f:
        f.write(HDF5)
    fails("the tool and an HDF5 file", [args.tool, "info", f"{tmp}/plain.h5"], {}, "plain.h5", "HDF5 reports")
    fails("the tool and one in S3", [args.tool, "info", "s3://buck/run.h5"], S3, "run.h5: opening a plain HDF5 file in a store: HDF5 reports")
    for name, word in (("x.h5", "unable to open file: No such file or directory"), ("text.h5", "not an HDF5 file")):
        fails(f"load of {name}", [args.tool, "load", f"{tmp}/{name}", f"{tmp}/out.h5"], {}, name, word, without=["errno"])
    fails("get into a folder that isn't there", [args.tool, "get", f"{tmp}/x.h5", f"{tmp}/none/x.h5"], {}, "x.h5", "no file")
    fails("a scheme that does not exist", [args.tool, "ls", "s4://buck/x.h5"], {}, "s4://buck/x.h5: names of stores begin with s3://")
    for name in ("x.h5", "./x.h5", ".//x.h5"):
        fails(f"the default bucket, {name}", [args.tool, "ls", name], {"HS_BUCKET": tmp}, f"{name} (file://{tmp}/x.h5): no such domain or folder")
    fails("load of what isn't in S3", [args.tool, "load", "s3://buck/x.h5", f"{tmp}/out.h5"], S3, "s3://buck/x.h5", "NoSuchKey")


def config(tmp):
    with open(f"{tmp}/config", "w") as f:
        f.write("# of ours\nretries = 3\nregoin = us-east-1\n")
    read("a setting in a file", "x.h5", {**BY_NAME, "H5BUCKET_CONFIG": f"{tmp}/config"}, f"unknown setting 'regoin' in line 3 of {tmp}/config")


def no_room(tmp):
    """Changes that remain when a program ends are reported once."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    r = subprocess.run([args.write, "leave", f"{tmp}/full.h5", os.devnull], env={**clean, **BY_NAME, "HDF5_PLUGIN_PATH": args.plugin},
                       capture_output=True, text=True, preexec_fn=limit)
    if r.returncode < 0 or r.stderr.count("full.h5: changes are lost (") != 1 or "File too large" not in r.stderr:
        problems.append(f"a full disk: ended with {r.returncode}: {r.stderr[-4000:]}")


def places(tmp):
    os.makedirs(f"{tmp}/used/inner")
    before = sorted(os.walk(tmp))
    for name, word in (("used", "it is not empty (inner is in it)"), ("n" * 256, "longer than 255 bytes"), ("none/x.h5", "x.h5: no directory"),
                       ("text.h5", "a file with this name exists")):
        fails(f"a writer, {name[:20]}", [args.write, "write", f"{tmp}/{name}", os.devnull], BY_NAME, word)
    fails("a writer, default bucket", [args.write, "write", "/used", os.devnull], {**BY_NAME, "HS_BUCKET": tmp}, "it is not empty")
    if sorted(os.walk(tmp)) != before:
        problems.append("a refused domain left something behind")
    os.mkdir(f"{tmp}/empty")
    r = subprocess.run([args.write, "write", f"{tmp}/empty", os.devnull], env={**clean, **BY_NAME, "HDF5_PLUGIN_PATH": args.plugin})
    if r.returncode:
        problems.append("an empty folder gives way to a domain")


with tempfile.TemporaryDirectory() as tmp:
    settings()
    names(tmp)
    config(tmp)
    places(tmp)
    no_room(tmp)
print("\n\n".join(problems) if problems else "everybody says what is wrong")
raise SystemExit(bool(problems))
