"""HDF5 and netCDF-4 files straight in S3 or in folders, through h5py and xarray.

    import h5bucket
    with h5bucket.open("s3://bucket/run7.h5") as f:        # an h5py.File
        print(list(f), f["wind"][0, :10])

The import puts the connector's plugin on the plugin path of h5py's HDF5.  `h5py.File("s3://bucket/run7.h5")` then reads, too, and
`h5py.File(name, "w", driver="bucket")` creates.  xarray has the engine "h5bucket".
"""
import os

import h5py
from h5py import h5pl

from . import _connector

__version__ = "@VERSION@"
__all__ = ["open", "plugin_folder", "to_netcdf"]

#: The folder of the plugin, for HDF5_PLUGIN_PATH of other programs.
plugin_folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugins")

if h5py.version.hdf5_version_tuple < (1, 14, 0):
    raise ImportError(f"h5bucket: h5py uses HDF5 {h5py.version.hdf5_version}; install an h5py with HDF5 1.14 or newer")
h5pl.prepend(os.fsencode(plugin_folder))
h5py.register_driver("bucket", _connector.select)


def open(name, mode="r", *, settings=None, **options):
    """Open a domain, or a plain file in a store, as an h5py.File.

    name      s3://bucket/key, file:///folder/name, a path, https://… (docs/programs.md of the project)
    mode      r, r+, w, w- (or x), a, as for h5py.File
    settings  a dict of the connector's settings, e.g. {"connections": 16, "region": "us-west-2"}
    options   further arguments of h5py.File
    """
    return h5py.File(os.fspath(name), mode, driver="bucket", settings=settings, **options)


def to_netcdf(dataset, name, mode="w", **options):
    """Write an xarray.Dataset into a domain, as Dataset.to_netcdf writes a file.

    options: group, encoding, unlimited_dims, compute, settings
    """
    from . import xarray_backend
    return xarray_backend.to_netcdf(dataset, name, mode, **options)
