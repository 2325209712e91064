#!/bin/sh
# in_tree.sh: for programs.sh, in a tree of Debian 13.  /mnt has the connector (plugin/) and the programs' sources.
set -eu
export HDF5_PLUGIN_PATH=/mnt/plugin HDF5_VOL_CONNECTOR=bucket H5BUCKET_STATS=1 H5BUCKET_FSYNC=no
export PYTHONDONTWRITEBYTECODE=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl=self,sm
bad=0
cd "$(mktemp -d)" # it goes with the tree's changes
mkdir -p bucket/db
bucket=$PWD/bucket
for mpi in openmpi mpich; do
    # shellcheck disable=SC2046 # words
    "mpif90.$mpi" $(pkg-config --cflags-only-I hdf5-$mpi) /mnt/ranks.f90 -o "fortran.$mpi" \
        $(pkg-config --libs-only-L hdf5-$mpi) "-lhdf5_${mpi}_fortran" "-lhdf5_$mpi"
done
mpicc.openmpi /mnt/ranks.c -I"/usr/lib/$(gcc -print-multiarch)/netcdf/mpi/include" -o netcdf -lnetcdf_mpi # its .pc names another folder

mpi=openmpi
try() { # try NAME PROCESSES DOMAIN COMMAND...: by $mpi, it prints that nothing is wrong, and the connector stored objects
    name=$1 n=$2 domain=$3
    shift 3
    rm -rf "$domain"
    timeout 120 "mpiexec.$mpi" -n "$n" "$@" "$domain" > out 2>&1 || { echo "FAILED: $name, exit $?"; bad=1; }
    if ! grep -q "$name: $n processes, 0 wrong" out || ! grep -q 'h5bucket: .* PUT [1-9]' out; then
        echo "FAILED: $name:"
        head -c 3000 out
        bad=1
    fi
    grep "$name: " out | sed "s|^|$mpi, |"
}
for n in 2 4; do
    for mpi in mpich openmpi; do
        try fortran "$n" "$bucket/fortran.h5" "./fortran.$mpi"
    done
    try h5py "$n" "$bucket/python.h5" python3 /mnt/ranks.py
done
HS_BUCKET="$bucket" H5BUCKET_POINTERS=yes try netcdf 3 ranks.nc ./netcdf

# ---- their own parallel tests ----
tests=/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi/tests
wanted=$(grep -c 'def test.*mpi_file_name' $tests/test_file.py)
for n in 2 4; do
    TMPDIR=$bucket PYTHONPATH=/mnt timeout 120 mpiexec.openmpi -n "$n" python3 -m pytest -p mpi_marks -p no:cacheprovider --color=no -q -m mpi \
        $tests > out 2>&1 || { echo "FAILED: h5py's own parallel tests, exit $?"; bad=1; }
    passed=$(grep -c "^$wanted passed" out) || true
    echo "h5py's own parallel tests: all $wanted pass in $passed of $n processes"
    if [ "$wanted" -lt 4 ] || [ "$passed" != "$n" ] || ! grep -q 'h5bucket: .* PUT [1-9]' out; then
        echo "FAILED: h5py's own parallel tests:"
        head -c 3000 out
        bad=1
    fi
done
sh /mnt/netcdf_tests.sh || bad=1
exit $bad
