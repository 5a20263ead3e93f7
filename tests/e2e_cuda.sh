#!/bin/sh
# e2e_cuda.sh - the reconstruction on the CUDA backend, against the CPU backend of the same program, on 1, 2 and 3 ranks; and
# what happens without a device, with little memory and when calls fail.
#
# MTIP names a program built on the host-CUDA layer (make hostcuda-program); 200 frames of 24 x 24 pixels.
# MTIP_E2E_SHORT=1, for make check: two of the failing calls only, and no driver on 3 ranks only.
set -u
. tests/lib_e2e.sh
. scripts/python.sh
export GCOV_PREFIX="$work/gcov" # lines of kernels are counted by tests/cuda_*.c alone

frames=$work/frames.h5
check "simulate" "$mtip" simulate --set simulate.output="$frames" --set simulate.frames=200 \
    --set simulate.pixels=24 --set simulate.photons=1000 --set simulate.edge_resolution=10 --set simulate.seed=5

# Double precision, few conjugate-gradient steps and little phasing, so that the backends can be compared at all: their
# transforms agree to 1e-13, which 8 steps of the merge keep and 30 make 1e-3, as rounding does on one backend (the
# modes that few frames determine), and each loop of RAAR multiplies differences by some 1e6.
reconstruct() { # RANKS BACKEND FOLDER OPTIONS...
    ranks=$1 backend=$2 folder=$3
    shift 3
    OMP_NUM_THREADS=1 on "$ranks" "$mtip" reconstruct --force --set input.file="$frames" --set run.output="$work/$folder" \
        --set run.backend="$backend" --set run.threads=1 --set run.precision=double --set particle.diameter=80 \
        --set particle.mass=32 --set resolution.limit=16 --set orientation.references=100 \
        --set orientation.references_min=100 --set orientation.refine_trials=2 --set orientation.refine_rounds=1 \
        --set merge.iterations=8 --set phasing.algorithm=er --set phasing.loops=1 --set phasing.starts=1 \
        --set phasing.final_loops=1 --set phasing.final_iterations=5 --set phasing.final_er_iterations=10 \
        --set run.generations=2 "$@"
}
on_devices() { # DEVICES MEMORY RANKS FOLDER OPTIONS...
    HC_DEVICES=$1 HC_MEM=$2
    export HC_DEVICES HC_MEM
    shift 2
    ranks=$1 folder=$2
    shift 2
    reconstruct "$ranks" cuda "$folder" "$@"
}
LIMIT=${LIMIT:-100}
check "CPU, 1 rank" reconstruct 1 cpu cpu
folders="cuda1 cuda2 cuda3"
check "CUDA, 1 rank, 1 device" on_devices 1 8G 1 cuda1
HC_ORDER=random # of threads and blocks, which must not matter either
export HC_ORDER
check "CUDA, 2 ranks, 4 devices" on_devices 4 8G 2 cuda2
HC_ORDER=reverse
check "CUDA, 3 ranks, 2 devices" on_devices 2 8G 3 cuda3
unset HC_ORDER

# ---- the same result -------------------------------------------------------------------------
for folder in $folders; do
    check "density of the CPU: $folder" same_density "$work/$folder/density.mrc" "$work/cpu/density.mrc"
done
if python=$(python_with_libraries); then
    for folder in $folders; do
        check "orientations of the CPU: $folder" same_orientations "$python" "$work/cpu/result.h5" \
            "$work/$folder/result.h5" 0.1
    done
    cat >"$work/bits.py" <<'END'
import sys
import h5py
first, *others = (h5py.File(path, "r") for path in sys.argv[1:])
names = ["density", "support", "autocorrelation", "orientations", "fluence", "score", "fsc", "prtf"]
different = [(o.filename, n) for o in others for n in names if o[n][()].tobytes() != first[n][()].tobytes()]
print(different)
sys.exit(len(others) == 0 or len(different) > 0)
END
    check "the same bits on 1, 2 and 3 ranks" "$python" "$work/bits.py" "$work/cuda1/result.h5" \
        "$work/cuda2/result.h5" "$work/cuda3/result.h5"
else
    echo "skip - orientations: no Python with numpy, h5py and matplotlib"
fi

# ---- devices -----------------------------------------------------------------------------------
says() { # FOLDER WORD
    cat "$work/$1/log.txt"
    grep -qF -e "$2" "$work/$1/log.txt"
}
check "the log names the device" says cuda3 "device 0"
no_driver() {
    HC_NODRIVER=1 fails "$1" 1 "no CUDA device" "$mtip" reconstruct --set input.file="$frames" \
        --set run.output="$work/none" --set run.backend=cuda
}
[ -n "${MTIP_E2E_SHORT:-}" ] || check "cuda without a driver: one message, 1 rank" no_driver 1
check "cuda without a driver: one message, 3 ranks" no_driver 3
without_driver() {
    HC_NODRIVER=1 reconstruct 1 auto auto --set run.generations=1 --set phasing.starts=1
}
check "auto without a driver runs" without_driver
check "and says why it is on the CPU" says auto "on the CPU, since no CUDA device"

# ---- little memory -----------------------------------------------------------------------------
too_little() {
    HC_MEM=20M fails 2 1 "of device memory but" "$mtip" reconstruct --set input.file="$frames" \
        --set run.output="$work/little" --set run.backend=cuda --set particle.diameter=80 --set resolution.limit=16
}
check "too little device memory: one message that says how much" too_little
check "little device memory" on_devices 1 112M 1 small
smaller_batches() { # less is planned than with more memory, and the result is the same
    grep -h "^memory" "$work/cuda1/log.txt" "$work/small/log.txt"
    at_most "$(awk '$1 == "memory" { print $2 }' "$work/small/log.txt")" 112 &&
        at_least "$(awk '$1 == "memory" { print $2 }' "$work/cuda1/log.txt")" 113
}
check "smaller batches" smaller_batches
check "density of the CPU: small" same_density "$work/small/density.mrc" "$work/cpu/density.mrc"

# ---- failing calls -----------------------------------------------------------------------------
fails_at() { # RANKS VARIABLE N
    export "$2=$3"
    fails "$1" 1 "mtip: error:" "$mtip" reconstruct --set input.file="$frames" --set run.output="$work/failing" --force \
        --set run.backend=cuda --set particle.diameter=80 --set resolution.limit=16 --set run.threads=1
    code=$?
    unset "$2"
    return $code
}
fails_at_all() { # "VARIABLE N"...
    for which in "$@"; do
        # shellcheck disable=SC2086 # two words
        check "one message when a call fails: $which" fails_at 2 $which
    done
}
fails_at_all "HC_FAIL_FFT 3" "HC_FAIL_LAUNCH 9"
[ -n "${MTIP_E2E_SHORT:-}" ] ||
    fails_at_all "HC_FAIL_CALL 30" "HC_FAIL_CALL 200" "HC_FAIL_CALL 1000" "HC_FAIL_ALLOC 12" "HC_FAIL_BLAS 2" \
        "HC_FAIL_SYNC 7" "HC_FAIL_PINNED 3" "HC_FAIL_COPY 20" "HC_FAIL_STREAM 1" "HC_FAIL_EVENT 1" "HC_FAIL_DEVICE 1"
exit $status
