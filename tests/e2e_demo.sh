#!/bin/sh
# e2e_demo.sh - the demo as a newcomer runs it: frames in unknown orientations, reconstruction on two ranks, and a
# density that agrees with the truth.
set -u
. tests/lib_e2e.sh
. scripts/python.sh

check "the demo runs to its end" env MTIP="$mtip" timeout 280 sh scripts/demo.sh "$work/demo"
for file in frames.h5 result.h5 density.mrc log.txt; do
    check "$file is written" test -s "$work/demo/$file"
done
if python_with_libraries >/dev/null; then
    check "the pictures are drawn" test -s "$work/demo/report.png" -a -s "$work/demo/report.pdf"
else
    echo "skip - pictures: no Python with numpy, h5py and matplotlib"
fi

# 1000 photons a frame, limit 7.2 A. A wrong optimum has a median error of tens of degrees.
good() { # KEY at_most|at_least BOUND
    value=$(json_value "$work/compare.json" "$1")
    echo "$1 = $value"
    "$2" "$value" "$3"
}
check "the result is compared with the truth" \
    sh -c '"$1" compare "$2/result.h5" "$2/frames.h5" --json >"$3"' sh "$mtip" "$work/demo" "$work/compare.json"
check "median orientation error at most 5 degrees" good orientation_median_deg at_most 5
check "90 % of the frames within 10 degrees" good orientation_within_10_deg at_least 0.9
check "FSC with the truth is 0.5 at 8.5 A or better" good resolution_0.5_A at_most 8.5
exit $status
