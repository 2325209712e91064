"""request_waves.py: the number of requests that wait on one another, found out without a clock.

A server's answers leave in waves: all held answers leave once the client waits for nothing else.  So no
request of a wave needed the answer to another one, and the number of waves is the length of the longest
chain.  A busy machine makes this slower and changes nothing.  Linux only (/proc).
"""
import os
import threading
import time

ESTABLISHED, OPENING, LISTENING = "01", ("02", "03"), "0A"


def threads_of(pid, but=None):
    """{thread: how often it has run} of a process whose threads are all asleep; None: one isn't, or it is gone."""
    runs = {}
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            if int(tid) == but:
                continue
            with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as f:
                lines = dict(line.split(":", 1) for line in f if line.startswith(("State", "voluntary", "nonvoluntary")))
            if not lines["State"].strip().startswith("S"):
                return None
            runs[tid] = int(lines["voluntary_ctxt_switches"]) + int(lines["nonvoluntary_ctxt_switches"])
    except (OSError, KeyError):
        return None
    return runs


def under_way(port):
    """Whether a byte or a connection is on its way to or from the server, or wasn't taken yet."""
    ours = f":{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f:
            field = line.split()
            if not field[1].endswith(ours) and not field[2].endswith(ours):
                continue
            state, (sent, come) = field[3], field[4].split(":")
            if state in OPENING or state == ESTABLISHED and int(sent, 16) + int(come, 16) or state == LISTENING and int(come, 16):
                return True
    return False


class Waves:
    """For one client process.  Its requests' handlers call hold() before they answer; `number` is how many waves have left."""

    def __init__(self, port):
        self.port, self.process, self.thread = port, None, threading.Thread(target=self.run)
        self.number, self.held, self.change, self.over = 0, 0, threading.Condition(), False

    def follow(self, process):
        """The client has been started."""
        self.process = process
        self.thread.start()

    def hold(self):
        with self.change:
            mine = self.number
            self.held += 1
            while self.number == mine and not self.over:
                self.change.wait()

    def look(self):
        """The values that are compared while all is still; None: something moves."""
        client, own = threads_of(self.process.pid), threads_of(os.getpid(), threading.get_native_id())
        return None if client is None or own is None or not self.held or under_way(self.port) else (client, own, self.held)

    def run(self):
        before = None
        while self.process.poll() is None:
            now = self.look()
            if now and now == before:
                with self.change:
                    self.number, self.held, now = self.number + 1, 0, None
                    self.change.notify_all()
            before = now
            time.sleep(0.005)
        with self.change:  # requests of a client that has ended belong to no later client
            self.over = True
            self.change.notify_all()

    def end(self):
        """The client has ended: how many waves there were."""
        self.thread.join()
        return self.number
