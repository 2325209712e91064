#!/usr/bin/env python3
"""compare_domains.py: HDF5's own tools on every sample domain and on its native twin, and nothing may differ.

    compare_domains.py --bin DIR --plugin DIR --store dir|s3 [--group tools|copies] [--only GLOB] [--show]

Each command of COMMANDS runs twice: on the domain through the connector, and on the twin (an HDF5 file with
the same content). differences.txt lists allowed differences, each line with its reason; an unused line fails
the run.  Every command on a domain must have printed a statistics line with requests in it: a connector that
wasn't loaded can't pass.  A control with an empty plugin path must fail.

Standard library only.  Samples: $BKT_FIXTURES, made by test/fixtures/unpack.sh.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
import sample  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
STATS = re.compile(rb"h5bucket: GET (\d+)")

# name, program, options. differences.txt refers to the name.
COMMANDS = [
    ("dump", "h5dump", []),
    ("dump-header", "h5dump", ["-H"]),
    ("dump-attrs", "h5dump", ["-A"]),
    ("dump-props", "h5dump", ["-p", "-H"]),
    ("dump-contents", "h5dump", ["-n", "1"]),
    ("dump-strings", "h5dump", ["-r", "-y", "-w", "0"]),
    ("dump-order", "h5dump", ["-H", "-q", "creation_order", "-z", "descending"]),
    ("dump-xml", "h5dump", ["-x", "-H"]),
    ("ls", "h5ls", ["-r"]),
    ("ls-verbose", "h5ls", ["-r", "-v"]),
    ("ls-address", "h5ls", ["-a", "-v"]),
    ("ls-data", "h5ls", ["-r", "-d", "-f"]),
    ("ls-external", "h5ls", ["-r", "-E"]),
    ("ls-symlinks", "h5ls", ["-r", "--follow-symlinks"]),
    ("ls-group", "h5ls", ["-g", "-v"]),
]
SPARSE = {"dump-header", "dump-attrs", "dump-contents", "ls", "ls-verbose"}


class Differences:
    """differences.txt: rules (texts replaced everywhere) and exceptions (one domain, one command, one line)."""

    def __init__(self, path, store):
        self.rules, self.exceptions, self.skips = [], [], []
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            fields = [field.strip() for field in line.split(" | ")]
            where = f"{os.path.basename(path)}:{number}"
            if fields[0] == "rule" and len(fields) == 5:
                _, command, pattern, replacement, reason = fields
                self.rules.append([command, re.compile(pattern), replacement.strip('"'), where, 0])
            elif fields[0].startswith("except") and len(fields) == 5:
                kind, domain, command, pattern, reason = fields
                if kind != "except" and kind.removeprefix("except-") not in store.split("-"):
                    continue
                self.exceptions.append([domain, command, pattern[0], re.compile(pattern[1:]), where, 0])
                if pattern[0] not in "-+!":
                    raise SystemExit(f"{where}: pattern must start with - (twin), + (domain) or ! (exit code)")
            elif fields[0].startswith("skip") and len(fields) == 4:
                kind, domain, command, reason = fields
                if kind != "skip" and kind.removeprefix("skip-") not in store.split("-"):
                    continue
                self.skips.append([domain, command, where, 0])
            else:
                raise SystemExit(f"{where}: neither a rule nor an exception with 5 fields, nor a skip with 4")
            if not reason:
                raise SystemExit(f"{where}: no reason")

    def normalise(self, command, text):
        for rule in self.rules:
            if fnmatch.fnmatch(command, rule[0]):
                text, count = rule[1].subn(rule[2], text)
                rule[4] += count
        return text

    def lines(self, command, output, names):
        """A program's output after the rules; each of the names is FILE."""
        text = output.decode("utf-8", "surrogateescape")
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, "FILE")
        return self.normalise(command, text).split("\n")

    def excused(self, domain, command, line):
        found = False
        for rule in self.exceptions:
            if (line[0] == rule[2] and fnmatch.fnmatch(domain, rule[0]) and fnmatch.fnmatch(command, rule[1])
                    and rule[3].search(line[1:])):
                rule[5] += 1
                found = True
        return found

    def skipped(self, domain, command):
        found = [s for s in self.skips if fnmatch.fnmatch(domain, s[0]) and fnmatch.fnmatch(command, s[1])]
        for skip in found:
            skip[3] += 1
        return bool(found)

    def stale(self, group):
        """Lines that nothing needed; a line for commands of both groups is looked at in the group `tools`."""
        def mine(pattern):
            tools = any(fnmatch.fnmatch(name, pattern) for name, _, _ in COMMANDS)
            return group == "all" or tools == (group == "tools")

        self.rules = [r for r in self.rules if mine(r[0])]
        self.exceptions = [e for e in self.exceptions if mine(e[1])]
        self.skips = [s for s in self.skips if mine(s[1])]
        return [s[2] for s in self.skips if not s[3]] + [r[3] for r in self.rules if not r[4]] + [e[4] for e in self.exceptions if not e[5]]


def differing(a, b):
    """Lines of only one text, with - or + before them."""
    if a == b:
        return []
    with tempfile.TemporaryDirectory(prefix="bkt-compare.") as folder:
        names = [os.path.join(folder, name) for name in "ab"]
        for name, lines in zip(names, (a, b)):
            with open(name, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
                f.write("\n".join(lines) + "\n")
        done = subprocess.run(["diff", "-a", "-U0", *names], capture_output=True)
        text = done.stdout.decode("utf-8", "surrogateescape").split("\n")[2:-1]
        return [line for line in text if not line.startswith("@@")]


def significant(lines):
    """The output of h5diff -v1 that makes a difference: objects on one side only, values, objects that it
    can't compare."""
    return [line for line in lines if re.match(r"^\s+x\s+/\S", line) and line.count(" x ") < 2 and not re.match(r"^\s+x\s+x\s", line)
            or re.search(r"^(?!0 )\d+ differences|[Nn]ot comparable: (?!.*is an empty dataset)|cannot be read|<.*> and <.*>.*differ", line)]


class Run:
    def __init__(self, args):
        self.args = args
        self.fixtures = os.environ["BKT_FIXTURES"]
        self.manifest = json.load(open(os.path.join(self.fixtures, "manifest.json"), encoding="utf-8"))
        self.base = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BUCKET_", "HS_"))}
        self.ours = dict(self.base, HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_STATS="1", LC_ALL="C.UTF-8")
        if os.environ.get("BKT_PRELOAD"):  # the runtime of a sanitizer that the plugin was built with
            self.ours["LD_PRELOAD"] = os.environ["BKT_PRELOAD"]
        self.differences = Differences(os.path.join(HERE, "differences.txt"), args.store)

    def url(self, domain):
        if self.args.store == "s3":
            return "hsds+s3://" + self.manifest["bucket"] + domain  # names with s3: go to ROS3 in HDF5 2.x's tools
        return os.path.join(self.fixtures, self.manifest["bucket"]) + domain

    def native(self, entry):
        return os.path.join(self.fixtures, entry["native"])

    def tool(self, program, arguments, env, cwd=None):
        try:
            done = subprocess.run([os.path.join(self.args.bin, program), *arguments], env=env, cwd=cwd,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        except subprocess.TimeoutExpired:
            return 124, b"", b"timed out"
        return done.returncode, done.stdout, done.stderr

    def version(self):
        """1 or 2, of HDF5's tools"""
        _, out, _ = self.tool("h5diff", ["--version"], self.base)
        return int(re.search(rb"Version (\d+)\.", out).group(1))

    def served(self, stderr):
        """The connector's own count of GETs; 0 when it was not asked."""
        return sum(int(n) for n in STATS.findall(stderr))

    def compare(self, entry, command, program, options):
        """One command on both; returns the differences, as lines."""
        domain, url, twin = entry["domain"], self.url(entry["domain"]), self.native(entry)
        env = dict(self.ours, HDF5_VOL_CONNECTOR="bucket")
        want_rc, want, want_err = self.tool(program, [*options, twin], self.base)
        got_rc, got, got_err = self.tool(program, [*options, url], env)
        if want_rc < 0 and got_rc >= 0:
            print(f"not compared: {program} {' '.join(options)} {twin} is ended by signal {-want_rc}")
            return []
        lines = []
        if not self.served(got_err):
            lines.append("!the connector did not serve this call: " + got_err.decode(errors="replace")[-300:])
        if want_rc != got_rc and not self.differences.excused(domain[len("/home/test_user1/fx/"):], command, f"!{got_rc}"):
            lines.append(f"!exit code {got_rc}, on the twin {want_rc}: "
                         + got_err.decode(errors="replace")[-1500:].replace("\n", " / "))
        # h5ls and h5dump print the last part of a name in some places
        twin_names = {twin, os.path.basename(twin)}
        url_names = {url, os.path.basename(url)}
        a, b = self.differences.lines(command, want, twin_names), self.differences.lines(command, got, url_names)
        short = domain[len("/home/test_user1/fx/"):]
        for line in differing(a, b):
            if not self.differences.excused(short, command, line):
                lines.append(line)
        return lines

    def diff(self, entry):
        """h5diff finds nothing.  The domain is reached by HDF5_PLUGIN_PATH alone, as the twin stays native.
        HDF5 2.x treats a file found so as its own: there h5diff gets the connectors' names."""
        url, twin = self.url(entry["domain"]), self.native(entry)
        options = ["-v1"]
        if self.version() >= 2:
            options += ["--vol-name-1=bucket", "--vol-name-2=native"]
        rc, out, err = self.tool("h5diff", [*options, url, twin], self.ours)
        lines = []
        if not self.served(err):
            lines.append("!the connector did not serve h5diff: " + err.decode(errors="replace")[-300:])
        if rc:
            text = self.differences.lines("diff", out, {url, twin})
            short = entry["domain"][len("/home/test_user1/fx/"):]
            kept = [line for line in text if line.strip() and not self.differences.excused(short, "diff", "+" + line)]
            if kept:
                lines += [f"!h5diff gave {rc}", *kept[:40], err.decode(errors="replace")[-1000:]]
        return lines

    def stat(self, entry):
        rc, out, err = self.tool("h5stat", [self.url(entry["domain"])], dict(self.ours, HDF5_VOL_CONNECTOR="bucket"))
        lines = []
        if not self.served(err):
            lines.append("!the connector did not serve h5stat")
        if rc or b"# of unique groups" not in out:
            lines.append(f"!h5stat gave {rc}: " + err.decode(errors="replace")[-600:])
        return lines

    def copied(self, entry, program, arguments):
        """A tool that reads the domain and writes a native file; the copy has the same content as the twin.

        HDF5 copies within one connector only, so both names go to ours, which passes `native:` names on."""
        with tempfile.TemporaryDirectory(prefix="bkt-copy.") as folder:
            copy, url = os.path.join(folder, "copy.h5"), self.url(entry["domain"])
            rc, out, err = self.tool(program, [arg.replace("DOMAIN", url).replace("COPY", "native:" + copy) for arg in arguments],
                                     dict(self.ours, HDF5_VOL_CONNECTOR="bucket"))
            short = entry["domain"][len("/home/test_user1/fx/"):]
            if (rc or not self.served(err)) and not self.differences.excused(short, program, f"!{rc}"):
                return [f"!{program} gave {rc}, {self.served(err)} GETs: " + (out + err).decode(errors="replace")[-900:]]
            if rc:
                return []
            objects = ["/", "/all"] if program == "h5copy" else []
            rc, out, err = self.tool("h5diff", ["-v1", self.native(entry), copy, *objects], self.base)
            text = self.differences.lines(program, out, {copy, self.native(entry)})
            kept = [line for line in significant(text) if not self.differences.excused(short, program, "+" + line)]
            return [f"!h5diff of the copy gave {rc}", *kept[:60], err.decode(errors="replace")[-600:]] if rc and kept else []

    def control(self, entry):
        """Without the plugin the same command must fail: so the passed commands above used the connector."""
        env = dict(self.ours, HDF5_PLUGIN_PATH="/nonexistent", HDF5_VOL_CONNECTOR="bucket")
        rc, _, err = self.tool("h5dump", ["-H", self.url(entry["domain"])], env)
        return ["!h5dump works without the plugin"] if rc == 0 or self.served(err) else []

    def jobs(self):
        self.taken = 0
        for entry in self.manifest["domains"]:
            if not fnmatch.fnmatch(entry["domain"], "*" + self.args.only):
                continue
            if not sample.takes(entry["domain"], 12 if self.args.store == "s3" else 3):
                continue
            self.taken += 1
            sparse = entry.get("do_not_dump")
            if self.args.group in ("all", "tools"):
                for command, program, options in COMMANDS:
                    short = entry["domain"][len("/home/test_user1/fx/"):]
                    if (not sparse or command in SPARSE) and not self.differences.skipped(short, command):
                        yield entry, command, lambda e=entry, c=command, p=program, o=options: self.compare(e, c, p, o)
                yield entry, "control", lambda e=entry: self.control(e)
            if self.args.group in ("all", "copies"):
                yield entry, "stat", lambda e=entry: self.stat(e)
                if not sparse:
                    yield entry, "diff", lambda e=entry: self.diff(e)
                    yield entry, "h5repack", lambda e=entry: self.copied(e, "h5repack", ["DOMAIN", "COPY"])
                    yield entry, "h5copy", lambda e=entry: self.copied(e, "h5copy", ["-i", "DOMAIN", "-o", "COPY", "-s", "/", "-d", "/all"])

    def main(self):
        failed = total = 0
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
            futures = [(entry, command, pool.submit(job)) for entry, command, job in self.jobs()]
            for entry, command, future in futures:
                total += 1
                lines = future.result()
                if not lines:
                    continue
                failed += 1
                print(f"FAIL {entry['domain']} {command}: {len(lines)} lines")
                for line in lines if self.args.show else lines[:12]:
                    print("    " + line.encode("utf-8", "backslashreplace").decode())
        if total == 0:
            raise SystemExit("nothing was compared")
        print(f"{total - failed} of {total} comparisons agree ({self.args.store}), on {self.taken} of {len(self.manifest['domains'])} domains{sample.note()}")
        stale = []
        if self.args.only == "" and not sample.sampled():
            stale = self.differences.stale(self.args.group)
            for where in stale:
                print(f"STALE {where}: nothing needed it")
        return 1 if failed or stale else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="folder of h5dump, h5ls, h5diff, h5stat, h5repack")
    parser.add_argument("--plugin", required=True, help="folder of the plugin")
    parser.add_argument("--store", choices=("dir", "s3"), required=True)
    parser.add_argument("--group", choices=("all", "tools", "copies"), default="all",
                        help="tools: h5dump and h5ls; copies: h5diff, h5stat, h5copy, h5repack")
    parser.add_argument("--only", default="", help="only domains that end so (a shell pattern)")
    parser.add_argument("--show", action="store_true", help="all lines of each difference")
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(Run(parser.parse_args()).main())


if __name__ == "__main__":
    main()
