#!/bin/sh
# demo.sh [FOLDER] - a reconstruction from start to picture with the built program: frames of the built-in
# particle, their reconstruction on two ranks, its judgement against the truth, one page of pictures.
# Everything is written to FOLDER (default demo/). Environment: MTIP (program), MPIRUN, PYTHON.
set -eu

cd "$(dirname "$0")/.."
. scripts/mpi_env.sh
. scripts/python.sh

mtip=${MTIP:-build/mtip}
out=${1:-demo}
cores=$(getconf _NPROCESSORS_ONLN)
OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(((cores + 1) / 2))}
export OMP_NUM_THREADS OMP_WAIT_POLICY=passive
started=$(date +%s)
mkdir -p "$out"

say() {
    printf '\n== %s\n' "$*"
}

say "simulate: photon frames of the built-in particle in random orientations"
"$mtip" simulate configs/demo_simulate.cfg --set simulate.output="$out/frames.h5"

say "reconstruct: 2 ranks, $OMP_NUM_THREADS thread(s) each, from the frames and the particle's diameter alone"
if command -v "${MPIRUN:-mpirun}" >/dev/null 2>&1; then
    launcher="${MPIRUN:-mpirun} -n 2"
else
    launcher=""
fi
# shellcheck disable=SC2086 # the launcher and its options are words
$launcher "$mtip" reconstruct configs/demo_reconstruct.cfg --force \
    --set input.file="$out/frames.h5" --set run.output="$out"

say "compare: the result against the truth kept in the frames file"
"$mtip" compare "$out/result.h5" "$out/frames.h5"

say "report"
if python=$(python_with_libraries); then
    "$python" scripts/report.py "$out/result.h5" --frames "$out/frames.h5" -o "$out"
else
    echo "no Python with numpy, h5py and matplotlib here: the pictures are left out"
fi

say "done in $(($(date +%s) - started)) s; in $out/:"
for file in report.png report.pdf density.mrc result.h5 log.txt frames.h5; do
    [ ! -f "$out/$file" ] || echo "   $file"
done
echo "   density.mrc opens in ChimeraX; scripts/report.py draws the page again"
