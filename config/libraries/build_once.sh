# For sourcing: shared by the scripts that build something into the user's cache, once.  Wants $name (of the
# script, its lock and its log), $cache and $prefix.

say() { printf '%s\n' "$name.sh: $*" >&2; }
die() { say "$*"; exit 1; }

# build_once TOOL...: one at a time; prints $prefix and ends the script where it is built already.  Else $work is an empty folder
# that goes with the script, and $log is empty.
build_once() {
    mkdir -p "$cache"
    exec 9>"$cache/$name.lock"
    flock -n 9 || { say "another build is under way, waiting for it"; flock 9; }
    if [ -e "$prefix/.complete" ]; then
        echo "$prefix"
        exit 0
    fi
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "$tool is missing: install the packages listed in config/packages/hdf5.txt${more_packages:-}"
    done
    work=$(mktemp -d "${TMPDIR:-/tmp}/h5bucket-$name.XXXXXX")
    log=$cache/$name-build.log
    trap 'rm -rf "$work" "$prefix.part"' EXIT
    trap 'exit 130' INT TERM
    : > "$log"
}

step() { # step TEXT COMMAND...: run quietly; on failure show the end of the log
    text=$1; shift
    say "$text"
    "$@" >> "$log" 2>&1 9>&- || { tail -n 25 "$log" >&2; die "failed: $text (whole log: $log)"; }
}
