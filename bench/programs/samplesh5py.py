"""samplesh5py.py read REPOSITORY RECORDS BATCH: samples of a local repository, read one by one by h5py.
samplesh5py.py list REPOSITORY FOLDER: for each column of records.tsv, its records in random order (samples_COLUMN.records), and
the ranges of their chunks in the same order, for plain libcurl (samples_COLUMN.list).

Prints the checksum that samplesread.c makes, and the seconds of the reads.  Each digest is compared, as Hangar does."""
import os
import random
import sys
import time

import h5py
import tables  # noqa: F401  it registers blosc with the HDF5 that h5py uses
import xxhash

MASK = (1 << 64) - 1


class Repository:
    def __init__(self, name):
        self.name, self.files = name, {}

    def file(self, code, uid):
        key = code + "/" + uid
        if key not in self.files:
            self.files[key] = h5py.File(os.path.join(self.name, "data", key + ".hdf5"), "r", swmr=True)
        return self.files[key]

    def read(self, record):
        code, uid, digest, dataset, row, shape = record.split(":")
        dims = [int(d) for d in shape.split()]
        n = 1
        for d in dims:
            n *= d
        value = self.file(code, uid)["/" + dataset][int(row), :n].reshape(dims)
        if xxhash.xxh64_hexdigest(value) != digest:
            raise ValueError(record)
        return value


def read(name, records, batch):
    repository, total = Repository(name), 0
    with open(records, encoding="ascii") as f:
        lines = f.read().splitlines()
    begin = time.monotonic()
    for at in range(0, len(lines), batch):
        values = [repository.read(record) for record in lines[at:at + batch]]
        for value in values:
            p = memoryview(value).cast("B")
            for i in range(min(16, len(p))):
                total = (total * 1099511628211 + p[i] * 256 + p[len(p) - 1 - i]) & MASK
    print(f"{total:016x} {time.monotonic() - begin:.6f}")


def chunks_of(dataset):
    """Offsets and lengths by row."""
    rows = {}
    for i in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(i)
        rows.setdefault(info.chunk_offset[0], []).append((info.byte_offset, info.size))
    return rows


def make_lists(name, folder):
    columns, repository, places = {}, Repository(name), {}
    with open(os.path.join(name, "records.tsv"), encoding="ascii") as f:
        for line in f:
            words = line.rstrip("\n").split("\t")
            columns.setdefault(words[1], []).append(words[6])
    for column, records in columns.items():
        random.Random(1).shuffle(records)
        with open(os.path.join(folder, f"samples_{column}.records"), "w", encoding="ascii") as f:
            f.writelines(r + "\n" for r in records)
        with open(os.path.join(folder, f"samples_{column}.list"), "w", encoding="ascii") as f:
            for record in records:
                code, uid, _, dataset, row, _ = record.split(":")
                key = (uid, dataset)
                if key not in places:
                    places[key] = chunks_of(repository.file(code, uid)["/" + dataset])
                f.writelines(f"{os.path.basename(name)}/data/{code}/{uid}.hdf5 {at} {size}\n" for at, size in places[key][int(row)])


if __name__ == "__main__":
    if sys.argv[1] == "list":
        make_lists(*sys.argv[2:])
    else:
        read(sys.argv[2], sys.argv[3], int(sys.argv[4]))
