"""One HDF5 file of samples in the formats 00 and 01, as a writer makes it: datasets, filters, attributes, checksums."""
import math, os

import h5py, numpy, xxhash
import tables  # it registers blosc with the HDF5 that h5py uses

BLOSC = {"blosclz": 0, "lz4": 1, "lz4hc": 2, "zlib": 4, "zstd": 5}
SHUFFLES = {None: 0, "none": 0, "byte": 1, "bit": 2}
NONE = {"complib": "none", "complevel": None, "shuffle": None}


def next_prime(n):
    while any(n % d == 0 for d in range(2, math.isqrt(n) + 1)):
        n += 1
    return n


def default_options(nbytes):
    return {"complib": "blosc:lz4hc", "complevel": 5, "shuffle": "byte"} if nbytes > 16 else \
        {"complib": "lzf", "complevel": None, "shuffle": "byte"}


def filter_arguments(options):
    """A writer's options as arguments of create_dataset()."""
    lib, level, shuffle = options["complib"], options["complevel"], options["shuffle"]
    if lib == "none":
        return {}
    if lib.startswith("blosc:"):
        return {"compression": 32001, "shuffle": False,
                "compression_opts": (0, 0, 0, 0, level, SHUFFLES[shuffle], BLOSC[lib.split(":")[1]])}
    out = {"compression": lib, "shuffle": shuffle in (True, "byte")}
    return {**out, "compression_opts": level} if lib == "gzip" else out


def chunk_of_00(itemsize, size, limit=255000):
    return 1, min(limit // itemsize, size)


def chunk_of_01(itemsize, shape, rows=10000):
    """The chunk and the padded shape of a sample."""
    if math.prod(shape) * itemsize < 1 << 20:
        return tuple(shape), tuple(shape)
    megabytes = min(max(rows * itemsize * math.prod(shape[1:]) >> 20, 1), 10**7)
    magnitude = len(str(megabytes)) - 1
    n = 24 * 8192 * int(2**magnitude) // itemsize
    chunk = [1, *shape[1:]]
    if math.prod(chunk) <= n:
        chunk[0] = n // math.prod(chunk)
    else:
        for i in range(len(chunk)):
            chunk[i] = 1
            if math.prod(chunk) <= n:
                chunk[i] = n // math.prod(chunk)
                break
        else:
            chunk[-1] = n
    chunk = [min(c, d) for c, d in zip(chunk, shape)]
    return tuple(chunk), tuple(-(-d // c) * c for c, d in zip(chunk, shape))


class File:
    """A writer's file.  Its datasets exist from the beginning, and nothing is stored for rows that are never written."""

    def __init__(self, path, code, dtype, shape, options=None, at=(0, 0), version="0.5.2", stored=None, fletcher32=False):
        self.code, self.dtype, self.shape = code, numpy.dtype(dtype), tuple(shape)
        self.rows, self.count = (250, 100) if code == "00" else (100, 100)
        self.flat = code == "00" and not version.startswith("0.2")
        self.dset, self.row = at
        size, itemsize = math.prod(self.shape), self.dtype.itemsize
        options = options or default_options(size * itemsize)
        if self.flat:
            chunk, inner = chunk_of_00(itemsize, size), (size,)
        elif code == "00":  # a sample has its own dimensions
            chunk, inner = (1, *self.shape), self.shape
            assert size * itemsize <= 200000
        else:
            chunk, inner = chunk_of_01(itemsize, self.shape or (1,))
            chunk = (1, *chunk)
        cap = 100e6 if code == "00" else 250e6
        if code == "00":
            cache = int(min(max(size * itemsize * self.rows, 255000), cap))
            slots = next_prime(math.ceil(cache / (math.prod(chunk) * itemsize)) * 100)
        else:  # all chunks that a file can have
            cache = int(min(math.prod(inner) * itemsize * self.rows, cap))
            slots = next_prime(math.prod(inner) // math.prod(chunk) * self.rows * self.count * 100)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = h5py.File(path, "w", libver="latest")  # the cache of the attributes takes long to set up for each dataset
        arguments = filter_arguments(options)
        attrs = self.file.attrs
        attrs["HANGAR_VERSION"] = version
        attrs["schema_shape"] = self.shape if self.shape else numpy.zeros(0, "i8")
        attrs["schema_dtype_num"] = self.dtype.num
        attrs["next_location"] = at
        attrs["collection_max_size"] = self.rows
        attrs["collection_total"] = self.count
        attrs["collections_remaining"] = self.count - self.dset
        attrs["rdcc_nbytes"] = cache
        attrs["rdcc_w0"] = 0.75
        attrs["rdcc_nslots"] = slots
        attrs["chunk_shape"] = chunk[1:]
        attrs["compression_opts"] = arguments.get("compression_opts", False)
        for n in range(self.count):
            whole = (self.rows, *inner)
            self.file.create_dataset(str(n), whole, stored or self.dtype, maxshape=whole, chunks=chunk, fillvalue=0,
                                     fletcher32=fletcher32, **arguments)
        self.file.swmr_mode = True

    def full(self):
        return int(self.file.attrs["collections_remaining"]) <= 1

    def write(self, value):
        """Write a sample; returns its checksum, dataset and row."""
        value = numpy.asarray(value, self.dtype)
        dset, row = self.dset, self.row
        to = self.file[str(dset)]
        if self.flat:
            if value.size:
                to[row, :value.size] = value.ravel()
        elif not value.shape:
            to[row] = value
        elif value.size:
            to[(row, *(slice(0, d) for d in value.shape))] = value
        self.row += 1
        if self.row == self.rows:
            self.dset, self.row = dset + 1, 0
            self.file.attrs.modify("collections_remaining", int(self.file.attrs["collections_remaining"]) - 1)
            self.note_place()
        return xxhash.xxh64_hexdigest(numpy.ascontiguousarray(value).tobytes()), dset, row

    def note_place(self):
        self.file.attrs.modify("next_location", (self.dset, self.row))

    def flush(self):
        self.note_place()
        self.file.flush()

    def chunk_at(self, dset, row):
        """Place and length in the file of the first stored chunk of a row."""
        self.flush()
        d = self.file[str(dset)].id
        for i in range(d.get_num_chunks()):
            info = d.get_chunk_info(i)
            if info.chunk_offset[0] == row:
                return info.byte_offset, info.size
        raise KeyError(row)

    def close(self):
        if self.file:
            self.note_place()
            self.file.close()
