# lib_e2e.sh - what the end-to-end tests share; read with ". tests/lib_e2e.sh" from the repository's root.
# Gives what lib_check.sh does and the functions below. MTIP names the program.
# shellcheck shell=sh disable=SC2034

. tests/lib_check.sh
. scripts/mpi_env.sh
mtip=${MTIP:-build/mtip}
export OMP_WAIT_POLICY=passive

# on RANKS COMMAND...: under mpirun, with 60 s to end; 0 ranks: without mpirun.
on() {
    ranks=$1
    shift
    if [ "$ranks" -eq 0 ]; then
        timeout -k 5 "${LIMIT:-60}" "$@"
    else
        timeout -k 5 "${LIMIT:-60}" "${MPIRUN:-mpirun}" -n "$ranks" "$@"
    fi
}

# fails RANKS STATUS WORD COMMAND...: the command ends with this exit status within 20 s, says the word on standard
# error in one message (each line once, whatever the number of ranks) and does not crash.
fails() {
    ranks=$1 expected=$2 word=$3
    shift 3
    LIMIT=20 on "$ranks" "$@" >"$work/out" 2>"$work/err"
    code=$?
    cat "$work/out" "$work/err"
    if [ "$code" -ne "$expected" ]; then
        echo "exit status $code, expected $expected"
        return 1
    fi
    if ! grep -qF -e "$word" "$work/err"; then
        echo "the message does not name \"$word\""
        return 1
    fi
    if [ "$(grep -cF -e "$word" "$work/err")" -gt 1 ]; then
        echo "the message comes more than once"
        return 1
    fi
    if grep -qiE 'signal|segmentation|sanitizer|core dumped' "$work/err"; then
        echo "it crashed"
        return 1
    fi
}

# json_value FILE KEY: the number behind a key of a flat JSON object.
json_value() {
    sed -n "s/.*\"$2\": *\\([-+0-9.eE]*\\).*/\\1/p" "$1" | head -1
}

# same_density RESULT REFERENCE: the FSC of two volumes or results is 0.99 or more in every shell.
same_density() {
    "$mtip" compare "$1" "$2" --json >"$work/compare.json" || return 1
    cat "$work/compare.json"
    least=$(tr -d '\n ' <"$work/compare.json" | sed 's/.*"fsc":\[\([^]]*\)\].*/\1/' | tr ',' '\n' | sort -g | head -1)
    at_least "$least" 0.99
}

# same_orientations PYTHON RESULT RESULT DEGREES: over 99 % of the frames have orientations closer than that, with no rotation
# between the results taken out. PYTHON: see scripts/python.sh.
same_orientations() {
    "$1" - "$2" "$3" "$4" <<'END'
import sys
import h5py
import numpy as np
a, b = (h5py.File(path, "r")["orientations"][()] for path in sys.argv[1:3])
angle = np.degrees(2 * np.arccos(np.clip(np.abs(np.sum(a * b, axis=1)), 0, 1)))
same = np.mean(angle < float(sys.argv[3]))
print(f"{100 * same:.2f} % of {len(a)} frames have the same orientation, largest angle {angle.max():.3g}")
sys.exit(not same > 0.99)
END
}

# at_most VALUE BOUND, at_least VALUE BOUND: also fail for what is no number.
at_most() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a ~ /^[-+0-9.]/ && a + 0 <= b + 0) }' ||
        { echo "\"$1\" is not at most $2"; return 1; }
}
at_least() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a ~ /^[-+0-9.]/ && a + 0 >= b + 0) }' ||
        { echo "\"$1\" is not at least $2"; return 1; }
}
