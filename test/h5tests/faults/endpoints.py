"""endpoints.py --bin FOLDER --plugin FOLDER --tool H5BUCKET --write CRASH_WRITER: servers that aren't there, or aren't what they should be.

HDF5's tools, a program that writes and h5bucket must fail, in bounded time.  Their messages must name the
server, the object, the problem and the remedy.  All servers are on this machine.
"""
import argparse, os, socket, subprocess, tempfile, threading

parser = argparse.ArgumentParser()
for option in ("--bin", "--plugin", "--tool", "--write"):
    parser.add_argument(option, required=True)
args = parser.parse_args()

# Times are long, except where they must run out: a busy machine must not look like a server that is stuck.
SETTINGS = "anonymous=yes;retries=1;test.backoff_ms=1;deadline_ms=200000;test.conditional=quoted;"
LONG = "test.connect_ms=100000;test.stall_ms=100000"
NAME = "s3://buck/folder/x.h5"
kept = []  # sockets that stay open


def server(answer):
    """A server that sends these bytes to every client and closes; None: nothing is ever sent."""
    s = socket.create_server(("127.0.0.1", 0))

    def serve(c):
        try:
            c.recv(65536)
            if answer is None:
                kept.append(c)
                return
            c.sendall(answer)
            c.shutdown(socket.SHUT_WR)
            while c.recv(65536):
                pass
        except OSError:
            pass
        c.close()

    def loop():
        while True:
            threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return s.getsockname()[1]


def nobody():
    """A port without a listener."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    kept.append(s)
    return s.getsockname()[1]


def crowded():
    """A port whose queue is full, so that connecting takes for ever, as behind a firewall that drops."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(0)
    for _ in range(4):
        c = socket.socket()
        c.setblocking(False)
        try:
            c.connect(s.getsockname())
        except BlockingIOError:
            pass
        kept.append(c)
    kept.append(s)
    return s.getsockname()[1]


def reply(status, body, headers=""):
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status.encode(), len(body), headers.encode(), body.encode())


XML = '<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>'
DENIED = reply("403 Forbidden", XML % ("AccessDenied", "a policy says no"), "x-amz-request-id: REQ-4711\r\n")
NO_BUCKET = reply("404 Not Found", XML % ("NoSuchBucket", "none"))

# endpoint; words that every message must have; times
CASES = {
    "nobody listens": (f"http://127.0.0.1:{nobody()}", ["cannot connect", "endpoint"], LONG),
    "connecting takes for ever": (f"http://127.0.0.1:{crowded()}", ["cannot connect", "endpoint"], "test.connect_ms=200"),
    "a name that there is not": ("http://no-such-host.invalid", ["cannot connect", "esolv", "endpoint"], "test.connect_ms=2000"),
    "no TLS there": (f"https://127.0.0.1:{server(reply('200 OK', 'x'))}", ["SSL", "https", "ca_bundle"], LONG),
    "it never answers": (f"http://127.0.0.1:{server(None)}", ["stalled", "deadline_ms"], "test.connect_ms=100000;test.stall_ms=200"),
    "it hangs up": (f"http://127.0.0.1:{server(b'')}", ["connection broken"], LONG),
    "no HTTP": (f"http://127.0.0.1:{server(bytes(range(256)) * 4)}", ["transfer failed", "endpoint"], LONG),
    "no S3, but a page": (f"http://127.0.0.1:{server(reply('200 OK', '<html>please log in</html>'))}", ["not JSON"], LONG),
    "it denies": (f"http://127.0.0.1:{server(DENIED)}", ["403", "AccessDenied", "a policy says no", "REQ-4711", "sent unsigned"],
                  LONG),
    "no such bucket": (f"http://127.0.0.1:{server(NO_BUCKET)}", ["NoSuchBucket", "check its name and the endpoint"], LONG),
}
ANSWERS = ("no S3, but a page", "it denies", "no such bucket")  # it is known then that the server is there
problems = []


def check(case, program, argv, env, words):
    try:
        r = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, timeout=600, errors="replace")
    except subprocess.TimeoutExpired:
        problems.append(f"{case}: {program} hangs")
        return
    text = r.stdout + r.stderr
    missing = [w for w in words if w not in text]
    if r.returncode <= 0:
        problems.append(f"{case}: {program} ended with {r.returncode}: {text[-2000:]}")
    elif missing:
        problems.append(f"{case}: {program} should speak of {missing}: {text[-3000:]}")


def main():
    for case, (endpoint, words, times) in CASES.items():
        words = words + ["folder/x.h5"] + ([] if case in ANSWERS else [endpoint])
        env = {"HDF5_PLUGIN_PATH": args.plugin, "HDF5_VOL_CONNECTOR": f"bucket endpoint={endpoint};{SETTINGS}{times}"}
        for program in () if os.environ.get("BKT_PRELOAD") else ("h5ls", "h5dump"):  # they clear HDF5's error stack before their own message
            check(case, program, [os.path.join(args.bin, program), "hsds+" + NAME], {**env, "H5BUCKET_TRACE": "vol"}, words)
        with tempfile.TemporaryDirectory() as tmp:
            check(case, "a writer", [args.write, "write", NAME, tmp + "/log"], env, words)
        tool = [s for text in (SETTINGS + times).split(";") for s in ("--set", text)]
        for verb in ("ls", "info", "verify", "rm"):
            check(case, "h5bucket " + verb, [args.tool, verb, "-e", endpoint, *tool, *(["--yes"] if verb == "rm" else []), NAME], {}, words)
        with tempfile.TemporaryDirectory() as tmp:
            check(case, "h5bucket get", [args.tool, "get", "-e", endpoint, *tool, NAME, tmp + "/x.h5"], env, words)
    if os.environ.get("BKT_PRELOAD"):
        print("h5ls and h5dump left out: with a sanitizer preloaded HDF5's programs can hang at exit")
    print("\n\n".join(problems) if problems else f"{len(CASES)} servers, and everybody says what is wrong")
    return bool(problems)


raise SystemExit(main())
