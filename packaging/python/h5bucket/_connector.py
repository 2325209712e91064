"""Selects the connector in a file access list of h5py's.

h5py has no call for it.  So HDF5's own functions are called, those of the libhdf5 with which h5py is linked: a process may hold others.
"""
import ctypes

from h5py import h5p
from h5py._objects import phil

_hdf5 = ctypes.CDLL(h5p.__file__)  # finds symbols in the libraries that the module needs
_hid = ctypes.c_int64
_DEFAULT = _hid(0)  # H5P_DEFAULT


def _function(name, result, *arguments):
    function = getattr(_hdf5, name)
    function.restype, function.argtypes = result, arguments
    return function


_register = _function("H5VLregister_connector_by_name", _hid, ctypes.c_char_p, _hid)
_close = _function("H5VLclose", ctypes.c_int, _hid)
_to_info = _function("H5VLconnector_str_to_info", ctypes.c_int, ctypes.c_char_p, _hid, ctypes.POINTER(ctypes.c_void_p))
_free_info = _function("H5VLfree_connector_info", ctypes.c_int, _hid, ctypes.c_void_p)
_set_vol = _function("H5Pset_vol", ctypes.c_int, _hid, _hid, ctypes.c_void_p)


def info_string(settings):
    """Settings in the form of HDF5_VOL_CONNECTOR: key=value, separated by semicolons."""
    texts = []
    for key, value in (settings or {}).items():
        text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        if ";" in text or ";" in key or "=" in key:
            raise ValueError(f"setting {key!r}: a semicolon can't be part of it; set it by its environment variable")
        texts.append(f"{key}={text}")
    return ";".join(texts)


def select(plist, settings=None, **others):
    """Of h5py.register_driver(): a file access list gets the connector, with settings as a dict."""
    if others:
        raise TypeError(f"h5bucket: unknown arguments {', '.join(others)}; settings are a dict, settings={{...}}")
    info = info_string(settings)
    with phil:
        connector = _register(b"bucket", _DEFAULT)
        if connector < 0:
            raise OSError("h5bucket: HDF5 can't load the connector; its message is on stderr, and `h5bucket doctor` checks it")
        parsed = ctypes.c_void_p()
        try:
            if info and _to_info(info.encode(), connector, ctypes.byref(parsed)) < 0:
                raise ValueError(f"h5bucket: unknown or wrong settings: {info}")
            if _set_vol(plist.id, connector, parsed) < 0:
                raise OSError("h5bucket: the connector can't be selected")
        finally:
            if parsed:
                _free_info(connector, parsed)
            _close(connector)
