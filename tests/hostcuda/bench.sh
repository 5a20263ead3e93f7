#!/bin/sh
# bench.sh - the timing program of scripts/gpu_check.sh (BENCH), on the host-CUDA layer at tiny sizes: every case and method
# runs with errors within bounds, the JSON can be read, no time is told, and a wrong result would be noticed.
set -u
. tests/lib_check.sh
bench() {
    HC_STREAMS=lazy "$BENCH" --dry --scale 20000 --repeat 1 --json "$work/gpu.json" >"$work/table" 2>&1
    code=$?
    cat "$work/table"
    return $code
}
check "the timing program runs" bench
check "every method of every case: 9 x 2 x 6 rows" python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["nufft"]
assert len(rows) == 108, len(rows)
assert all(row["error"] < 1e-3 and "execute_ms" not in row for row in rows)' "$work/gpu.json"
no_peer() {
    "$BENCH" --dry --scale 1e9 --repeat 1 --cufinufft "$work/none.so" | grep "cuFINUFFT left out"
}
check "without cuFINUFFT it says so" no_peer
exit $status
