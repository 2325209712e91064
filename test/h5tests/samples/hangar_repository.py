"""A repository of samples: files below data/, and names, commits and records in LMDB files below .hangar/.

Beside them are `records.tsv`, a line for each sample (branch, column, sample, state, type, shape, record, offset, size), and
`values.bin` with the samples' bytes.  The state is ok, damaged, unreadable, missing or foreign (no array in an HDF5 file)."""
import hashlib, json, os, random

import blosc, lmdb, numpy

from hangar_file import File, default_options


def blake(data):
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def record_text(version, code, uid, digest, dset, row, shape):
    shape = " ".join(map(str, shape))
    if version.startswith("0.2"):
        return f"{code}:{uid}${dset} {row}*{shape}"
    if version.startswith("0.4"):
        return f"{code}:{uid}${digest}${dset} {row}*{shape}"
    return f"{code}:{uid}:{digest}:{dset}:{row}:{shape}"


class Column:
    def __init__(self, repository, name, dtype, shape, code="00", variable=False, nested=False, options=None, **more):
        self.repository, self.name, self.dtype, self.shape, self.code = repository, name, numpy.dtype(dtype), tuple(shape), code
        self.nested, self.options, self.more, self.file, self.uid = nested, options, more, None, None
        schema = {"column_layout": "nested" if nested else "flat", "column_type": "ndarray",
                  "schema_type": "variable_shape" if variable else "fixed_shape", "shape": self.shape, "dtype": self.dtype.name,
                  "backend": code, "backend_options": options or default_options(self.dtype.itemsize * max(1, numpy.prod(shape))),
                  "data_hasher_tcode": "0", "schema_hasher_tcode": "1"}
        repository.add_schema(name, nested, schema)

    def new_file(self):
        """Samples go to a new file from now on, as in each session of a writer."""
        if self.file:
            self.file.close()
        self.uid = self.repository.new_uid()
        self.file = File(self.repository.path_of(self.code, self.uid), self.code, self.dtype, self.shape, self.options,
                         version=self.repository.version, **self.more)
        self.repository.mark(self.code, self.uid)
        self.repository.files.append(self.file)

    def add(self, value, sample=None, sub=None, state="ok", record=None):
        """Append a sample, under a name unless `sample` is None; returns its record."""
        value = numpy.asarray(value, self.dtype)
        text = self.repository.record_of(value)
        if text:  # equal samples are stored once
            self.repository.note(self, sample, sub, value, text, state)
            return text
        if self.file is None or self.file.full():
            self.new_file()
        digest, dset, row = self.file.write(value)
        text = record_text(self.repository.version, self.code, self.uid, digest, dset, row, value.shape)
        self.repository.note(self, sample, sub, value, text, state)
        return text


class Repository:
    def __init__(self, out, name, version="0.5.2", named=True):
        self.version, self.named = version, named
        self.top = os.path.join(out, name)
        self.root = os.path.join(self.top, ".hangar") if named else self.top
        self.random = random.Random(name)
        self.files, self.names, self.hashes, self.commits, self.branches = [], {}, {}, {}, {}
        self.lines, self.head, self.parent = [], "master", ""
        os.makedirs(self.root, exist_ok=True)
        self.values = open(os.path.join(self.top, "values.bin"), "wb")

    def new_uid(self):
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=6 if self.version < "0.5" else 8))

    def path_of(self, code, uid):
        return os.path.join(self.root, "data", code, uid + ".hdf5")

    def mark(self, code, uid):
        """The file is committed: an empty file of its name; a link in older versions."""
        if not self.named:
            return
        mark = os.path.join(self.root, "store_data", code, uid + ".hdf5")
        os.makedirs(os.path.dirname(mark), exist_ok=True)
        if self.version < "0.5":
            os.symlink(os.path.join("..", "..", "data", code, uid + ".hdf5"), mark)
        else:
            open(mark, "w").close()

    def column(self, *args, **more):
        return Column(self, *args, **more)

    def add_schema(self, column, nested, schema):
        text = repr(schema).replace(" ", "")
        digest = "1=" + hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
        self.hashes["s:" + digest] = text
        self.names[f"s:{column}:{'n' if nested else 'f'}"] = digest

    def add_name(self, column, sample, sub, digest):
        written = [f"#{n}" if isinstance(n, int) else n for n in (sample, sub) if n is not None]
        self.names[f"{'f' if sub is None else 'n'}:{column}:" + ":".join(written)] = digest

    @staticmethod
    def digest_of(value):
        tail = numpy.array([*value.shape, value.dtype.num], "i4").tobytes()
        return "0=" + blake(numpy.ascontiguousarray(value).tobytes() + tail)

    def record_of(self, value):
        return self.hashes.get("h:" + self.digest_of(value)) if self.named else None

    def note(self, column, sample, sub, value, record, state):
        offset = self.values.tell()
        self.values.write(numpy.ascontiguousarray(value).tobytes())
        if sample is not None:
            digest = self.digest_of(value)
            self.hashes["h:" + digest] = record
            self.add_name(column.name, sample, sub, digest)
        name = "" if sample is None else str(sample) if sub is None else f"{sample}:{sub}"
        self.lines.append([self.head, column.name, name, state, value.dtype.name, " ".join(map(str, value.shape)), record, offset,
                           value.nbytes])

    def foreign(self, column, sample, kind, record):
        """A sample that no HDF5 file holds: 0 an array, 2 a str, 3 bytes."""
        digest = f"{kind}=" + blake(record.encode())
        self.hashes["h:" + digest] = record
        self.add_name(column, sample, None, digest)
        self.lines.append([self.head, column, str(sample), "foreign", "", "", record, 0, 0])

    def commit(self, message):
        pieces = [f"{k} {v}".encode() for k, v in sorted(self.names.items())]
        spec = json.dumps({"commit_time": 1600000000.5, "commit_message": message, "commit_user": "A B",
                           "commit_email": "a@b.c"}).encode()
        ref_digest = blake("".join(blake(p) for p in pieces).encode())
        digest = "a=" + blake("".join(sorted([blake(self.parent.encode()), blake(spec), ref_digest])).encode())
        packed = blosc.compress(b"$".join(pieces), typesize=1, clevel=8, shuffle=blosc.NOSHUFFLE, cname="zstd")
        self.commits[digest] = self.parent.encode()
        self.commits[digest + ":ref"] = packed
        self.commits[digest + ":spec"] = blosc.compress(spec, typesize=8, clevel=9, shuffle=blosc.SHUFFLE, cname="zlib")
        self.parent = self.branches[self.head] = digest

    def branch(self, name):
        """A new branch from the last commit; later samples belong to it."""
        self.branches.setdefault(self.head, "")
        self.head = name
        self.branches[name] = self.parent

    def damage(self, record, how):
        """After close(): flip | truncate | remove the file of that record."""
        code, uid = record.split(":")[0], record.split(":")[1]
        path = self.path_of(code, uid)
        if how == "remove":
            os.remove(path)
        elif how == "truncate":
            os.truncate(path, os.path.getsize(path) // 2)

    @staticmethod
    def flip(path, place, length):
        with open(path, "r+b") as f:
            f.seek(place + length // 2)
            byte = f.read(1)[0]
            f.seek(place + length // 2)
            f.write(bytes([byte ^ 0x10]))

    def close(self):
        for f in self.files:
            f.close()
        self.values.close()
        with open(os.path.join(self.top, "records.tsv"), "w") as f:
            for line in self.lines:
                f.write("\t".join(map(str, line)) + "\n")
        if not self.named:
            return
        self.branches.setdefault(self.head, "")
        heads = {"branch:" + k: v for k, v in self.branches.items()}
        self.write_lmdb("branch.lmdb", {"head": "branch:" + self.head, **heads})
        self.write_lmdb("ref.lmdb", self.commits)
        self.write_lmdb("hash.lmdb", self.hashes)
        self.write_lmdb("stage_ref.lmdb", {})
        self.write_lmdb("stage_hash.lmdb", {})

    def write_lmdb(self, name, items):
        """In several transactions, and with removed keys: pages have been used again."""
        path = os.path.join(self.root, name)
        with lmdb.open(path, map_size=50_000_000_000, subdir=False, lock=False, max_dbs=10, sync=False) as env:
            entries = [(k.encode(), v if isinstance(v, bytes) else v.encode()) for k, v in items.items()]
            for i in range(0, len(entries), 500):
                with env.begin(write=True) as txn:
                    for k, v in entries[i:i + 500]:
                        txn.put(k, v)
                        txn.put(b"zz" + k[:400], b"gone")
            with env.begin(write=True) as txn:
                for k, _ in entries:
                    txn.delete(b"zz" + k[:400])
