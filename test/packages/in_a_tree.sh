# Sourced by the tests in trees of Debian, with $source set: they are skipped where no tree can be made.  POSIX sh.
# shellcheck shell=sh disable=SC2154

skip() { echo "skipped: $*"; exit 77; }

# need_tree WHY TOOL...: a sample of tests is too short for a tree; WHY is printed.
need_tree() {
    [ -z "${BKT_SAMPLE:-}" ] || skip "$1"
    shift
    [ "$(id -u)" = 0 ] || skip "a tree of Debian needs root"
    for need in debootstrap unshare "$@"; do # the scripts have a $tool of their own
        command -v "$need" > /dev/null || skip "no $need (config/packages/packaging.txt)"
    done
}

# work_folder: $work, which goes with the script.  Plugins of this machine are out of the way.
work_folder() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    unset HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
}
