#!/bin/sh
# For recipe.yaml: build and install into conda's prefix, with scripts that set HDF5_PLUGIN_PATH in an activated environment.
set -eu
# shellcheck disable=SC2086 # words
cmake -S . -B build-conda -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX="$PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=lib -DH5BUCKET_PLUGIN_DIR=lib/plugins -DHDF5_ROOT="$PREFIX"
cmake --build build-conda
cmake --install build-conda
for when in activate deactivate; do
    mkdir -p "$PREFIX/etc/conda/$when.d"
    cp "packaging/conda/$when.sh" "$PREFIX/etc/conda/$when.d/hdf5-vol-bucket.sh"
done
