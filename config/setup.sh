# Shared by ./try and ./check: sourced, with `root` set to the project's folder.  POSIX sh.
# shellcheck shell=sh disable=SC2154

say() { printf '\n\033[1m== %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

listed() { sed 's/#.*//' "$@" | tr -s ' \t\n' '\n' | sort -u | sed '/^$/d'; }

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need_packages LIST...: install the packages of the lists that the machine lacks.  No service is started by
# it.
need_packages() {
    missing=
    for p in $(listed "$@"); do
        is_installed "$p" || missing="$missing $p"
    done
    [ -n "$missing" ] || return 0
    by_hand="apt-get install --no-install-recommends$missing"
    command -v apt-get >/dev/null || die "this is not a Debian system: install what provides$missing, and build with cmake (README.md)"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "packages are missing, and sudo is missing; as root: $by_hand"
    say "installing:$missing"
    guard=/usr/sbin/policy-rc.d
    # dpkg asks policy-rc.d whether it may start a service: it may not (Debian policy 9.3.3)
    as_root sh -eu -c '
        guard=$1; shift
        log=$(mktemp)
        trap "rm -f $log" EXIT
        if [ ! -e "$guard" ]; then
            trap "rm -f $guard $log" EXIT
            printf "#!/bin/sh\nexit 101\n" > "$guard"
            chmod 755 "$guard"
        fi
        export DEBIAN_FRONTEND=noninteractive
        quiet() { "$@" > "$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }; }
        quiet apt-get -q -o DPkg::Lock::Timeout=300 -o APT::Update::Error-Mode=any update ||
            echo "apt-get update failed; going on with the lists there are" >&2
        quiet apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install --no-install-recommends "$@"
    ' sh "$guard" $missing || die "installing packages failed (see above); by hand, as root: $by_hand"
}

# The HDF5 to build against: the user's choice, else the system's if it is 1.14 or newer, else our own build.
# Sets hdf5_option for cmake and hdf5_bin, the folder of h5ls and h5dump.
need_hdf5() {
    if [ -n "${HDF5_ROOT:-}" ]; then
        hdf5_option=-DHDF5_ROOT=$HDF5_ROOT hdf5_bin=$HDF5_ROOT/bin
        return
    fi
    candidate=$(LC_ALL=C apt-cache policy libhdf5-dev 2>/dev/null | sed -n 's/^ *Candidate: *//p')
    if [ -n "$candidate" ] && dpkg --compare-versions "$candidate" ge 1.14; then
        need_packages "$root/config/packages/hdf5-system.txt"
        hdf5_option=-DHDF5_ROOT= hdf5_bin=/usr/bin
        return
    fi
    own_hdf5 "the system's is older"
}

# own_hdf5 WHY: the same of our own build, which has HDF5's test programs, too.
own_hdf5() { cached_hdf5 "HDF5 1.14 once, for this user ($1)"; }
# mpi_hdf5 mpi|mpich: the same of our own build with Open MPI or MPICH: the library alone.
mpi_hdf5() { cached_hdf5 "HDF5 1.14 with MPI once, for this user" "--$1"; }
cached_hdf5() { # cached_hdf5 WHAT [option of hdf5.sh]
    what=$1; shift
    prefix=$("$root/config/libraries/hdf5.sh" "$@" --prefix)
    if [ ! -e "$prefix/.complete" ]; then
        need_packages "$root/config/packages/hdf5.txt"
        say "building $what"
        prefix=$("$root/config/libraries/hdf5.sh" "$@") || exit 1
    fi
    hdf5_option=-DHDF5_ROOT=$prefix hdf5_bin=$prefix/bin
}

# build PRESET [cmake options]: configure and build into build/PRESET, showing output only when it fails.
build() {
    preset=$1; shift
    mkdir -p "$root/build"
    blog=$root/build/$preset.log
    # shellcheck disable=SC2046 # words
    (cd "$root" && cmake --preset "$preset" "$hdf5_option" "$@" && cmake --build --preset "$preset" $(targets_of "$preset")) > "$blog" 2>&1 ||
        { grep -E -A8 'error|Error|FAILED' "$blog" | head -n 60 >&2; die "building failed; the whole log is $blog"; }
}
targets_of() { :; } # all
