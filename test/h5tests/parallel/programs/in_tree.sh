#!/bin/sh
# in_tree.sh: for programs.sh, in a tree of Debian 13.  /mnt has the connector (plugin/) and the programs' sources.
set -eu
export HDF5_PLUGIN_PATH=/mnt/plugin HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl=self,sm
bad=0
cd "$(mktemp -d)" # it goes with the tree's changes
mkdir -p bucket/db
bucket=$PWD/bucket
includes=$(pkg-config --cflags-only-I hdf5-openmpi)
# shellcheck disable=SC2046,SC2086 # words
mpif90.openmpi $includes /mnt/ranks.f90 -o fortran $(pkg-config --libs-only-L hdf5-openmpi) -lhdf5_openmpi_fortran -lhdf5_openmpi
mpicc.openmpi /mnt/ranks.c -I"/usr/lib/$(gcc -print-multiarch)/netcdf/mpi/include" -o netcdf -lnetcdf_mpi # its .pc names another folder

try() { # try NAME PROCESSES DOMAIN COMMAND...: it prints that nothing is wrong, and the connector stored objects
    name=$1 n=$2 domain=$3
    shift 3
    rm -rf "$domain"
    timeout 120 mpiexec.openmpi -n "$n" "$@" "$domain" > out 2>&1 || { echo "FAILED: $name, exit $?"; bad=1; }
    if ! grep -q "$name: $n processes, 0 wrong" out || ! grep -q 'h5bucket: .* PUT [1-9]' out; then
        echo "FAILED: $name:"
        head -c 3000 out
        bad=1
    fi
    grep "$name: " out || true
}
for n in 2 4; do
    try fortran "$n" "$bucket/fortran.h5" ./fortran
    try h5py "$n" "$bucket/python.h5" python3 /mnt/ranks.py
done
HS_BUCKET="$bucket" H5BUCKET_POINTERS=yes try netcdf 3 ranks.nc ./netcdf
exit $bad
