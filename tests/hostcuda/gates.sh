#!/bin/sh
# gates.sh - static gates of the CUDA build (make check-cuda-gates sets the variables): every kernel
# within its budget, the gates themselves able to fail, programs that start without a driver.
#   GATES_LOGS     ptxas logs of the product's kernels and of the layer's own
#   GATES_OVER     ptxas log of gates/over.cu
#   GATES_ARCH     architectures, "80 90"
#   GATES_START    program linked with the real libraries
#   GATES_PROGRAM  mtip linked with them
set -u
here=$(dirname "$0")
status=0
folder=$(mktemp -d) || exit 2
output=$folder/output
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2086 # logs are words
python3 "$here/../../scripts/cuda_gates.py" --arch "$GATES_ARCH" "$here/budgets.txt" $GATES_LOGS || status=1

if python3 "$here/../../scripts/cuda_gates.py" "$here/gates/over_budgets.txt" "$GATES_OVER" >"$output"; then
    echo "not ok - the gates let everything pass"
    status=1
fi
for words in 'spill_kernel .*spills [1-9]' 'local_array_kernel .*stack [0-9]*, the budget .* is 0' \
    'shared_kernel .*shared 2048, the budget .* is 1024' 'unnamed_kernel<7> .*no budget fits'; do
    if grep -q "^not ok - over.cu $words" "$output"; then
        echo "ok - refused: over.cu ${words%% .*}"
    else
        echo "not ok - over.cu ${words%% .*} was not refused:"
        cat "$output"
        status=1
    fi
done

for program in "$GATES_START" "$GATES_PROGRAM"; do
    if readelf -d "$program" | grep -q 'NEEDED.*libcuda\.so'; then
        echo "not ok - $(basename "$program") needs the driver's library"
        status=1
    fi
done
"$GATES_START" || status=1

# verdict NAME CODE EXPECTED WORD: whether a run ended with this status and said the word.
verdict() {
    if [ "$2" -eq "$3" ] && grep -qF -e "$4" "$output"; then
        echo "ok - $1"
    else
        echo "not ok - $1: exit status $2, expected $3 and \"$4\""
        cat "$output"
        status=1
    fi
}
# The program as nvcc built it, where there is no device or none may be used.
CUDA_VISIBLE_DEVICES=""
OMP_NUM_THREADS=1
export CUDA_VISIBLE_DEVICES OMP_NUM_THREADS
mtip() {
    timeout 60 "$GATES_PROGRAM" "$@" >"$output" 2>&1
}
mtip --version
verdict "mtip of the CUDA build starts" $? 0 mtip
mtip simulate --set simulate.output="$folder/frames.h5" --set simulate.frames=30 --set simulate.pixels=16 \
    --set simulate.edge_resolution=12
verdict "mtip of the CUDA build simulates" $? 0 ""
reconstruct() { # BACKEND
    mtip reconstruct --set input.file="$folder/frames.h5" --set run.output="$folder/$1" --set run.backend="$1" \
        --set particle.diameter=80 --set resolution.limit=20 --set orientation.references=100 \
        --set orientation.references_min=100 --set run.generations=1 --set phasing.loops=1 --set phasing.starts=1 \
        --set phasing.final_loops=1
}
reconstruct cuda
verdict "mtip of the CUDA build refuses run.backend=cuda without a device" $? 1 "no CUDA device"
reconstruct auto
verdict "mtip of the CUDA build falls back to the CPU" $? 0 "on the CPU, since no CUDA device"
exit $status
