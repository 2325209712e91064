#!/bin/sh
# Build the parts of HDF5's own test suite that its installation lacks, once, into the user's cache: the test
# files that its generators write, and the programs of its high-level and Fortran tests.  For our tests only.
#
#   hdf5-tests.sh HDF5_PREFIX            build unless it is there already; prints the folder as the only line on stdout
#   hdf5-tests.sh --prefix HDF5_PREFIX   print where it would be (or is), build nothing
#
# config/libraries/hdf5.sh prints HDF5_PREFIX.  The folder then holds
#   files/TOOL/…   HDF5's files of the tests of h5dump, h5ls, h5diff, h5repack, h5copy, …: shipped and generated
#   files/test/…   those of the library's own tests: old formats, families and multi files of HDF5 1.6
#   hl/, fortran/  test programs, and the files that they read
# The generators need HDF5's private headers, so its source is fetched again; the libraries are those of HDF5_PREFIX.
set -eu

SUITE=trixie
only=
if [ "${1:-}" = --prefix ]; then only=1; shift; fi
hdf5=${1:?prefix of HDF5}
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
prefix=$cache/hdf5-tests-$( { echo "$hdf5"; sed -n '/^# --- build/,/^# --- install/p' "$here/hdf5-tests.sh"; } | sha256sum | cut -c1-10)
[ -n "$only" ] || [ -e "$prefix/.complete" ] && { echo "$prefix"; exit 0; }

name=hdf5-tests
. "$here/build_once.sh"
[ -e "$hdf5/lib/libhdf5_test.so" ] || die "$hdf5 has no libhdf5_test.so: not built by config/libraries/hdf5.sh"
build_once apt-get cc gfortran tar
. "$here/debian_source.sh"
# The original tar file alone: apt checks its sum, and Debian's packaging is not needed.
step "fetching the source of HDF5" debian_source "$work" $SUITE hdf5 --tar-only
step "unpacking it" sh -c 'mkdir "$1/hdf5" && tar -xf "$1"/src/hdf5_*.orig.tar.* -C "$1/hdf5" --strip-components=1' sh "$work"
src=$work/hdf5
version=$(sed -n 's/^#define H5_VERS_STR *"\(.*\)".*/\1/p' "$src/src/H5public.h")
grep -q "^#define H5_VERS_STR *\"$version\"" "$hdf5/include/H5public.h" ||
    die "Debian $SUITE's HDF5 is $version, another than $hdf5"

# --- build ----------------------------------------------------------------------------------------------------------
out=$prefix.part
include="-I$src/src -I$src/src/H5FDsubfiling -I$src/test -I$src/tools/lib -I$src/hl/src -I$src/fortran/src -I$hdf5/include"
link="-L$hdf5/lib -lhdf5_tools -lhdf5_test -lhdf5 -lm -Wl,-rpath,$hdf5/lib"

# Files that none of the cases below needs may fail to be generated (a generator can want a filter that isn't built in), so
# each generator is on its own; a tool without a single file fails at the end.
generate() {
    for gen in h5dump/h5dumpgentest h5diff/h5diffgentest h5repack/h5repackgentest h5copy/h5copygentest h5stat/h5stat_gentest \
        misc/h5clear_gentest misc/h5repart_gentest misc/talign h5jam/h5jamgentest h5format_convert/h5fc_gentest; do
        tool=${gen%/*}
        mkdir -p "$out/files/$tool"
        # shellcheck disable=SC2086
        cc -w -O1 $include "$src/tools/test/$gen.c" -o "$work/generator" $link || return 1
        (cd "$out/files/$tool" && timeout 120 "$work/generator" > /dev/null) || echo "generator $gen ended with $?"
    done
    for d in "$src"/tools/test/*/testfiles; do # what is shipped is what the expected outputs were made from: it wins
        tool=$(basename "$(dirname "$d")")
        mkdir -p "$out/files/$tool" && cp -r "$d/." "$out/files/$tool/" || return 1
    done
    mkdir -p "$out/files/test" && cp "$src"/test/testfiles/*.h5 "$out/files/test/" || return 1
    for tool in h5dump h5ls h5diff h5repack h5copy h5stat; do
        find "$out/files/$tool" -name '*.h5' | grep -q . || { echo "no files of $tool"; return 1; }
    done
}

hl() {
    mkdir -p "$out/hl" "$work/hl" && cp -r "$src/hl/test/testfiles/." "$out/hl/" || return 1
    sed 's#@srcdir@#.#' "$src/hl/test/H5srcdir_str.h.in" > "$work/hl/H5srcdir_str.h"
    for t in ds dset_append file_image image ld lite table packet h5do_compat; do
        more=; [ $t != packet ] || more=$src/hl/test/test_packet_vlen.c
        # shellcheck disable=SC2086
        cc -w -O1 "-I$work/hl" "-I$src/hl/test" $include "$src/hl/test/test_$t.c" $more -o "$out/hl/test_$t" \
            -L"$hdf5/lib" -lhdf5_hl $link || return 1
    done
    cp "$src"/hl/test/*.txt "$out/hl/" 2>/dev/null || true
}

fortran_program() { # fortran_program NAME FLAGS SOURCE...
    name=$1 flags=$2; shift 2
    # shellcheck disable=SC2086
    gfortran -w -cpp $flags "-I$work/fortran" "-I$hdf5/mod/shared" "-I$hdf5/include" "-J$work/fortran" "$@" \
        "$work"/fortran/tf.o "$work"/fortran/tf_gen.o "$work"/fortran/t.o -o "$out/fortran/$name" \
        -L"$hdf5/lib" -lhdf5_hl_fortran -lhdf5_hl_f90cstub -lhdf5_fortran -lhdf5_f90cstub -lhdf5_hl $link
}

fortran() {
    f=$src/fortran/test
    mkdir -p "$out/fortran" "$work/fortran" && cd "$work/fortran" || return 1
    gfortran -w -cpp "-I$hdf5/include" "$f/H5_test_buildiface.F90" -o buildiface && ./buildiface || return 1
    # shellcheck disable=SC2086
    cc -w -O1 $include -c "$f/t.c" -o t.o || return 1
    for m in tf tf_gen; do
        from=$f/$m.F90; [ -e "$from" ] || from=$m.F90
        gfortran -w -cpp "-I$hdf5/mod/shared" "-I$hdf5/include" -J. -c "$from" -o $m.o || return 1
    done
    # The test of file images ends the program where a file isn't one of HDF5's own, with most tests still to come: it is
    # taken out of the main program, and has one of its own.
    sed '/CALL test_get_file_image/,/CALL write_test_status/d' "$f/fortranlib_test.F90" > main_rest.F90
    printf '%s\n' 'PROGRAM image' '  USE HDF5' '  USE THDF5' '  USE TH5_MISC' '  INTEGER :: error, wrong = 0, all_wrong = 0' \
        '  CALL h5open_f(error)' '  CALL test_get_file_image(wrong)' \
        "  CALL write_test_status(wrong, ' Testing get file image ', all_wrong)" 'END PROGRAM image' > main_image.F90
    for t in rest image; do
        fortran_program testhdf5_fortran_$t '' "$f"/tH5A.F90 "$f"/tH5D.F90 "$f"/tH5E.F90 "$f"/tH5F.F90 "$f"/tH5G.F90 "$f"/tH5I.F90 \
            "$f"/tH5P.F90 "$f"/tH5R.F90 "$f"/tH5S.F90 "$f"/tH5Sselect.F90 "$f"/tH5T.F90 "$f"/tH5VL.F90 "$f"/tH5Z.F90 \
            "$f"/tHDF5.F90 main_$t.F90 || return 1
    done
    fortran_program testhdf5_fortran_1_8 '' "$f"/tH5O.F90 "$f"/tH5A_1_8.F90 "$f"/tH5G_1_8.F90 "$f"/tH5MISC_1_8.F90 \
        "$f"/tHDF5_1_8.F90 "$f"/fortranlib_test_1_8.F90 || return 1
    fortran_program fortranlib_test_F03 '' "$f"/tH5E_F03.F90 "$f"/tH5L_F03.F90 "$f"/tH5O_F03.F90 "$f"/tH5P_F03.F90 \
        "$f"/tH5T_F03.F90 "$f"/tHDF5_F03.F90 "$f"/fortranlib_test_F03.F90 || return 1
    for t in fflush1 fflush2; do
        fortran_program $t '' "$f/$t.F90" || return 1
    done
    for t in tstds tstimage tstlite tsttable; do
        fortran_program hl_$t '' "$src/hl/fortran/test/$t.F90" || return 1
    done
}

step "writing test files" generate
step "building HDF5's high-level tests" hl
step "building HDF5's Fortran tests" fortran
# --- install --------------------------------------------------------------------------------------------------------
date -u > "$out/.complete"
rm -rf "$prefix"
mv -T "$out" "$prefix"
say "done: $(find "$prefix/files" -name '*.h5' | wc -l) HDF5 files"
echo "$prefix"
