#!/bin/sh
# with_h5py.sh SOURCE HDF5_PREFIX SCRIPT ARGUMENT...: run the script by a Python whose h5py uses that HDF5 (config/libraries/h5py.sh).
source=$1 hdf5=$2
shift 2
h5py=$("$source/config/libraries/h5py.sh" "$hdf5") || { echo "skipped: Debian's h5py could not be fetched, or does not run on $hdf5"; exit 77; }
exec "$h5py/usr/bin/python3" -B "$@"
