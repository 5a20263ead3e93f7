#!/bin/sh
# e2e_ranks.sh - the same frames reconstructed on 1, 2 and 3 ranks: what is written, and that the number of ranks
# and threads changes rounding alone. Phasing amplifies rounding from iteration to iteration, so the comparison is
# made after two generations: one merge at random orientations, one match, one merge at those found.
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
        --set orientation.references=400 --set run.generations=2 --set run.threads="$threads" \
        --set phasing.starts=3 --set phasing.final_loops=2 "$@"
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
    [ "$rows" -ge 2 ]
}
check "the log has a row a generation" table_in_log

# ---- the same for every number of ranks ------------------------------------------------------
. scripts/python.sh
if python=$(python_with_libraries); then
    cat >"$work/same.py" <<'END'
import sys
import h5py
import numpy as np
a, b = (h5py.File(path, "r") for path in sys.argv[1:])

def difference(name):
    x, y = a[name][()], b[name][()]
    return np.linalg.norm(x - y) / np.linalg.norm(x)

# Frames whose two best orientations score alike may change places, a few in 200; one frame that does moves the
# merged intensity by its share of the weight. A random number that depends on the rank moves them all.
cosine = np.clip(np.abs(np.sum(a["orientations"][()] * b["orientations"][()], axis=1)), 0, 1)
same = np.mean(np.degrees(2 * np.arccos(cosine)) < 0.5)
print(f"{100 * same:.1f} % of {len(cosine)} frames have the same orientation; relative differences:",
      {name: float(f"{difference(name):.3g}") for name in ("fluence", "autocorrelation", "intensity")})
first = a["generations/half_resolution_A"][0], b["generations/half_resolution_A"][0]
print("half-set resolution of the random merge", first)
sys.exit(not (same >= 0.98 and difference("fluence") < 0.02 and difference("autocorrelation") < 0.05
              and abs(first[0] - first[1]) < 1e-4 * first[0]))
END
    check "2 ranks give what 1 gives" "$python" "$work/same.py" "$work/one/result.h5" "$work/two/result.h5"
    check "3 ranks give what 1 gives" "$python" "$work/same.py" "$work/one/result.h5" "$work/three/result.h5"
    check "the report is drawn" "$python" scripts/report.py "$work/two/result.h5" --frames "$frames" -o "$work"
else
    echo "skip - ranks compared, report: no Python with numpy, h5py and matplotlib"
fi
exit $status
