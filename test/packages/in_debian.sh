#!/bin/sh
# in_debian.sh 12|13 [s3://BUCKET/FOLDER]: for debian.sh, in the tree.  Packages are in /mnt/debs, newer ones in /mnt/newer.
set -eu
release=$1 base=${2:-}
bad=0
. /mnt/says.sh
libs=/usr/lib/$(gcc -print-multiarch)
ours="hdf5-vol-bucket h5bucket libh5bucket-dev"
[ "$release" = 12 ] || ours="$ours libh5bucket-samples0 hdf5-vol-bucket-openmpi hdf5-vol-bucket-mpich"
mkdir -p /tmp/bucket /tmp/files
cd /tmp/files

files() { find / -xdev \( -path /proc -o -path /dev -o -path /mnt -o -path /tmp -o -path /run -o -path /var/cache -o -path /var/log \
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -name '__pycache__' \) -prune -o -print | sort; }
apt() { apt-get -q -y --no-install-recommends "$@" > /tmp/apt.log 2>&1 || { tail -n 20 /tmp/apt.log; fail "apt-get $*"; exit 1; }; }

python3 - << 'PY'
import h5py, numpy
with h5py.File("plain.h5", "w", track_order=True) as f:
    f["rows"] = numpy.arange(12).reshape(3, 4)
    f.create_dataset("packed", data=numpy.full((100, 100), 2.5, "f4"), chunks=(10, 10), compression=4)
PY
apt update
files > /tmp/before
apt install /mnt/debs/*.deb

# ---- use: no variable is set, except where programs create a domain ----
use() { # use NAME
    name=$1
    says '' h5bucket load plain.h5 "$name"
    says 'packed' h5bucket ls "$name"
    says '' h5bucket diff "$name" plain.h5
    h5bucket doctor > /tmp/out 2>&1 || [ "$release" = 12 ] || { fail "doctor"; cat /tmp/out; }
    if [ "$release" = 12 ]; then
        use_other_hdf5 "$name"
    else
        use_system "$name"
    fi
    says '' h5bucket get "$name" back.h5
    says '2.5' h5dump -d /packed -s 0,0 -c 1,1 back.h5
    rm back.h5
    says '' h5bucket rm "$name"
}
use_system() {
    says 'packed' h5ls "$1"
    says ': 8, 9' h5dump -d /rows -s 2,0 -c 1,2 "$1"
    says 'Group' sh -c 'h5mkgrp "$1" /made && h5ls "$1"' sh "$1"
    says 'made.* 2.5' python3 -c 'import h5py, sys
with h5py.File(sys.argv[1], "r+") as f: f["new"] = [1, 2]; f["rows"][0, 0] = 77
with h5py.File(sys.argv[1]) as f: assert list(f["new"]) == [1, 2] and f["rows"][0, 0] == 77; f["rows"][0, 0]; print(list(f), f["packed"][9, 9])' "$1"
    says 'made' python3 -c 'import h5py, sys
with h5py.File(sys.argv[1], "r+") as f: f["rows"][0, 0] = 0; del f["new"]; print(list(f))' "$1"
    for flavour in serial openmpi mpich; do
        says 'opened' python3 -c 'import ctypes, sys
hdf5 = ctypes.CDLL(f"libhdf5_{sys.argv[1]}.so.310", ctypes.RTLD_GLOBAL)
hdf5.H5Fopen.restype, hdf5.H5Oopen.restype = ctypes.c_int64, ctypes.c_int64
file = hdf5.H5Fopen(sys.argv[2].encode(), 0, ctypes.c_int64(0))
assert file >= 0 and hdf5.H5Oopen(ctypes.c_int64(file), b"packed", ctypes.c_int64(0)) >= 0
print("opened")' $flavour "$1"
    done
    h5bucket pointer "$1" run.nc
    says 'packed(' ncdump -h run.nc
    says 'packed' python3 -c 'import netCDF4; print(netCDF4.Dataset("run.nc").variables["packed"][0, 0], list(netCDF4.Dataset("run.nc").variables))'
    rm run.nc
    # H5Fcreate asks no plugin
    says 'copied' env HDF5_VOL_CONNECTOR=bucket sh -c 'h5copy -p -i "$1" -o "$1.new" -s rows -d copied && h5ls "$1.new"' sh "$1"
    says '' h5bucket rm "$1.new"
}
use_other_hdf5() { # Debian 12's own programs go on as before
    says 'packed' h5ls plain.h5
    says '12' python3 -c 'import h5py; print(h5py.File("plain.h5")["rows"].size)'
    [ ! -e "$libs/hdf5/serial/plugins/libhdf5_vol_bucket.so" ] || fail "the plugin lies where HDF5 1.10 finds it"
    [ -d /mnt/hdf5 ] || { echo "no other HDF5 here: the plugin is not tried"; return; }
    says 'packed' env HDF5_PLUGIN_PATH="$libs/hdf5/vol-bucket" /mnt/hdf5/bin/h5ls "$1"
    says ': 8, 9' env HDF5_PLUGIN_PATH="$libs/hdf5/vol-bucket" /mnt/hdf5/bin/h5dump -d /rows -s 2,0 -c 1,2 "$1"
}
use "/tmp/bucket/run.h5"
[ -z "$base" ] || use "$base/packages-$$.h5"
[ -s /usr/share/man/man1/h5bucket.1.gz ] || fail "no man page"
bash -n /usr/share/bash-completion/completions/h5bucket || fail "no completion"
printf '#include <h5bucket.h>\nint main(void) { return H5Pset_fapl_bucket(H5P_DEFAULT, 0) > 0; }\n' > /tmp/main.c
plugins=$(pkg-config --variable=plugindir vol-bucket)
[ -e "$plugins/libhdf5_vol_bucket.so" ] || fail "pkg-config names $plugins"
mkdir -p /tmp/cmake && printf 'cmake_minimum_required(VERSION 3.25)\nproject(u C)\nfind_package(vol-bucket 0.1 REQUIRED)\n' > /tmp/cmake/CMakeLists.txt
says 'done' cmake -S /tmp/cmake -B /tmp/cmake/build
if [ "$release" = 13 ]; then
    # shellcheck disable=SC2046 # words
    says '' gcc -Wall -Werror /tmp/main.c $(pkg-config --cflags vol-bucket hdf5-serial) $(pkg-config --libs vol-bucket hdf5-serial) -o /tmp/main
    says '' /tmp/main
fi

# ---- parallel HDF5: two processes write one domain ----
if [ "$release" = 13 ]; then
    cat > /tmp/mpi.c << 'C'
#include <hdf5.h>
int main(int c, char **v)
{
    int rank, n_ranks;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(v[1], H5F_ACC_TRUNC, H5P_DEFAULT, list);
    hsize_t all = (hsize_t)n_ranks, at = (hsize_t)rank, one = 1;
    hid_t space = H5Screate_simple(1, &all, NULL), part = H5Screate_simple(1, &one, NULL);
    hid_t set = H5Dcreate2(file, "ranks", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &one, NULL);
    int mine = rank + 5;
    int bad = H5Dwrite(set, H5T_NATIVE_INT, part, space, H5P_DEFAULT, &mine) < 0;
    bad |= H5Dclose(set) < 0;
    bad |= H5Fclose(file) < 0;
    MPI_Finalize();
    return bad;
}
C
    says '' mpicc.openmpi /tmp/mpi.c -I/usr/include/hdf5/openmpi -lhdf5_openmpi -o /tmp/mpi
    says '' env HDF5_VOL_CONNECTOR=bucket mpirun --allow-run-as-root --oversubscribe -n 2 /tmp/mpi /tmp/bucket/mpi.h5
    [ -s /tmp/bucket/mpi.h5/.domain.json ] || fail "the connector didn't make /tmp/bucket/mpi.h5"
    says ': 5, 6' h5dump -d /ranks /tmp/bucket/mpi.h5
    says 'ranks' h5bucket ls /tmp/bucket/mpi.h5
    rm -rf /tmp/bucket/mpi.h5
fi

# ---- h5py and netCDF4 in one process: with Debian's libhdf5, and netCDF4 with one of its own, renamed as wheels have it ----
both() { # both PLACE
    for n in 1 2; do
        mkdir -p /tmp/both/$n
        cd /tmp/both/$n
        says "process with $n libhdf5" env HDF5_VOL_CONNECTOR=bucket H5BUCKET_POINTERS=yes H5BUCKET_BUCKET="$1" LD_LIBRARY_PATH=/tmp/both/lib$n \
            python3 -B /mnt/h5py_and_netcdf4.py "$1" $n
        cd /tmp/files
        rm -rf /tmp/both/$n
    done
}
if [ "$release" = 13 ]; then
    mkdir -p /tmp/both/lib2 /tmp/bucket/both
    for name in libnetcdf.so.22 libhdf5_serial.so.310 libhdf5_serial_hl.so.310; do # netCDF4 needs the first, and that the others
        sed 's/libhdf5_serial/libhdf5_wheels/g' "$libs/$name" > "/tmp/both/lib2/$(echo $name | sed 's/_serial/_wheels/')"
    done
    both file:///tmp/bucket/both
    [ -z "$base" ] || both "$base/both-$$"
fi

# ---- upgrade ----
apt install /mnt/newer/*.deb
for package in $ours; do
    case $(dpkg-query -W -f '${Version}' "$package") in *.1) ;; *) fail "$package is not upgraded" ;; esac
done
use "/tmp/bucket/again.h5"

# ---- the programs of docs/programs.md ----
if [ "$release" = 13 ]; then
    for program in cdo gdalinfo ncks octave-cli ptdump Rscript; do
        command -v $program > /dev/null || fail "no $program in the tree"
    done
    python3 /mnt/clients/programs.py - h5bucket || fail "programs.py in folders"
    [ -z "$base" ] || python3 /mnt/clients/programs.py - h5bucket "$base" || fail "programs.py in S3"
    BKT_FIXTURES=/mnt/fixtures python3 -B /mnt/clients/h5py_compare.py "$libs/hdf5/vol-bucket" || fail "h5py reads"
    python3 -B /mnt/clients/h5py_write.py "$libs/hdf5/vol-bucket" || fail "h5py writes"
fi

# ---- remove ----
# shellcheck disable=SC2086 # words
apt purge --auto-remove $ours
files > /tmp/after
diff /tmp/before /tmp/after > /tmp/left || { fail "files are left, or gone:"; head -n 20 /tmp/left; }
says 'packed' h5ls plain.h5
[ $bad = 0 ] && echo "packages for Debian $release: installed, used, upgraded, removed"
exit $bad
