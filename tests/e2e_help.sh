#!/bin/sh
# e2e_help.sh - help and version, made from the same tables as the program's behaviour.
set -u
. tests/lib_e2e.sh

says() { # WORD COMMAND...: status 0, the word on standard output, nothing on standard error
    word=$1
    shift
    "$@" >"$work/out" 2>"$work/err" || return 1
    cat "$work/err"
    grep -qF -e "$word" "$work/out" && [ ! -s "$work/err" ]
}

check "mtip --help" says reconstruct "$mtip" --help
check "mtip --version" says mtip "$mtip" --version
for command in simulate reconstruct compare info; do
    check "mtip --help names $command" says "$command" "$mtip" --help
    check "mtip $command --help" says "$command" "$mtip" "$command" --help
done
check "keys with defaults in the help of reconstruct" says particle.diameter "$mtip" reconstruct --help
check "keys with defaults in the help of simulate" says simulate.photons "$mtip" simulate --help
check "no command is bad usage" fails 0 2 help "$mtip"

# The commented example file holds every key, with its default.
every_key_is_there() {
    "$mtip" simulate --help >"$work/help"
    "$mtip" reconstruct --help >>"$work/help"
    grep -oE '(input|particle|resolution|grid|orientation|merge|phasing|run|simulate)\.[a-z_]+' "$work/help" |
        sort -u >"$work/keys"
    [ "$(wc -l <"$work/keys")" -gt 30 ] || { echo "few keys in the help"; return 1; }
    while IFS=. read -r group key; do
        awk -v group="$group" -v key="$key" '
            $1 ~ "^" group "[:=]?$" || $1 == group ":" { inside = 1 }
            inside && $1 == key { found = 1 }
            /^}/ { inside = 0 }
            END { exit !found }' configs/reference.cfg || { echo "configs/reference.cfg lacks $group.$key"; return 1; }
    done <"$work/keys"
}
if [ -f configs/reference.cfg ]; then
    check "configs/reference.cfg has every key" every_key_is_there
fi
exit $status
