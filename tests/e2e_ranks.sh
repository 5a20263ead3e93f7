#!/bin/sh
# e2e_ranks.sh - the same frames reconstructed on 1, 2 and 3 ranks, with 1 and 2 threads: what is written, and that it
# is the same to the last bit. Phasing amplifies any difference from generation to generation, so nothing weaker lasts.
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
        --set orientation.references=400 --set run.generations=5 --set run.threads="$threads" \
        --set phasing.starts=3 --set phasing.final_loops=2 "$@"
}
check "reconstruct on 1 rank, 2 threads" reconstruct 1 2 one
check "reconstruct on 2 ranks" reconstruct 2 1 two
check "reconstruct on 3 ranks" reconstruct 3 1 three
check "reconstruct on 1 rank, 1 thread" reconstruct 1 1 single

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

def datasets(file):
    found = {}
    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]
    file.visititems(keep)
    return found

# All but what names the run and its clock.
first, second = datasets(a), datasets(b)
names = [n for n in first if "seconds" not in n and not n.startswith("configuration/")]
missing = set(first) ^ set(second)
differ = [n for n in names if n in second and np.asarray(first[n]).tobytes() != np.asarray(second[n]).tobytes()]
turned = np.abs(first["orientations"]).max() > 0 and np.abs(first["density"]).max() > 0
print(f"{len(names)} datasets compared, missing: {sorted(missing)}, different: {differ}")
sys.exit(not (turned and len(names) > 10 and not missing and not differ))
END
    check "2 threads give what 1 gives" "$python" "$work/same.py" "$work/one/result.h5" "$work/single/result.h5"
    check "2 ranks give what 1 gives" "$python" "$work/same.py" "$work/one/result.h5" "$work/two/result.h5"
    check "3 ranks give what 1 gives" "$python" "$work/same.py" "$work/one/result.h5" "$work/three/result.h5"
    check "the report is drawn" "$python" scripts/report.py "$work/two/result.h5" --frames "$frames" -o "$work"
else
    echo "skip - ranks compared, report: no Python with numpy, h5py and matplotlib"
fi
exit $status
