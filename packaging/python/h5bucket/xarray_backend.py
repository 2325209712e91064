"""xarray's engine "h5bucket": domains and plain files in stores, by name.

Variables are lazy.  A dataset that is sent to another process (dask) carries the name, and each process opens the domain by itself.
h5netcdf gives the model of netCDF-4 on h5py's objects.
"""
import importlib
import os

import h5netcdf
from xarray.backends import BackendEntrypoint, CachingFileManager, H5NetCDFStore, StoreBackendEntrypoint
from xarray.backends.common import ArrayWriter
from xarray.backends.locks import HDF5_LOCK, combine_locks, get_write_lock

from . import open as _open

_SCHEMES = ("s3://", "hsds+s3://", "hdf5://")
_ENDINGS = (".h5", ".hdf5", ".he5", ".nc", ".nc4")


def open_file(name, mode="r", settings=None, **options):
    """The opener of CachingFileManager: workers find it by its name, so that they import this package."""
    settings = dict(settings or ())
    if mode == "a":  # h5netcdf has to know whether the domain was there
        try:
            file, mode = _open(name, "r+", settings=settings), "r+"
        except FileNotFoundError:
            file, mode = _open(name, "w-", settings=settings), "w"
    else:
        file = _open(name, mode, settings=settings)
    return h5netcdf.File(file.id, mode, **options)  # the id, so that h5netcdf closes it


def _name(name):
    name = os.fspath(name)
    return name if "://" in name else os.path.abspath(name)


def _options(**options):
    return {key: value for key, value in options.items() if value is not None}


def _manager(name, mode, settings, **options):
    settings = tuple(sorted(settings.items())) if settings else None  # part of a key, so that it has to be hashable
    return CachingFileManager(open_file, _name(name), mode=mode, kwargs=_options(settings=settings, **options))


def _groups(group):
    """Paths of a group and all that are below it, parents first."""
    yield group.name
    for child in group.groups.values():
        yield from _groups(child)


class BucketEntrypoint(BackendEntrypoint):
    description = "Open HDF5 domains and files in S3 and folders, lazily and by name (h5bucket)"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "concat_characters", "decode_coords",
                               "use_cftime", "decode_timedelta", "group", "settings", "phony_dims", "lock")

    def guess_can_open(self, filename_or_obj):
        return isinstance(filename_or_obj, str) and filename_or_obj.startswith(_SCHEMES) and filename_or_obj.endswith(_ENDINGS)

    def open_dataset(self, filename_or_obj, *, drop_variables=None, group=None, settings=None, phony_dims="access", lock=None, **decoding):
        """settings: a dict of the connector's settings; decoding: as for all engines."""
        manager = _manager(filename_or_obj, "r", settings, phony_dims=phony_dims, decode_vlen_strings=True)
        return self._one(manager, group, lock, drop_variables, decoding)

    def _one(self, manager, group, lock, drop_variables, decoding):
        store = H5NetCDFStore(manager, group=group, mode="r", lock=HDF5_LOCK if lock is None else lock)
        try:
            return StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, **decoding)
        except Exception:
            store.close()
            raise

    def open_groups_as_dict(self, filename_or_obj, *, drop_variables=None, group=None, settings=None, phony_dims="access", lock=None, **decoding):
        manager = _manager(filename_or_obj, "r", settings, phony_dims=phony_dims, decode_vlen_strings=True)
        with manager.acquire_context() as file:
            top = file[group] if group else file
            root = top.name.rstrip("/")
            paths = list(_groups(top))
        return {path[len(root):] or "/": self._one(manager, path, lock, drop_variables, decoding) for path in paths}

    def open_datatree(self, filename_or_obj, **options):
        from xarray import DataTree
        datasets = self.open_groups_as_dict(filename_or_obj, **options)
        tree = DataTree.from_dict(datasets)
        for path, dataset in datasets.items():
            tree[path].set_close(dataset._close)
        return tree


def open_store(name, mode="w", format=None, group=None, settings=None, autoclose=False, lock=None, **others):
    """A store for writing, as xarray's to_netcdf() opens it."""
    if format not in (None, "NETCDF4"):
        raise ValueError(f"{name}: domains have the format NETCDF4, not {format}")
    manager = _manager(name, mode, settings, decode_vlen_strings=True, **others)
    if lock is None:
        lock = combine_locks([HDF5_LOCK, get_write_lock(_name(name))])
    return H5NetCDFStore(manager, group=group, mode=mode, lock=lock, autoclose=autoclose)


def _of_xarray(name):
    """A part of xarray's writing, which was in api before it got a module of its own.  None: neither has it."""
    for module in "xarray.backends.writers", "xarray.backends.api":
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            pass
    return None


def to_netcdf(dataset, name, mode="w", group=None, encoding=None, unlimited_dims=None, compute=True, settings=None):
    """See h5bucket.to_netcdf().  Without compute: a dask.delayed that writes the values."""
    dump_to_store = _of_xarray("dump_to_store")
    if not dump_to_store:
        raise ImportError("h5bucket: this xarray has no dump_to_store(); use an older one, or write by h5netcdf")
    if unlimited_dims is None:
        unlimited_dims = dataset.encoding.get("unlimited_dims")
    if isinstance(unlimited_dims, str):
        unlimited_dims = [unlimited_dims]
    store = open_store(name, mode, group=group, settings=settings, autoclose=bool(dataset.chunks))
    writer = ArrayWriter()
    try:
        dump_to_store(dataset, store, writer, encoding=encoding or {}, unlimited_dims=unlimited_dims)
        if store.autoclose:
            store.close()
        written = writer.sync(compute=compute)
        if compute:
            store.sync()
    finally:
        if compute:
            store.close()
    return None if compute else written


def _offer_to_netcdf():
    """Dataset.to_netcdf(engine="h5bucket"), where xarray has its table of engines that write."""
    table = _of_xarray("WRITEABLE_STORES")
    if isinstance(table, dict):
        table.setdefault("h5bucket", open_store)


_offer_to_netcdf()
