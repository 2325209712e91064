#!/bin/sh
# loader.sh LOADER-FOLDER PROGRAM LINKED-PROGRAM LIBHDF5 H5LS CC: the loader serves every libhdf5 of a process.
# Libraries that are renamed as wheels' are stand for them: another soname, opened with RTLD_LOCAL.
set -eu
loader=$1 program=$2 linked=$3 libhdf5=$(readlink -f "$4") h5ls=$5 cc=$6
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bucket"
bad=0
fail() { echo "FAILED: $*"; bad=1; }

# Another soname of the same length, as in libhdf5-51aaa7c5.so.310 of a wheel.
renamed() { # renamed LETTER
    sed "s/libhdf5\\.so\\./libhdf5_$1o./" "$libhdf5" > "$tmp/libhdf5_$1o.310"
    [ "$(readelf -d "$tmp/libhdf5_$1o.310" | grep -c "SONAME.*libhdf5_$1o")" = 1 ] || { echo "no other soname"; exit 1; }
}
renamed a
renamed b
unset LD_LIBRARY_PATH
export HDF5_PLUGIN_PATH="$loader" HDF5_VOL_CONNECTOR=bucket

served() { # served WHAT PROGRAM LIBRARIES...: all domains lie in the schema's form: the connector made them
    what=$1
    shift
    run=$1
    shift
    rm -rf "$tmp/bucket"
    mkdir "$tmp/bucket"
    "$run" "$tmp/bucket" "$@" > "$tmp/out" 2>&1 || { fail "$what"; cat "$tmp/out"; }
    [ "$(ls -d "$tmp"/bucket/of*.h5/.domain.json 2>/dev/null | wc -l)" = $# ] || { fail "$what: not all domains are there"; cat "$tmp/out"; }
}
served "one renamed library" "$program" "$tmp/libhdf5_ao.310"
served "two renamed libraries" "$program" "$tmp/libhdf5_ao.310" "$tmp/libhdf5_bo.310"
served "a renamed library beside the system's" "$program" "$tmp/libhdf5_ao.310" "$libhdf5"
served "a program's own HDF5 beside two renamed libraries" "$linked" "$tmp/libhdf5_ao.310" "$tmp/libhdf5_bo.310"
served "a program that is linked with the library" "$linked" "$libhdf5"
mkdir "$tmp/flavour"
ln -s "$loader/libhdf5_vol_bucket.so" "$tmp/flavour/" # as packages for several flavours of HDF5 have it
HDF5_PLUGIN_PATH="$tmp/flavour" served "a link to the plugin" "$program" "$tmp/libhdf5_ao.310"
"$h5ls" "$tmp/bucket/of0.h5" | grep -q '^value' || fail "h5ls"

# refusals: messages name the library, its version and the versions there are
message() { # message WHAT PATTERN COMMAND...
    what=$1 pattern=$2
    shift 2
    "$@" > "$tmp/out" 2>&1 && fail "$what: it works"
    grep -q "$pattern" "$tmp/out" || { fail "$what: no '$pattern' in"; cat "$tmp/out"; }
}
mkdir "$tmp/empty"
cp "$loader/libhdf5_vol_bucket.so" "$tmp/empty"
HDF5_PLUGIN_PATH="$tmp/empty" message "no connector" "has no connector in $tmp/empty/h5bucket, which has connectors for HDF5: none;" \
    "$program" "$tmp/bucket" "$tmp/libhdf5_ao.310"
printf 'int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) { VERSION return 0; }
long H5Eget_current_stack(void) { return -1; }
int H5Eset_current_stack(long id) { return (int)id; }
const void *H5PLget_plugin_info(void);
const void *ask(const void *(*f)(void)) { const void *v = f(); return v ? v : 0; }\n' > "$tmp/unknown.c"
for made in "old *a=1;*b=12;*c=3;" "new *a=3;*b=14;*c=0;"; do
    "$cc" -O0 -fno-optimize-sibling-calls -shared -fPIC "-DVERSION=${made#* }" -o "$tmp/lib${made%% *}.so" "$tmp/unknown.c"
done
printf '#include <dlfcn.h>
#include <stdio.h>
int main(int c, char **v) {
    void *l = dlopen(v[1], RTLD_NOW), *p = dlopen(v[2], RTLD_NOW);
    (void)c;
    if (!l || !p) { puts(dlerror()); return 2; }
    const void *(*ask)(void *) = (const void *(*)(void *))dlsym(l, "ask");
    return ask(dlsym(p, "H5PLget_plugin_info")) ? 0 : 1; }\n' > "$tmp/asks.c"
"$cc" -O0 -o "$tmp/asks" "$tmp/asks.c" -ldl
message "an old HDF5" "libold.so: HDF5 1.12.3 has no connector in .*, which has connectors for HDF5: [12]" "$tmp/asks" "$tmp/libold.so" "$loader/libhdf5_vol_bucket.so"
message "an HDF5 to come" "libnew.so: HDF5 3.14.0 has no connector in .*, which has connectors for HDF5: [12]" "$tmp/asks" "$tmp/libnew.so" "$loader/libhdf5_vol_bucket.so"
mkdir -p "$tmp/spoilt/h5bucket"
cp "$loader/libhdf5_vol_bucket.so" "$tmp/spoilt"
for real in "$loader"/h5bucket/hdf5-*.so; do head -c 1000 "$real" > "$tmp/spoilt/h5bucket/${real##*/}"; done
HDF5_PLUGIN_PATH="$tmp/spoilt" message "a connector that was cut off" "the connector has no place for this path" \
    "$program" "$tmp/bucket" "$tmp/libhdf5_ao.310"
[ $bad = 0 ] && echo "the loader serves each libhdf5, and refuses by name"
exit $bad
