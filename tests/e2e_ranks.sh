#!/bin/sh
# e2e_ranks.sh - the same frames reconstructed on 1, 2 and 3 ranks: what is written, and that the number of ranks
# and threads changes nothing. How good a reconstruction is, is judged by e2e_demo.sh; this one is short.
set -u
. tests/lib_e2e.sh
LIMIT=100

frames=$work/frames.h5
check "simulate" "$mtip" simulate --set simulate.output="$frames" --set simulate.frames=200 \
    --set simulate.pixels=24 --set simulate.photons=2000 --set simulate.edge_resolution=12 --set simulate.seed=3

reconstruct() { # RANKS THREADS FOLDER OPTIONS...
    ranks=$1 threads=$2 folder=$3
    shift 3
    OMP_NUM_THREADS=$threads on "$ranks" "$mtip" reconstruct --set input.file="$frames" \
        --set run.output="$work/$folder" --set particle.diameter=72 --set resolution.limit=12 \
        --set orientation.references=400 --set run.generations=4 --set run.threads="$threads" \
        --set phasing.starts=3 --set phasing.final_loops=3 "$@"
}
check "reconstruct on 1 rank, 2 threads" reconstruct 1 2 one
check "reconstruct on 2 ranks" reconstruct 2 1 two
check "reconstruct on 3 ranks" reconstruct 3 1 three

# ---- what is written -------------------------------------------------------------------------
for file in result.h5 density.mrc log.txt; do
    check "$file is written" test -s "$work/two/$file"
done
keeps_the_result() {
    fails 2 2 result.h5 "$mtip" reconstruct --set input.file="$frames" --set run.output="$work/two"
}
check "a result that exists is not overwritten" keeps_the_result
info_says() { # FILE WORD
    "$mtip" info "$1" >"$work/info" && cat "$work/info" && grep -q "$2" "$work/info"
}
check "info on frames" info_says "$frames" 200
check "info on a result" info_says "$work/two/result.h5" 200
check "info on a volume" info_says "$work/two/density.mrc" "voxel"
table_in_log() {
    rows=$(grep -cE '^ *[0-9]+ ' "$work/two/log.txt")
    cat "$work/two/log.txt"
    [ "$rows" -ge 4 ]
}
check "the log has a row a generation" table_in_log

# ---- the same for every number of ranks ------------------------------------------------------
same_density() { # FOLDER FOLDER: FSC of 0.99 in every shell
    "$mtip" compare "$work/$1/density.mrc" "$work/$2/density.mrc" --json >"$work/compare.json" || return 1
    cat "$work/compare.json"
    least=$(tr -d '\n' <"$work/compare.json" | sed 's/.*"fsc": *\[\([^]]*\)\].*/\1/' | tr ',' '\n' | sort -g | head -1)
    at_least "$least" 0.99
}
check "2 ranks give the density of 1" same_density one two
check "3 ranks give the density of 1" same_density one three

. scripts/python.sh
if python=$(python_with_libraries); then
    cat >"$work/same.py" <<'END'
import sys
import h5py
import numpy as np
a, b = (h5py.File(path, "r")["orientations"][()] for path in sys.argv[1:])
cosine = np.clip(np.abs(np.sum(a * b, axis=1)), 0, 1)
angle = np.degrees(2 * np.arccos(cosine))
same = np.mean(angle < 0.1)
print(f"{100 * same:.2f} % of {len(a)} frames have the same orientation, largest angle {angle.max():.3g}")
sys.exit(not same > 0.99)
END
    check "2 ranks give the orientations of 1" "$python" "$work/same.py" "$work/one/result.h5" "$work/two/result.h5"
    check "3 ranks give the orientations of 1" "$python" "$work/same.py" "$work/one/result.h5" "$work/three/result.h5"
    check "the report is drawn" "$python" scripts/report.py "$work/two/result.h5" --frames "$frames" -o "$work"
else
    echo "skip - orientations by rank, report: no Python with numpy, h5py and matplotlib"
fi
exit $status
