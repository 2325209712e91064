#!/bin/sh
# python_package.sh SOURCE LOADER-FOLDER H5BUCKET PYTHON...: the Python package h5bucket as a wheel lays it out, with this build's plugin and
# tool, on a Python whose h5py has HDF5 1.14.
set -eu
source=$1 loader=$2 tool=$3
shift 3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp -R "$source/packaging/python/h5bucket" "$tmp/"
mkdir "$tmp/h5bucket/bin"
ln -s "$loader" "$tmp/h5bucket/plugins"
ln -s "$tool" "$tmp/h5bucket/bin/h5bucket"
unset HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
PYTHONPATH=$tmp:$source/test/h5tests/helpers "$@" "$source/test/packages/test_h5bucket.py"
