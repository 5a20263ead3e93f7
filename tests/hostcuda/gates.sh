#!/bin/sh
# gates.sh - static gates of the CUDA build (make check-cuda-gates sets the variables): every kernel
# within its budget, the gates themselves able to fail, programs that start without a driver.
#   GATES_LOGS     ptxas logs of the product's kernels and of the layer's own
#   GATES_OVER     ptxas log of gates/over.cu
#   GATES_ARCH     architectures, "80 90"
#   GATES_START    program linked with the real libraries
#   GATES_PROGRAM  mtip linked with them, empty where the CUDA backend is not whole yet
set -u
here=$(dirname "$0")
status=0
output=$(mktemp) || exit 2
trap 'rm -f "$output"' EXIT

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

for program in "$GATES_START" ${GATES_PROGRAM:+"$GATES_PROGRAM"}; do
    if readelf -d "$program" | grep -q 'NEEDED.*libcuda\.so'; then
        echo "not ok - $(basename "$program") needs the driver's library"
        status=1
    fi
done
"$GATES_START" || status=1
if [ -n "${GATES_PROGRAM:-}" ]; then
    if "$GATES_PROGRAM" --version >"$output" 2>&1; then
        echo "ok - mtip of the CUDA build starts"
    else
        echo "not ok - mtip of the CUDA build does not start"
        cat "$output"
        status=1
    fi
fi
exit $status
