#!/usr/bin/env python3
"""h5py_walk.py NAME [DRIVER]: print all that h5py reads of a file: links, objects, attributes, properties and values.

DRIVER is one of h5py's: family, split, ros3.  Values are printed as sums, and those of huge datasets at some places.
An object that h5py refuses is printed with the reason.  Needs h5py 3.13 (config/libraries/h5py.sh).
"""
import hashlib
import itertools
import sys

import h5py
import numpy

WHOLE = 16 << 20  # bytes of values that are read at once
DRIVERS = {"family": {"memb_size": 0}, "split": {"meta_ext": b"-m.h5", "raw_ext": b"-r.h5"}, "ros3": {}}


class Walk:
    def __init__(self, file):
        self.file = file

    def show(self, what, get):
        """One line: what it is, and the value of the call or why it failed."""
        try:
            value = get()
        except Exception as error:  # h5py passes HDF5's refusals in many classes
            value = f"{type(error).__name__}: {error}"
        print(f"{what}: {value}")

    def reference(self, ref):
        if not ref:
            return "null"
        if isinstance(ref, h5py.RegionReference):
            space = h5py.h5r.get_region(ref, self.file.id)
            return f"{h5py.h5r.get_name(ref, self.file.id)} {space.shape} {space.get_select_npoints()} {space.get_select_bounds()}"
        return f"{h5py.h5r.get_obj_type(ref, self.file.id)} {h5py.h5r.get_name(ref, self.file.id)}"

    def plain(self, value):
        """Nested lists of texts, of what isn't an array of numbers."""
        if isinstance(value, (h5py.Reference, h5py.RegionReference)):
            return self.reference(value)
        if isinstance(value, (numpy.ndarray, numpy.void)) and value.dtype.names is not None:
            return [self.plain(value[name]) for name in value.dtype.names]
        if isinstance(value, numpy.ndarray):
            return [self.plain(v) for v in value.flat] if value.dtype.hasobject else (str(value.dtype), value.shape, value.tobytes())
        return repr(value)

    def value(self, value):
        if isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
            data = value.tobytes()
        else:
            data = repr(self.plain(value)).encode("utf-8", "surrogateescape")
        head = " ".join(str(value).split())[:60] if not getattr(getattr(value, "dtype", None), "hasobject", True) else ""
        return f"{getattr(value, 'dtype', type(value).__name__)} {getattr(value, 'shape', '')} {hashlib.sha256(data).hexdigest()[:16]} {head}"

    def attributes(self, path, obj):
        try:
            names = list(obj.attrs)
        except Exception as error:
            return print(f"{path} attributes: {type(error).__name__}: {error}")
        for name in names:
            self.show(f"{path}@{name}", lambda: self.value(obj.attrs[name]))
            self.show(f"{path}@{name} type", lambda: self.type_of(obj.attrs.get_id(name)))

    def type_of(self, it):
        return f"{it.get_type().get_class()} {it.get_type().get_size()} {it.dtype} {it.shape} {it.get_space().get_simple_extent_type()}"

    def properties(self, path, ds):
        for what in ("shape", "maxshape", "dtype", "chunks", "fillvalue", "external", "is_virtual", "scaleoffset", "fletcher32"):
            self.show(f"{path} {what}", lambda: getattr(ds, what))
        plist = ds.id.get_create_plist()
        self.show(f"{path} layout", plist.get_layout)
        self.show(f"{path} filters", lambda: [plist.get_filter(i) for i in range(plist.get_nfilters())])
        self.show(f"{path} storage", ds.id.get_storage_size)
        self.show(f"{path} status", ds.id.get_space_status)
        self.show(f"{path} offset", ds.id.get_offset)
        if ds.is_virtual:
            self.show(f"{path} sources", lambda: [(s.file_name, s.dset_name, s.vspace.get_select_npoints(), s.src_space.get_select_npoints())
                                                 for s in ds.virtual_sources()])
        if ds.chunks:
            self.show(f"{path} number of chunks", ds.id.get_num_chunks)
            if ds.size and ds.size < 1 << 32:
                for i in (0, -1):
                    self.show(f"{path} chunk {i}", lambda: ds.id.get_chunk_info(i if i >= 0 else ds.id.get_num_chunks() - 1))
                self.show(f"{path} first chunk", lambda: self.raw_chunk(ds))

    def raw_chunk(self, ds):
        mask, data = ds.id.read_direct_chunk((0,) * ds.ndim)
        return f"{mask} {len(data)} {hashlib.sha256(data).hexdigest()[:16]}"

    def values(self, path, ds):
        """Whole, or at the corners; then every other element, and single ones."""
        if ds.shape is None or ds.size == 0:
            return self.show(f"{path} values", lambda: self.plain(ds[()]))
        size = max(ds.id.get_type().get_size(), ds.dtype.itemsize)
        if ds.size * size <= WHOLE:
            self.show(f"{path} values", lambda: self.value(ds[()]))
            if ds.ndim and ds.size > 1:
                self.show(f"{path} strided", lambda: self.value(ds[tuple(slice(n % 2, None, 2) for n in ds.shape)]))
                self.show(f"{path} listed", lambda: self.value(ds[sorted({0, ds.shape[0] // 3, ds.shape[0] - 1})]))
        elif ds.ndim:
            for place in itertools.product(*[(0, n // 2, n - 1) for n in ds.shape[:4]]):
                at = place + (0,) * (ds.ndim - len(place))
                self.show(f"{path} at {at}", lambda: self.value(ds[tuple(slice(i, i + 2) for i in at)]))
        return None

    def object(self, path, obj):
        print(f"{path}: {type(obj).__name__}")
        self.attributes(path, obj)
        if isinstance(obj, h5py.Dataset):
            self.properties(path, obj)
            self.values(path, obj)
        elif isinstance(obj, h5py.Datatype):
            self.show(f"{path} type", lambda: (obj.id.get_class(), obj.id.get_size(), obj.id.committed(), obj.dtype))
        else:
            self.group(path, obj)

    def group(self, path, group):
        self.show(f"{path} members", lambda: len(group))
        self.show(f"{path} order", lambda: group.id.get_create_plist().get_link_creation_order())

    def links(self, path, group, seen, depth=0):
        """All objects, each once, by the links that lead to them."""
        try:
            names = list(group)
        except Exception as error:
            return print(f"{path} links: {type(error).__name__}: {error}")
        for name in names:
            self.link(f"{path.rstrip('/')}/{name}", group, name, seen, depth)
        return None

    def link(self, path, group, name, seen, depth):
        try:
            link = group.get(name, getlink=True)
            print(f"{path}: {type(link).__name__} {getattr(link, 'filename', '')} {getattr(link, 'path', '')}")
            obj = group[name]
        except Exception as error:
            return print(f"{path}: {type(error).__name__}: {error}")
        if isinstance(link, h5py.SoftLink):
            return print(f"{path}: leads to {type(obj).__name__} {obj.name}")
        if isinstance(link, h5py.HardLink):
            info = h5py.h5o.get_info(obj.id)
            print(f"{path}: object {info.addr} of {info.rc} links")
            if info.addr in seen:
                return None
            seen.add(info.addr)
        self.object(path, obj)
        if isinstance(obj, h5py.Group) and isinstance(link, h5py.HardLink) and depth < 200:
            self.links(path, obj, seen, depth + 1)
        return None

    def all(self):
        f = self.file
        for what in ("userblock_size", "libver", "mode", "swmr_mode"):
            self.show(what, lambda: getattr(f, what))
        self.show("size", f.id.get_filesize)
        self.show("free space", f.id.get_freespace)
        self.show("visited", lambda: (names := [], f.visit(names.append), names)[0])
        self.object("/", f)
        self.links("/", f, {h5py.h5o.get_info(f["/"].id).addr})


def main():
    sys.stdout.reconfigure(errors="surrogateescape")
    name, driver = sys.argv[1], (sys.argv + [None])[2]
    try:
        file = h5py.File(name, "r", driver=driver, **DRIVERS.get(driver, {}))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    with file:
        Walk(file).all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
