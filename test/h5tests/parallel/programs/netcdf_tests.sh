#!/bin/sh
# netcdf_tests.sh: for in_tree.sh: netCDF-C's own parallel tests (nc_test4), with files and with domains.  The lines that they print
# about their steps must be the same; so a step that fails with files (a filter that Debian lacks) may fail with domains, too.
# /mnt/netcdf has the sources.  tst_mpi_parallel is left out: it uses MPI alone.
set -eu
bad=0
here=$PWD
mkdir build
# The settings of Debian's build, as far as the tests ask for them.
cat > build/config.h << 'C'
#include <stdint.h>
#define HAVE_H5Z_SZIP 1
#define HAVE_STDINT_H 1
#define HAVE_STRDUP 1
#define HAVE_STRLCAT 1
#define HAVE_UNISTD_H 1
#define HDF5_PARALLEL 1
#define HDF5_SUPPORTS_PAR_FILTERS 1
#define NETCDF_ENABLE_NETCDF4 1
#define USE_HDF5 1
#define USE_NETCDF4 1
#define USE_PARALLEL 1
#define USE_PARALLEL4 1
#define CHUNK_CACHE_SIZE 67108864
#define CHUNK_CACHE_NELEMS 1000
#define CHUNK_CACHE_PREEMPTION 0.75
#define TEMP_LARGE "."
C
netcdf=/usr/lib/$(gcc -print-multiarch)/netcdf/mpi/include

run() { # run PROGRAM PROCESSES FOLDER [VARIABLE=VALUE...]: its steps go to FOLDER/steps
    program=$1 n=$2 folder=$3
    shift 3
    mkdir -p "$folder"
    (
        cd "$folder"
        rc=0
        env "$@" timeout 300 mpiexec.openmpi -n "$n" "$here/build/$program" > out 2> err || rc=$?
        # a step that fails has the messages of several processes behind its name
        { sed -n '/^\*\*\*/{s/\.\.\.ok\.$/: ok/; s/\.\.\..*//; p}' out; [ $rc != 0 ] || echo "exit 0"; } | sort > steps
    )
}

both() { # both PROGRAM PROCESSES
    name="$1 with $2 processes"
    rm -rf native ours
    mkdir -p ours/bucket/db
    run "$1" "$2" native HDF5_VOL_CONNECTOR=
    run "$1" "$2" ours HS_BUCKET="$here/ours/bucket" H5BUCKET_POINTERS=yes
    if [ ! -s native/steps ] || ! diff native/steps ours/steps > steps.diff; then
        echo "FAILED: netCDF's $name:"
        head -c 1000 steps.diff
        tail -c 2000 ours/out ours/err
        bad=1
    elif ! grep -q 'h5bucket: .* PUT [1-9]' ours/err; then
        echo "FAILED: netCDF's $name: the connector stored nothing"
        bad=1
    else
        echo "netCDF's $name: as with files$(grep -q '^exit 0' native/steps || echo ', where it stops at: '"$(grep '^\*\*\*' native/steps | grep -v ': ok$' | tail -n 1)")"
    fi
}

# program and numbers of processes
while read -r program counts; do
    mpicc.openmpi -w -O1 -Ibuild -I"$netcdf" -I/mnt/netcdf/include "/mnt/netcdf/nc_test4/$program.c" -o "build/$program" -lnetcdf_mpi -lm
    for n in $counts; do
        both "$program" "$n" < /dev/null
    done
done << 'TESTS'
tst_mode 1
tst_warn 1
tst_parallel 4
tst_parallel3 4
tst_parallel4 1 4
tst_parallel5 4
tst_parallel6 4
tst_simplerw_coll_r 1 2 4
tst_parallel_zlib 4
tst_parallel_compress 1 4
tst_quantize_par 4
tst_nc4perf 4
TESTS
exit $bad
