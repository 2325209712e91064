#!/bin/sh
# in_unstable.sh SONAME [s3://BUCKET/FOLDER]: for hdf5_2.sh, in the tree.  /mnt has the source, the loader with its connector for HDF5 1.14,
# that HDF5 (older/SONAME) and the tool, which is linked with it.
set -eu
soname=$1 base=${2:-}
bad=0
. /mnt/says.sh
refused() { # refused PATTERN COMMAND...: the command fails and prints it
    pattern=$1
    shift
    "$@" > /tmp/out 2>&1 && fail "$*: it works"
    grep -q "$pattern" /tmp/out || { fail "$*: no '$pattern' in:"; head -c 1000 /tmp/out; }
}
libs=/usr/lib/$(gcc -print-multiarch)
newer=$(readlink -f "$libs/libhdf5_serial.so")
bucket=/tmp/bucket
mkdir -p $bucket /tmp/files
cd /tmp/files
native() { env -u HDF5_PLUGIN_PATH -u HDF5_VOL_CONNECTOR "$@"; }
version=$(python3 -c 'import h5py; print(h5py.version.hdf5_version)')
case $version in
2.*) echo "unstable has HDF5 $version" ;;
*) echo "skipped: unstable has HDF5 $version, and not 2.x"; exit 77 ;;
esac
plugins=/usr/local/lib/hdf5/plugin
mkdir -p /usr/local/lib/hdf5
mv /mnt/loader $plugins
export HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=bucket

# ---- without its connector: the message names what there is.  (2.2.0 then crashes, as it does for any connector that is absent.) ----
refused "libhdf5_serial.so.*: HDF5 $version has no connector in $plugins/h5bucket, which has connectors for HDF5: 1\.14;" h5ls $bucket/run.h5

# ---- build it, and install it beside the other ----
make() {
    cmake -S /mnt/source -B /tmp/build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=OFF -DH5BUCKET_PLUGIN_DIR=$plugins &&
        cmake --build /tmp/build && cmake --install /tmp/build
}
make > /tmp/log 2>&1 || { tail -n 40 /tmp/log | cut -c1-300; exit 1; }
[ "$(cd $plugins/h5bucket && echo hdf5-*)" = "hdf5-1.14.so hdf5-2.so" ] || { fail "no two connectors in"; ls $plugins/h5bucket; }

# ---- h5py and HDF5's tools of unstable write and read ----
cat > write.py << 'PY'
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w", track_order=True) as f:
    f.attrs["title"] = "a try"
    f["rows"] = numpy.arange(12, dtype="i4").reshape(3, 4)
    f.create_dataset("packed", data=numpy.arange(10000, dtype="f4").reshape(100, 100), chunks=(10, 30), compression=4, shuffle=True)
    f.create_dataset("words", data=["one", "two", ""], dtype=h5py.string_dtype())
    f["group/table"] = numpy.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i2"), ("b", "f8")])
    f["link"] = h5py.SoftLink("/group/table")
    f["refs"] = numpy.array([f["rows"].ref, f["group"].ref], dtype=h5py.ref_dtype)
    grows = f.create_dataset("grows", (0,), "i8", chunks=(4,), maxshape=(None,))
with h5py.File(sys.argv[1], "r+") as f:
    f["rows"][1, 1:3] = -1
    f["grows"].resize((6,))
    f["grows"][2:] = 7
    f["group"].attrs["n"] = [1, 2, 3]
    del f["link"]
PY
cat > read.py << 'PY'
import h5py, numpy, sys
with h5py.File(sys.argv[1]) as f:
    numpy.testing.assert_array_equal(f["rows"], [[0, 1, 2, 3], [4, -1, -1, 7], [8, 9, 10, 11]])
    numpy.testing.assert_array_equal(f["packed"][5:50:7, 3], numpy.arange(10000).reshape(100, 100)[5:50:7, 3])
    assert list(f["words"].asstr()) == ["one", "two", ""] and list(f["grows"]) == [0, 0, 7, 7, 7, 7]
    assert f["group/table"][1]["b"] == 4.5 and f[f["refs"][1]].name == "/group" and "link" not in f
    print("read", f.attrs["title"])
PY
native python3 write.py plain.h5
# addresses, sizes in the store, and the time of a change, which only a domain has
same='s/Location:.*//; s/, [0-9]* allocated bytes.*//; /Modified:/d'
use() { # use NAME: of a domain
    name=$1
    says '' python3 write.py "$name"
    says 'read a try' python3 read.py "$name"
    for shows in "h5dump" "h5ls -rv"; do
        # shellcheck disable=SC2086 # words
        native $shows plain.h5 | sed "$same" > wanted
        # shellcheck disable=SC2086
        $shows "$name" 2>&1 | sed -e "s|$name|plain.h5|g" -e "$same" > got
        diff wanted got > difference || { fail "$shows $name"; head -n 20 difference; }
        [ "$(wc -l < got)" -gt 30 ] || fail "$shows shows little"
    done
    says '' h5bucket diff "$name" plain.h5
    says '' h5diff "$name" "$name"
    says '' h5mkgrp "$name" /made
    says 'made *Group' h5ls "$name"
    says '' h5copy -i "$name" -o "$name" -s /rows -d /made/rows
    says ': 4, -1, -1, 7' h5dump -d /made/rows -s 1,0 -c 1,4 "$name"
}
use $bucket/run.h5
[ -s $bucket/run.h5/.domain.json ] || fail "the connector didn't make $bucket/run.h5"
s3=hsds+${base:-}/hdf5-2-$$.h5 # unstable's tools keep s3:// for themselves
[ -z "$base" ] || use "$s3"

# ---- HDF5 1.14 in unstable: needs this machine's libraries ----
absent=$(LD_LIBRARY_PATH=/mnt/older ldd /mnt/h5bucket $plugins/h5bucket/hdf5-1.14.so /mnt/older/"$soname" | sed -n '/@@@/d; s/ => not found//p' | sort -u | tr -d '\n')
if [ -n "$absent" ]; then
    echo "skipped: unstable lacks what the connector for HDF5 1.14 needs:$absent"
    [ $bad = 0 ] && exit 77
    exit 1
fi
tool() { env -u HDF5_PLUGIN_PATH -u HDF5_VOL_CONNECTOR LD_LIBRARY_PATH=/mnt/older /mnt/h5bucket "$@"; }
# each reads what the other wrote
says 'packed' tool ls $bucket/run.h5
says '' tool get $bucket/run.h5 back.h5
says 'read a try' native python3 read.py back.h5
says '' tool load plain.h5 $bucket/older.h5
says 'read a try' python3 read.py $bucket/older.h5
[ -z "$base" ] || says '' tool rm "$base/hdf5-2-$$.h5"

# ---- both in one process, renamed as wheels' are ----
mkdir renamed
rename() { # rename FILE LETTER: prints the copy; another soname of the same length
    sed "s/libhdf5\\(_serial\\)*\\.so\\./libhdf5\\1_$2o./g" "$1" > "renamed/libhdf5_$2o"
    readelf -d "renamed/libhdf5_$2o" | grep -q "SONAME.*libhdf5.*_$2o" || { fail "$1: no other soname"; exit 1; }
    echo "$PWD/renamed/libhdf5_$2o"
}
old=$(rename "/mnt/older/$soname" a)
new=$(rename "$newer" b)
gcc -std=gnu11 -O1 /mnt/each_hdf5.c -o each
gcc -std=gnu11 -O1 -DEACH_IS_LINKED /mnt/each_hdf5.c -o each_linked -lhdf5_serial
served() { # served WHAT PROGRAM LIBRARIES...: each made a domain
    what=$1 run=$2
    shift 2
    rm -rf $bucket/each
    mkdir $bucket/each
    "./$run" $bucket/each "$@" > out 2>&1 || { fail "$what"; cat out; }
    [ "$(find $bucket/each -path '*/of*.h5/.domain.json' | wc -l)" = $# ] || { fail "$what: not all domains are there"; cat out; }
    [ "$(grep -c 'is HDF5 1\.14\.' out)" = "$(echo "$*" | grep -o "$old" | wc -l)" ] || { fail "$what: other versions"; cat out; }
}
served "2.x alone, renamed" each "$new"
served "1.14 and 2.x" each "$old" "$new"
served "2.x and 1.14" each "$new" "$old"
served "a renamed 1.14 beside the system's 2.x" each "$old" "$newer"
served "a program linked with 2.x, beside 1.14" each_linked "$old"
served "a program linked with 2.x, beside both" each_linked "$old" "$new"
mkdir other
cp -R $plugins other/loader && rm other/loader/h5bucket/hdf5-1.14.so
refused "libhdf5_ao: HDF5 1\.14\.[0-9]* has no connector in $PWD/other/loader/h5bucket, which has connectors for HDF5: 2;" \
    env HDF5_PLUGIN_PATH="$PWD/other/loader" ./each $bucket/each "$new" "$old"
[ $bad = 0 ] && echo "HDF5 $version of unstable: programs, and one process with 1.14, are served"
exit $bad
