#!/usr/bin/env python3
"""Kills a writer at every single request of a session that changes the store (PUT, DELETE, each part of an
upload), and checks the result: everything that had been flushed must be there.

crash_test.py --writer crash_writer --plugin DIR --tool h5bucket --store dir --shim LIBRARY
crash_test.py --writer crash_changes --session write|close|replace ...: on a domain that is there (crash_changes prepare)
crash_test.py --writer crash_writer --plugin DIR --tool h5bucket --store s3
    S3: $AWS_ENDPOINT_URL and $BKT_PROXY, a fault proxy (faultproxy.sh) in front of it.

For each request: killed before and after it.  Then the request fails without a kill: the flush reports it,
and the next one succeeds; the same with H5Fclose.  On S3 its answer is also lost, or an error; the program
does not notice that."""
import argparse, os, secrets, shutil, signal, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import fault_proxy  # noqa: E402
import sample  # noqa: E402

args = argparse.ArgumentParser()
for name in "writer", "plugin", "tool", "store", "shim":
    args.add_argument("--" + name)
args.add_argument("--only", help="one kind of fault")
args.add_argument("--step", type=int, default=1, help="only every so many-th request")
args.add_argument("--session", help="of crash_changes")
args = args.parse_args()
args.step *= sample.step(8 if args.store == "dir" else 12)

OURS = secrets.token_hex(4)  # process ids come again in the course of all tests, and these domains stay
PHASES = 6 if args.session else 4
CHECK = {"close": "check-closed", "replace": "check-replaced"}.get(args.session, "check")
base = dict(os.environ, HDF5_PLUGIN_PATH=args.plugin, HDF5_VOL_CONNECTOR="bucket", BKT_CONNECTOR="bucket")
preload = os.environ.get("BKT_PRELOAD", "")
problems = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # for the removal of the folder
prepared = tempfile.TemporaryDirectory(prefix="bkt-crash-")  # the domain that a session changes, and a folder for each case
os.mkdir(prepared.name + "/b")


def env(shim=None, **more):
    e = dict(base, **more)
    libraries = " ".join(x for x in (preload, shim) if x)
    if libraries:
        e["LD_PRELOAD"] = libraries
    return e


class Case:
    """One run of the writer, with a new name."""

    def __init__(self, what, n):
        self.what, self.n = what, n
        self.work = tempfile.mkdtemp(dir=prepared.name)
        self.log = self.work + "/log"
        if args.store == "dir":
            os.mkdir(self.work + "/b")
            self.name = "%s/b/%s.h5" % (self.work, what)
        else:
            self.name = "s3://hsopen/home/test_user1/crash-%s-%s-%d.h5" % (OURS, what, n)
        if args.session and args.store == "dir":
            os.rmdir(self.work + "/b")
            shutil.copytree(prepared.name + "/b", self.work + "/b")
            os.rename(self.work + "/b/x.h5", self.name)
        elif args.session:
            subprocess.run([args.writer, "prepare", self.name], env=env(), check=True, timeout=600)

    def bad(self, text):
        problems.append("%s at request %d: %s" % (self.what, self.n, text))
        print(problems[-1], flush=True)

    def phases(self, word):
        try:
            lines = open(self.log).read().split("\n")
        except FileNotFoundError:
            return []
        return [int(l.split()[1]) for l in lines if l.startswith(word + " ")]

    def flushed(self):
        return max(self.phases("flushed"), default=-1)

    def look(self):
        p = subprocess.run([args.writer, CHECK, self.name, str(self.flushed())], env=env(), capture_output=True, text=True,
                           timeout=600, cwd=self.work)
        if p.returncode != 0:
            self.bad("flushed up to phase %d, then: %s %s" % (self.flushed(), p.stdout, p.stderr[-3000:]))
        self.verify()

    def verify(self):
        if not args.tool or (self.flushed() < 0 and not args.session):
            return
        p = subprocess.run([args.tool, "verify", self.name], env=env(), capture_output=True, text=True, timeout=600)
        if p.returncode != 0:
            self.bad("verify: %s %s" % (p.stdout[-2000:], p.stderr[-2000:]))

    def end(self):
        shutil.rmtree(self.work, ignore_errors=True)


def in_directory(what, n):
    """True: the writer got to its end, so it has no such request."""
    c = Case(what, n)
    fails = what in ("full", "close")
    session = args.session or ("close" if what == "close" else "write")
    p = subprocess.run([args.writer, session, c.name, c.log], capture_output=True, text=True, timeout=600, cwd=c.work,
                       env=env(args.shim, BKT_TEST_PUT=str(n), BKT_TEST_DO="full" if fails else what, BKT_TEST_HIT=c.work + "/hit"))
    killed = p.returncode == -signal.SIGKILL
    if fails:
        if p.returncode != 0:
            c.bad("it fails once: %s" % p.stderr[-3000:])
        elif c.flushed() != PHASES:
            c.bad("flushed %s" % c.phases("flushed"))
    elif not killed and p.returncode != 0:
        c.bad(p.stderr[-3000:])
    done = not os.path.exists(c.work + "/hit")
    if not killed and not done and not fails:
        c.bad("it lives on")
    if fails and not done and not args.session and not c.phases("failed"):
        c.bad("no flush failed")
    c.look()
    c.end()
    return done


def on_s3(what, n):
    c = Case(what, n)
    fault_proxy.ask("?clear=1")
    fault_proxy.ask("?method=changes&match=hsopen/[dh]&nth=%d&nth_do=%s" % (n, what))  # objects, not a probe's scratch
    p = subprocess.Popen([args.writer, args.session or "write", c.name, c.log], env=env(AWS_ENDPOINT_URL=os.environ["BKT_PROXY"]),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=c.work)
    if what.startswith("freeze"):
        while p.poll() is None and "frozen" not in fault_proxy.ask(""):
            time.sleep(0.005)
        if p.poll() is None:
            p.kill()
    out, err = p.communicate(timeout=600)
    hit = int(float(fault_proxy.ask("").get("n_nth", "0"))) > 0
    fault_proxy.ask("?clear=1")
    while fault_proxy.ask("")["busy"] != "0":  # a request that was on its way at the kill arrives before the check
        time.sleep(0.005)
    if p.returncode not in (0, -signal.SIGKILL):
        c.bad(err[-3000:])
    elif p.returncode == 0 and c.flushed() != PHASES:
        c.bad("flushed %s" % c.phases("flushed"))
    if what == "403" and hit and not args.session and not c.phases("failed"):
        c.bad("no flush failed")
    c.look()
    c.end()
    return not hit


def main():
    start = time.time()
    run = in_directory if args.store == "dir" else on_s3
    if args.session and args.store == "dir":
        subprocess.run([args.writer, "prepare", prepared.name + "/b/x.h5"], env=env(), check=True, timeout=600)
    kinds = ["before", "after", "full"] + ["close"] * (not args.session) if args.store == "dir" else ["freeze", "freeze_after", "lose", "500", "reset", "403"]
    with ThreadPoolExecutor(2 if args.store == "dir" else 1) as pool:
        for what in [args.only] if args.only else kinds:
            n, last = 0, None
            while last is None:  # in small groups, until a session ends before its nth request
                group = [n + 1 + i * args.step for i in range(4 if args.store == "dir" else 1)]
                done = list(pool.map(lambda k: run(what, k), group))
                last = next((k for k, d in zip(group, done) if d), None)
                n = group[-1] + args.step - 1
                if n > 1000 or len(problems) > 3:
                    break
            print("%s: %s requests%s, %.1f s so far" % (what, last - 1 if last else "?", sample.note(), time.time() - start), flush=True)
            # in S3 the replaced objects are deleted by one request
            if last is not None and last < (8 if args.session == "replace" and args.store == "s3" else 12):
                problems.append("%s: only %d requests in a session: the connector was not used?" % (what, last - 1))
    for p in problems:
        print(p)
    return bool(problems)


sys.exit(main())
