# For sourcing in a tree: checks of commands.  A failure sets $bad to 1.
# shellcheck shell=sh disable=SC2034
fail() { echo "FAILED: $*"; bad=1; }
says() { # says PATTERN COMMAND...: the command succeeds and prints it
    pattern=$1
    shift
    "$@" > /tmp/out 2>&1 || { fail "$*: exit $?"; head -c 1000 /tmp/out; }
    [ -z "$pattern" ] || grep -q "$pattern" /tmp/out || { fail "$*: no '$pattern' in:"; head -c 1000 /tmp/out; }
}
