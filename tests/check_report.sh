#!/bin/sh
# check_report.sh - scripts/report.py on a made-up result, on one that holds a density alone, and on
# files that are no result.
set -u

. scripts/python.sh
if ! python=$(python_with_libraries); then
    echo "skip - report: no Python with numpy, h5py and matplotlib"
    exit 0
fi
. tests/lib_check.sh

draws() { # RESULT FOLDER OPTIONS...
    result=$1 folder=$2
    shift 2
    "$python" -W error scripts/report.py "$result" -o "$folder" "$@" || return 1
    # A page with content: a blank one compresses to a few kilobytes.
    [ "$(wc -c <"$folder/report.png")" -gt 20000 ] && head -c 4 "$folder/report.pdf" | grep -q '%PDF'
}

refuses() { # FILE: one line that names the file, exit status 1
    "$python" scripts/report.py "$1" -o "$work" 2>"$work/error"
    [ $? -eq 1 ] || return 1
    cat "$work/error"
    [ "$(wc -l <"$work/error")" -eq 1 ] && grep -q "$1" "$work/error"
}

check "a made-up result is written" "$python" tests/synthetic_result.py full "$work/full.h5"
check "a bare result is written" "$python" tests/synthetic_result.py bare "$work/bare.h5"
check "a result is drawn" draws "$work/full.h5" "$work/full"
check "a result with a density alone is drawn" draws "$work/bare.h5" "$work/bare"
echo "no HDF5" >"$work/text.h5"
check "a file that is not HDF5 is refused" refuses "$work/text.h5"
check "a missing file is refused" refuses "$work/none.h5"
exit $status
