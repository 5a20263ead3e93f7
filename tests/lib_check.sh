# lib_check.sh - what test scripts share; read with ". tests/lib_check.sh" from the repository's root.
# Gives $work (an empty folder, removed at the end), $status (for the script's exit) and check.
# shellcheck shell=sh disable=SC2034

status=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...: one test, passed when the command succeeds; its output is shown when not.
check() {
    name=$1
    shift
    if "$@" >"$work/check.log" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        sed 's/^/  /' "$work/check.log"
        status=1
    fi
}
