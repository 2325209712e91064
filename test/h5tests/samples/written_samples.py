#!/usr/bin/env python3
"""Samples that the library appends, as others see them.

written_samples.py --writer sample_writer --plugin DIR --bin DIR --store dir|s3 PART

PART: options   every filter, type and shape, in both formats: the domain and the plain file read as they were written, have the same
                form, and h5py compares the plain file (compare_plain.py)
      full      more samples than a collection and than a file holds
      many      several writers at once in one new repository
      killed    a writer is killed in the middle, again and again: what was flushed is there
      refused   schemas and samples that can't be
Store s3: $AWS_ENDPOINT_URL, domains only."""
import argparse, json, os, random, re, shutil, signal, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "helpers"))
import sample  # noqa: E402

parser = argparse.ArgumentParser()
for name in "writer", "plugin", "bin", "store", "shim":
    parser.add_argument("--" + name)
parser.add_argument("part")
args = parser.parse_args()

FORMS = ["", "backend=file"] if args.store == "dir" else [""]
base = dict(os.environ, HDF5_PLUGIN_PATH=args.plugin, H5BUCKET_FSYNC="no")
problems = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # for the removal of the folder


def bad(text):
    problems.append(text)
    print(text, flush=True)


def env(**more):
    e = dict(base, **more)
    if os.environ.get("BKT_PRELOAD"):
        e["LD_PRELOAD"] = " ".join([os.environ["BKT_PRELOAD"], *([more["LD_PRELOAD"]] if "LD_PRELOAD" in more else [])])
    return e


def call(*words, stdin=None, **more):
    return subprocess.run([args.writer, *words], env=env(**more), input=stdin, capture_output=True, text=True, timeout=1800)


def flushed(text):
    """The records before the last line "flushed"."""
    done = text.rpartition("flushed\n")[0]
    return [line for line in done.split("\n") if line and line != "flushed"]


def write(repository, info, count, each, options):
    p = call("write", repository, info, str(count), str(each), *options)
    if p.returncode or len(flushed(p.stdout)) != count:
        bad("%s %s %s: %s" % (repository, info, options, p.stderr[-2000:]))
    return flushed(p.stdout)


def read(repository, info, records, options):
    p = call("read", repository, info, *options, stdin="".join(r + "\n" for r in records))
    if p.returncode or p.stdout.split()[-2:] != [str(len(records)), "samples"]:
        bad("%s '%s' %s, reading: %s%s" % (repository, info, options, p.stdout[-200:], p.stderr[-2000:]))
    return p.stdout


def compare(cases):
    """By a Python that has h5py."""
    for python in dict.fromkeys([sys.executable, "/usr/bin/python3"]):
        p = subprocess.run([python, "-B", os.path.join(HERE, "compare_plain.py")], input=json.dumps(cases), capture_output=True, text=True,
                           timeout=1800, env={k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "LD_PRELOAD"))})
        if p.returncode != 77:
            break
    print("h5py: " + p.stdout.strip()[-2000:])
    if p.returncode not in (0, 77):
        bad("h5py: %s" % p.stderr[-3000:])


def case_of(repository, records, options):
    return {"repository": repository, "options": options, "records": [[int(r.split(" ", 1)[0]), r.split(" ", 1)[1]] for r in records]}


class Place:
    def __enter__(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="bkt-samples-") if args.store == "dir" else None
        self.root = self.tmp.name if self.tmp else "s3://hsopen/home/test_user1/written-%s-%d" % (args.part, os.getpid())
        return self.root

    def __exit__(self, *_):
        if self.tmp:
            self.tmp.cleanup()


# ---- options ----

def filters():
    for lib in "blosclz", "lz4", "lz4hc", "zlib", "zstd":
        for shuffle in "none", "byte", "bit":
            yield ["complib=blosc:" + lib, "level=%d" % {"none": 9, "byte": 5, "bit": 1}[shuffle], "shuffle=" + shuffle]
    yield ["complib=blosc:lz4", "level=0", "shuffle=byte"]
    for shuffle in "none", "byte":
        yield ["complib=lzf", "shuffle=" + shuffle]
        for level in 0, 4, 9:
            yield ["complib=gzip", "level=%d" % level, "shuffle=" + shuffle]
    yield ["complib=none"]


def option_cases():
    for backend in "backend=0", "backend=1":
        for f in filters():
            yield [backend, "type=f4", "shape=3,40", *f]
        for t in "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "b1", "c8", ">i4":
            yield [backend, "type=" + t, "shape=5,6"]
            yield [backend, "type=" + t, "shape=4,3", "variable", "complib=gzip", "level=3"]
        for shape in "", "1", "0", "3,0", "2,3,4,5,6":
            yield [backend, "type=i2", "shape=" + shape]
        yield [backend, "type=f8", "shape=7,5,3", "variable"]
        yield [backend, "type=f8", "shape=700,600", "variable", "complib=blosc:lz4", "level=1"]  # several chunks, padded
        yield [backend, "type=u1", "shape=255001", "complib=none"]


def dump(name):
    """The form of a file: all but the values of datasets, and what only plain files have."""
    e = env(HDF5_VOL_CONNECTOR="bucket")
    p = subprocess.run([os.path.join(args.bin, "h5dump"), "-A", "-p", name], capture_output=True, text=True, timeout=600, env=e)
    text = re.sub(r"^HDF5 .*", "", p.stdout)
    text = re.sub(r"(SIZE|OFFSET) \d+.*", "", text)
    text = re.sub(r"SUPER_BLOCK \{.*?\n\}\n|USER_BLOCK.*?\}", "", text, flags=re.S)
    # h5dump gets no filters of a domain that its HDF5 doesn't have: sample_writer prints them
    return p.returncode, re.sub(r"^      FILTERS \{.*?^      \}$", "", text, flags=re.S | re.M)


def file_of(repository, record):
    code, uid = record.split(" ", 1)[1].split(":")[:2]
    return "%s/data/%s/%s.hdf5" % (repository, code, uid)


def one_case(root, i, options):
    names, texts = [], []
    for info in FORMS:
        repository = "%s/%d%s" % (root, i, "p" if info else "d")
        records = write(repository, info, 4, 3, options)
        texts.append(read(repository, info, records, options))
        if records:
            names.append(file_of(repository, records[0]))
        if info and records:
            case = case_of(repository, records, options)
    if len(names) < len(FORMS) or args.store != "dir":
        return None
    if texts[0] != texts[1]:
        bad("%s: the domain and the file have other filters: %s" % (options, texts))
    (rc, domain), (rc2, plain) = dump(names[0]), dump(names[1])
    shutil.rmtree("%s/%dd" % (root, i))
    if rc or rc2 or domain != plain or "next_location" not in domain:
        different = [p for p in zip(domain.split("\n"), plain.split("\n")) if p[0] != p[1]][:3]
        bad("%s: h5dump shows other things of the domain and of the file: %d %d %s" % (options, rc, rc2, different))
    return case


def options_part(root):
    cases = [c for c in option_cases() if sample.takes(" ".join(c), 12)]
    if args.store != "dir":
        cases = cases[::9]
    with ThreadPoolExecutor(2) as pool:
        written = [c for c in pool.map(lambda c: one_case(root, *c), enumerate(cases)) if c]
    print("%d cases%s" % (len(cases), sample.note()), flush=True)
    if written:
        compare(written)


# ---- more than a file holds ----

def full_part(root):
    for backend, rows, info in [(0, 250, "backend=file"), (1, 100, "backend=file"), (1, 100, "")]:
        options = ["backend=%d" % backend, "type=u1", "shape=", "complib=none"]
        per_file, more = rows * 99, 3
        repository = "%s/full%d%s" % (root, backend, info)
        records = write(repository, info, per_file + more, 5000, options)
        places = [(r.split(":")[1], int(r.split(":")[3]), int(r.split(":")[4])) for r in records]
        want = [(places[0 if i < per_file else -1][0], i % per_file // rows, i % rows) for i in range(per_file + more)]
        if places != want or len({p[0] for p in places}) != 2:
            bad("backend %d: places %s..." % (backend, [p for p in zip(places, want) if p[0] != p[1]][:3]))
        some = records[:: 97 if info else 997] + records[rows - 1:rows + 1] + records[per_file - 1:]
        read(repository, info, some, options)
        _, form = dump(file_of(repository, records[0]))
        if not re.search(r'"next_location".*?\(0\): 99, 0\n.*?', form, re.S) or not re.search(r'"collections_remaining".*?\(0\): 1\n', form, re.S):
            bad("backend %d %s: the attributes of a full file: %s" % (backend, info, form[:3000]))


# ---- several writers ----

def many_part(root):
    n, each = 6, 120
    options = ["type=f4", "shape=9,11"]
    for info in FORMS:
        repository = "%s/many%s" % (root, info)
        writers = [subprocess.Popen([args.writer, "write", repository, info, str(each), "25", *options, "from=%d" % (1000 * i)], env=env(),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(n)]
        records = []
        for w in writers:
            out, err = w.communicate(timeout=900)
            records += flushed(out)
            if w.returncode:
                bad("a writer of %d: %s" % (n, err[-2000:]))
        if len(set(records)) != n * each or len({r.split(":")[1] for r in records}) != n:
            bad("%d records in %d files" % (len(records), len({r.split(":")[1] for r in records})))
        read(repository, info, records, options)
        if info:
            compare([case_of(repository, [r for r in records if r.split(":")[1] == uid], options)
                     for uid in sorted({r.split(":")[1] for r in records})[:1]])


# ---- killed ----

def kill_once(repository, info, options, after):
    """Killed this long after its first flush; returns its records.  It is stopped first, so that it is killed between two
    calls of the system: in the middle of one, a block of HDF5's can be half written."""
    with tempfile.TemporaryFile("w+") as out:
        w = subprocess.Popen([args.writer, "write", repository, info, "0", "3", *options], env=env(), stdout=out, stderr=subprocess.PIPE)
        begun = time.monotonic()
        while not os.fstat(out.fileno()).st_size and w.poll() is None and time.monotonic() < begun + 300:
            time.sleep(0.002)
        time.sleep(after)
        w.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, w.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        w.kill()
        err = w.communicate()[1]
        out.seek(0)
        records = flushed(out.read())
        if w.returncode != -signal.SIGKILL or not records:
            bad("%s: the writer ended by itself, or flushed nothing: %s" % (repository, err[-2000:]))
        return records


def at_each_change(root, info, options, shim, least, step):
    """A writer of six samples is killed before and after its changes of the folder, or of the file: at each of them from the
    first flush on, and at some before."""
    for what in "before", "after":
        n, most = 1, 0
        while True:
            repository, hit = "%s/%s%s%d" % (root, what, info, n), "%s/hit-%s%s-%d" % (root, what, info, n)
            p = call("write", repository, info, "6", "2", *options, LD_PRELOAD=shim, BKT_TEST_PUT=str(n), BKT_TEST_DO=what, BKT_TEST_HIT=hit)
            records = flushed(p.stdout)
            most = max(most, len(records))
            if records:
                read(repository, info, records, options)
            if not os.path.exists(hit):
                break
            if p.returncode != -signal.SIGKILL:
                bad("%s change %d: exit code %d %s" % (what, n, p.returncode, p.stderr[-1000:]))
            n += step if n + step <= least else 1
        print("'%s': killed %s changes 1 to %d%s" % (info, what, n - 1, sample.note()), flush=True)
        if n < least or most != 6:
            bad("'%s': only %d changes, %d samples" % (info, n, most))


def killed_part(root):
    random.seed(7)
    options = ["type=f4", "shape=50,30", "complib=gzip", "level=1"]
    for info in FORMS:
        repository, cases, n = "%s/killed%s" % (root, info), [], 8 // sample.step(2)
        for _ in range(n):
            records = kill_once(repository, info, options, random.uniform(0.001, 0.4))
            read(repository, info, records, options)
            cases.append(case_of(repository, records, options))
        print("'%s': killed %d times, %s samples were flushed" % (info, n, [len(c["records"]) for c in cases]), flush=True)
        if info:
            for c in cases:
                c["killed"] = True
            compare(cases)
    if args.shim:
        options = ["type=u1", "shape=8", "complib=none"]
        put, write_call = args.shim.split(",")
        at_each_change(root, "", options, put, 104, 7 * sample.step(3))
        at_each_change(root, "backend=file", options, write_call, 20, sample.step(4))


# ---- refused ----

def refused_part(root):
    cases = [(["type=t"], "numpy has no type"), (["backend=2"], "backend 2"), (["complib=blosc:snappy"], "complib 'blosc:snappy'"),
             (["complib=gzip", "level=10"], "complevel 10"), (["complib=lzf", "shuffle=bit"], "shuffle 'bit'"),
             (["shape=1099511627776,1099511627776"], "too many elements")]
    for words, text in cases:
        p = call("write", root + "/refused", "", "1", "1", *(["shape=4"] + words))
        if p.returncode != 1 or text not in p.stderr:
            bad("%s: %d %s" % (words, p.returncode, p.stderr[-1500:]))
    p = call("write", "s3://nowhere/x", "backend=file", "1", "1", "shape=4")
    if p.returncode != 1 or "in folders only" not in p.stderr:
        bad("a plain file in S3: %d %s" % (p.returncode, p.stderr[-1500:]))
    if os.path.exists(root + "/refused"):
        bad("a refused writer made a folder")


with Place() as place:
    {"options": options_part, "full": full_part, "many": many_part, "killed": killed_part, "refused": refused_part}[args.part](place)
for p in problems[:50]:
    print("FAIL  " + p[:600])
sys.exit(bool(problems))
