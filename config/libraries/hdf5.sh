#!/bin/sh
# Build HDF5 1.14.5 once, from the source package of Debian 13, into the user's cache.
#
#   hdf5.sh            build unless it is there already; prints the prefix as the only line on stdout
#   hdf5.sh --prefix   print where it would be (or is), build nothing
#   hdf5.sh --mpi [--prefix]   the same of a parallel HDF5, with the system's Open MPI (config/packages/mpi.txt); without Fortran
#   hdf5.sh --mpich [--prefix]   the same with the system's MPICH
#   hdf5.sh --static [--prefix]   libhdf5.a alone, for a tool that has HDF5 inside (packages for systems without HDF5 1.14)
#
# For machines whose own HDF5 is older than 1.14 (Debian 12 has 1.10).  The Debian mirror is the one that apt uses;
# the system's package lists are not touched.  Needs the packages of config/packages/hdf5.txt.
# H5BUCKET_HDF5_JOBS sets the number of compile jobs; TMPDIR the place of the build (about 600 MB).
set -eu

VERSION=1.14.5
SUITE=trixie
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/h5bucket
mpi='' mpich='' static=''
case ${1:-} in
--mpi) mpi=-mpi; shift ;;
--mpich) mpi=-mpich mpich=.mpich; shift ;;
--static) static=-static; shift ;;
esac
# Other build options make another prefix; so do another compiler and another machine.
parts() {
    sed -n "/^configure()/,/^}/p" "$here/hdf5.sh"
    "${CC:-cc}" --version | head -n1
    uname -m
    [ -z "$mpich" ] || sed -n "/^make_mpich()/,/^}/p" "$here/hdf5.sh"
    [ -z "$mpi" ] || { sed -n "/^make_parallel()/,/^}/p" "$here/hdf5.sh"; "mpiexec$mpich" --version 2>/dev/null | sed -n '/[0-9][.]/{p;q}'; }
    [ -z "$static" ] || sed -n "/^make_static()/,/^}/p" "$here/hdf5.sh"
}
key=$(parts | sha256sum | cut -c1-10)
prefix=$cache/hdf5$mpi$static-$VERSION-$key

name=hdf5$mpi$static
. "$here/build_once.sh"

if [ "${1:-}" = --prefix ] || [ -e "$prefix/.complete" ]; then
    echo "$prefix"
    exit 0
fi
if [ -n "$mpi" ]; then
    more_packages=" and config/packages/mpi.txt"
    build_once apt-get dpkg-source cmake cc "mpicc$mpich" "mpiexec$mpich"
elif [ -n "$static" ]; then
    build_once apt-get dpkg-source cmake cc
else
    build_once apt-get dpkg-source cmake cc gfortran
fi

. "$here/debian_source.sh"
step "fetching the source of HDF5 $VERSION" debian_source "$work" $SUITE hdf5
src=$(echo "$work/src/hdf5-$VERSION"*)
[ -d "$src" ] || die "Debian $SUITE's hdf5 is not $VERSION any more: $(ls "$work/src")"

# --- build ----------------------------------------------------------------------------------------------------------
# High level library and Fortran exclude thread safety in 1.14, and we test with programs of both kinds.
# Debian's patches (library names, autotools) are not needed here, but do no harm to this build.
configure() {
    mkdir -p "$work/modules" && cat > "$work/modules/FindSZIP.cmake" <<'FIND' &&
find_path(SZIP_INCLUDE_DIR szlib.h)
find_library(SZIP_LIBRARY sz)
if(SZIP_INCLUDE_DIR AND SZIP_LIBRARY)
    set(SZIP_FOUND TRUE)
    add_library(libaec::sz SHARED IMPORTED)
    set_target_properties(libaec::sz PROPERTIES IMPORTED_LOCATION "${SZIP_LIBRARY}" OUTPUT_NAME sz
        INTERFACE_INCLUDE_DIRECTORIES "${SZIP_INCLUDE_DIR}")
    set(SZIP_LIBRARIES libaec::sz)
endif()
FIND
    cmake -S "$src" -B "$work/build" -G "$generator" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib" -DHDF5_INSTALL_LIB_DIR=lib \
        -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_ENABLE_THREADSAFE=OFF \
        -DHDF5_BUILD_HL_LIB=ON -DHDF5_BUILD_FORTRAN=ON -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_JAVA=OFF \
        -DHDF5_BUILD_TOOLS=ON -DHDF5_BUILD_HL_TOOLS=ON -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
        -DHDF5_ENABLE_SZIP_SUPPORT=ON -DHDF5_ENABLE_SZIP_ENCODING=ON -DHDF5_ENABLE_ROS3_VFD=ON \
        -DHDF5_ENABLE_MAP_API=OFF -DBUILD_TESTING=ON -DHDF5_TEST_SERIAL=OFF -DHDF5_TEST_TOOLS=OFF \
        -DHDF5_TEST_EXAMPLES=OFF -DHDF5_TEST_SWMR=OFF -DHDF5_TEST_FORTRAN=OFF -DHDF5_TEST_CPP=OFF \
        -DHDF5_TEST_PARALLEL=OFF -DHDF5_TEST_VFD=OFF -DHDF5_TEST_PASSTHROUGH_VOL=OFF -DHL_BUILD_TESTS=OFF \
        -DHDF5_TEST_API=ON -DHDF5_TEST_API_INSTALL=ON -DHDF5_ENABLE_WARNINGS_AS_ERRORS=OFF \
        -DCMAKE_MODULE_PATH="$work/modules" -DHDF5_DISABLE_COMPILER_WARNINGS=ON -DHDF5_NO_PACKAGES=ON -DHDF5_ALLOW_EXTERNAL_SUPPORT=NO
}
# With MPI only the library and HDF5's parallel tests: the other build has everything else that our tests need.
make_parallel() {
    cmake -DHDF5_ENABLE_PARALLEL=ON -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_TOOLS=OFF \
        -DHDF5_TEST_PARALLEL=ON -DHDF5_ENABLE_SUBFILING_VFD=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON "$work/build"
}
# The default MPI of Debian is Open MPI, so the other one is named.
make_mpich() {
    cmake -DMPI_C_COMPILER=mpicc.mpich -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich "$work/build"
}
# HDF5 installs its parallel API tests only (h5_api_test_parallel and, with this prefix, testphdf5, t_bigio, t_pshutdown and
# t_shapesame), so the others are copied.
parallel_tests() {
    for t in "$work"/build/bin/t_*; do
        [ ! -x "$t" ] || cp "$t" "$prefix.part/bin/" || return 1
    done
    [ -x "$prefix.part/bin/t_pread" ] && [ -x "$prefix.part/bin/h5_api_test_parallel_testphdf5" ]
}
# The library without programs, tests and a driver for S3.  So it needs only zlib and libaec.
make_static() {
    cmake -DONLY_SHARED_LIBS=OFF -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_TOOLS=OFF -DBUILD_TESTING=OFF -DHDF5_TEST_API=OFF \
        -DHDF5_ENABLE_ROS3_VFD=OFF "$work/build"
}
if command -v ninja >/dev/null; then generator=Ninja; else generator="Unix Makefiles"; fi
# Without these the connector could not be tested, so a build that lost one of them is useless.
verify() {
    for have in FILTER_DEFLATE FILTER_SZIP ${static:-ROS3_VFD}; do
        [ "$have" != "$static" ] || continue
        grep -q "#define H5_HAVE_$have 1" "$work"/build/src/H5pubconf.h || { echo "HDF5 would lack $have"; return 1; }
    done
    [ -z "$mpi" ] || grep -q "#define H5_HAVE_PARALLEL 1" "$work"/build/src/H5pubconf.h || { echo "HDF5 would lack MPI"; return 1; }
}
jobs=${H5BUCKET_HDF5_JOBS:-$(nproc)}
step "configuring" configure
[ -z "$mpich" ] || step "choosing MPICH" make_mpich
[ -z "$mpi" ] || step "configuring for MPI" make_parallel
[ -z "$static" ] || step "configuring a static library" make_static
step "looking at the configuration" verify
step "compiling with $jobs jobs (about five minutes on two cores)" cmake --build "$work/build" --parallel "$jobs"

# --- install: a copy beside, then one rename ------------------------------------------------------------------------
# Files of HDF5's own test suite that the connector's tests use: input files and expected output of the tools.
rm -rf "$prefix.part" "$work/stage"
stage() {
    DESTDIR="$work/stage" cmake --install "$work/build" &&
    { [ -z "$static" ] || [ -e "$work/stage$prefix/lib/libhdf5.a" ]; } &&
    mv "$work/stage$prefix" "$prefix.part" &&
    mkdir -p "$prefix.part/share/hdf5-tests" &&
    (cd "$src/tools/test" 2>/dev/null || cd "$src/tools"; find . -type d -name testfiles | while read -r d; do
        mkdir -p "$prefix.part/share/hdf5-tests/$d" && cp -r "$d/." "$prefix.part/share/hdf5-tests/$d/"; done) &&
    { [ -z "$mpi" ] || parallel_tests; } &&
    date -u > "$prefix.part/.complete" &&
    mv -T "$prefix.part" "$prefix"
}
step "installing into $prefix" stage
say "done"
echo "$prefix"
