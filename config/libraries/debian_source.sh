# Packages and their sources, of another Debian release than this machine's: sourced by scripts that build programs for tests.  POSIX sh.
# shellcheck shell=sh

# debian_mirror: the URI of the Debian archive proper that apt uses here (not the security one).
debian_mirror() {
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)/$(LABEL)' 'Created-By: Packages' |
             sed -n 's!^\([^ ]*\) Debian/Debian$!\1!p' | sort -u | head -n1)
    if [ -z "$mirror" ]; then # lists never downloaded: origin and label are unknown then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n '/\/debian\/*$/p' | sort -u | head -n1)
    fi
    [ -n "$mirror" ] || { echo "apt knows no Debian mirror (see: apt-get indextargets)" >&2; return 1; }
    echo "$mirror"
}

# debian_lists WORK SUITE TYPE: lists of the suite's packages (TYPE deb) or sources (deb-src), for debian_apt.  They and the cache
# are below WORK; the system's stay as they are.  apt checks all signatures and sums.
debian_lists() {
    dsc_work=$1 dsc_suite=$2 dsc_type=$3
    dsc_mirror=$(debian_mirror) || return 1
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg; [ -e $keyring ] || keyring=${keyring%.gpg}.pgp
    [ -e $keyring ] || { echo "$keyring is missing: install debian-archive-keyring" >&2; return 1; }
    mkdir -p "$dsc_work/lists/partial" "$dsc_work/archives/partial" "$dsc_work/src" "$dsc_work/empty"
    echo "$dsc_type [signed-by=$keyring] $dsc_mirror $dsc_suite main" > "$dsc_work/sources.list"
    : > "$dsc_work/status"
    debian_apt -o APT::Update::Error-Mode=any update
}

debian_apt() { # debian_apt ARGUMENT...: apt-get, which knows those lists and no installed package
    (cd "$dsc_work/src" && apt-get -q -o Dir::Etc::sourcelist="$dsc_work/sources.list" \
        -o Dir::Etc::sourceparts="$dsc_work/empty" -o Dir::State::lists="$dsc_work/lists" -o Dir::Cache="$dsc_work" \
        -o Dir::Cache::archives="$dsc_work/archives" -o Dir::State::status="$dsc_work/status" \
        -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 "$@")
}

# debian_source WORK SUITE PACKAGE [apt-get option...]: the package's source below WORK/src.
debian_source() {
    dsc_work=$1 dsc_suite=$2 dsc_package=$3; shift 3
    debian_lists "$dsc_work" "$dsc_suite" deb-src && debian_apt --only-source -t "$dsc_suite" "$@" source "$dsc_package"
}

# debian_binaries WORK SUITE PACKAGE: the package and all that it depends on, as WORK/archives/*.deb.
debian_binaries() {
    debian_lists "$1" "$2" deb && debian_apt -y --no-install-recommends --download-only install "$3"
}
