#!/usr/bin/env python3
"""bench_killed.py BENCH_FOLDER: a benchmark that is killed leaves no server and no temporary folder behind.
A benchmark that ends takes its server along and leaves its folder to its caller.  Standard library only."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from servers import serve
server = serve.Server(sys.argv[2], 0, (sys.argv[2],))
print(server.process.pid, server.watcher.pid, flush=True)
sys.stdin.read()
"""


def alive(pid):
    """Whether it runs: neither gone nor a zombie that waits for its parent."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def goes(what):
    for _ in range(600):
        if not what():
            return True
        time.sleep(0.1)
    return False


def start(bench, folder):
    os.chmod(folder, 0o755)
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, bench, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pids = [int(word) for word in process.stdout.readline().split()]
    if len(pids) != 2 or not all(alive(pid) for pid in pids):
        sys.exit(f"the server doesn't run: {pids}")
    return process, pids


def main():
    bench = sys.argv[1]
    if not os.path.isdir("/proc/self"):
        print("skipped: no /proc here")
        sys.exit(77)
    sys.dont_write_bytecode = True
    sys.path.insert(0, bench)
    from servers import serve  # pylint: disable=import-outside-toplevel
    if not serve.program():
        print("skipped: no nginx with Lua here")
        sys.exit(77)
    failed = []
    folder = tempfile.mkdtemp(prefix="bkt-bench-killed.")
    try:
        process, pids = start(bench, folder)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for what, pid in zip(("the server", "the watcher"), pids):
            if not goes(lambda pid=pid: alive(pid)):
                failed.append(f"killed: {what} is left ({pid})")
        if not goes(lambda: os.path.exists(folder)):
            failed.append("killed: the folder is left")
        os.makedirs(folder, exist_ok=True)
        process, pids = start(bench, folder)
        process.communicate(b"")
        left = [pid for pid in pids if not goes(lambda pid=pid: alive(pid))]
        if process.returncode or left:
            failed.append(f"ended with {process.returncode}, and {left} of {pids} run")
        if not os.path.exists(os.path.join(folder, "nginx.conf")):
            failed.append("ended: the folder is gone, and wasn't the server's to remove")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(failed) or "nothing is left behind")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
