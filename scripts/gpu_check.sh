#!/bin/sh
# gpu_check.sh - checks and times the CUDA code on a machine with a GPU, within a few minutes.
#
#   scripts/gpu_check.sh --bundle BUNDLE [-a ARCH] [-w WHEELS]    first, on a machine that builds all of mtip
#   scripts/gpu_check.sh [-b BUNDLE] [-w WHEELS] [-o OUT] [-a ARCH] [-s SCALE] [-r REPEAT] [-n]    on the one with a GPU
#   scripts/gpu_check.sh --layer [-o OUT]                         a dry run without a GPU, on the host-CUDA layer
#
#   --bundle BUNDLE  builds mtip and the tests of the kernels for ARCH with nvcc, and collects in the folder BUNDLE what a
#                    machine without MPI, HDF5, libconfig, FFTW and BLAS needs to run them, frames to reconstruct, and
#                    cuFINUFFT thinned to ARCH; packs it as BUNDLE.tar.xz
#   -b BUNDLE   that folder or archive, carried along: runs the kernels' tests, and a reconstruction on the GPU and the CPU
#   -w WHEELS   folder with wheels from PyPI: cufinufft, and nvidia-cuda-runtime-cu12 where the toolkit is CUDA 13
#               (pip download --no-deps cufinufft nvidia-cuda-runtime-cu12). cuFINUFFT is then timed in the same run; for the
#               cuFFT of CUDA 12 it gets the one of this machine's toolkit
#   -o OUT      where to build and to leave gpu_check.txt and gpu_check.json (default build/gpu)
#   -a ARCH     80, 90, ... (default: that of the first device; 90 without one)
#   -s SCALE    divides the sizes of the timings (default 1)
#   -r REPEAT   repetitions, the least counts (default 5)
#   -n          builds only
#   --layer     tests this script's timing program: tiny sizes, nothing is timed
#
# What is timed is built here from source, by nvcc 12 or later and a C compiler; it needs no other library. Exit status 0:
# all built, all ran, all errors within bounds.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
out=$here/build/gpu bundle="" wheels="" arch="" scale=1 repeat=5 mode=run
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,26s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -n) mode=build; shift; continue ;;
    --layer) mode=layer; shift; continue ;;
    -o | -b | -w | -a | -s | -r | --bundle) [ $# -gt 1 ] || { echo "gpu_check: $1 takes a value" >&2; exit 2; } ;;
    *) echo "gpu_check: unknown option $1; --help lists them" >&2; exit 2 ;;
    esac
    case $1 in
    -o) out=$2 ;;
    -b) bundle=$2 ;;
    -w) wheels=$2 ;;
    -a) arch=$2 ;;
    -s) scale=$2 ;;
    -r) repeat=$2 ;;
    --bundle) mode=bundle bundle=$2 ;;
    esac
    shift 2
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$wheels" ] || wheels=$(cd "$wheels" && pwd)
if [ "$mode" = bundle ]; then mkdir -p "$bundle"; fi
if [ -f "$bundle" ]; then
    mkdir -p "$out/unpacked"
    tar -C "$out/unpacked" -xf "$bundle"
    bundle=$out/unpacked
fi
[ -z "$bundle" ] || bundle=$(cd "$bundle" && pwd)

# ---- a dry run on the layer ------------------------------------------------------------------
if [ "$mode" = layer ]; then
    make -C "$here" --no-print-directory BUILD="$out" hostcuda-bench
    "$out/hostcuda/plain/bench_gpu" --dry --scale 20000 --repeat 1 --json "$out/gpu_check.json"
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out/gpu_check.json"
    exit 0
fi

nvcc=${NVCC:-$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null || true)}
if [ -z "$nvcc" ]; then
    echo "gpu_check: no nvcc; set CUDA_HOME or NVCC" >&2
    exit 1
fi
cuda=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
lib=$cuda/lib64
[ -d "$lib" ] || lib=$cuda/lib
cc=${HOST_CC:-$(command -v gcc || command -v cc)}
if [ -z "$arch" ]; then
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
    [ -n "$arch" ] || arch=90
fi

# ---- bundle ----------------------------------------------------------------------------------
# Open MPI's modules and texts are found by the variables that bundled() sets.
bundle_libraries() { # PROGRAM...
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        grep -vE '/(libc|libm|libdl|librt|libpthread|libcuda|libcufft|libcublas|libcublasLt|libcudart)\.so'
}
if [ "$mode" = bundle ]; then
    make -C "$here" -j"$(getconf _NPROCESSORS_ONLN)" CUDA=1 CUDA_ARCH="$arch" BUILD="$out/bundle" cuda-shared
    mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/share"
    for file in "$out"/bundle/shared/*; do strip -o "$bundle/bin/$(basename "$file")" "$file"; done
    bundle_libraries "$bundle"/bin/* | while read -r library; do cp -L "$library" "$bundle/lib/"; done
    modules=$(ompi_info --path pkglibdir 2>/dev/null | sed 's/.*: *//') || modules=""
    if [ -d "$modules" ]; then
        prefix=$(ompi_info --path prefix | sed 's/.*: *//')
        mkdir -p "$bundle/lib/openmpi"
        cp -RL "$modules"/. "$bundle/lib/openmpi/"
        bundle_libraries "$modules"/*.so | while read -r library; do cp -L "$library" "$bundle/lib/"; done
        data=$(ompi_info --path pkgdatadir | sed 's/.*: *//')
        [ ! -d "$data" ] || cp -RL "$data" "$bundle/share/"
        echo "gpu_check: Open MPI of $prefix"
    fi
    if [ -n "$wheels" ]; then
        for wheel in "$wheels"/cufinufft-*.whl; do
            [ -f "$wheel" ] || continue
            python3 "$here/bench/gpu/thin_library.py" "$wheel" "$arch" "$out/libcufinufft.so"
            gzip -c "$out/libcufinufft.so" >"$bundle/libcufinufft.so.gz"
        done
        for wheel in "$wheels"/nvidia_cuda_runtime_cu12-*.whl; do
            [ ! -f "$wheel" ] || python3 -m zipfile -e "$wheel" "$out/runtime"
            find "$out/runtime" -name 'libcudart.so.12' -exec cp {} "$bundle/" \;
        done
    fi
    "$out/bundle/shared/mtip" simulate --set simulate.output="$bundle/frames.h5" --set simulate.frames=2000 \
        --set simulate.pixels=48 --set simulate.photons=2000 --set simulate.edge_resolution=7.2 --set simulate.seed=1
    tar -C "$bundle" -cJf "$bundle.tar.xz" .
    du -sh "$bundle" "$bundle.tar.xz"
    exit 0
fi

# ---- build -----------------------------------------------------------------------------------
echo "gpu_check: sm_$arch, $nvcc"
flags="-std=c11 -O3 -g -fno-math-errno -ffp-contract=off -fopenmp -fPIC -Wall -Wextra -I$here/src -isystem $cuda/include
       -DMTIP_HAVE_CUDA=1"
objects=""
compile() { # SOURCE, relative to the repository
    object=$out/$(echo "$1" | tr / _).o
    objects="$objects $object"
    # shellcheck disable=SC2086 # flags are words
    "$cc" $flags -c "$here/$1" -o "$object"
}
for source in status memory rng status_cuda status_cuda_blas; do compile src/core/$source.c; done
for source in "$here"/src/nufft/*.c; do
    case $source in
    *_cpu*.c) ;; # needs FFTW: the CPU backend takes part in the bundle's tests only
    *) compile "src/nufft/$(basename "$source")" ;;
    esac
done
compile bench/gpu/no_cpu_backend.c
for source in "$here"/src/nufft/*.cu; do
    object=$out/$(basename "$source").o
    objects="$objects $object"
    rm -f "$object" # so that a failure, in the background here, is noticed below
    "$nvcc" -std=c++17 -O3 -lineinfo -gencode "arch=compute_$arch,code=sm_$arch" -I"$here/src" \
        -DMTIP_HAVE_CUDA=1 -Xcompiler -fPIC,-Wall,-Wextra,-Wno-unknown-pragmas -c "$source" -o "$object" &
done
wait
for name in bench_gpu bench_data bench_peer; do compile bench/gpu/$name.c; done
# shellcheck disable=SC2086
"$cc" $flags $objects -o "$out/bench_gpu" -L"$lib" -Wl,-rpath,"$lib" -lcufft -lcublas -lcudart -lstdc++ -ldl -lm
# cuFINUFFT's CUDA 12 libraries: the runtime carried, cuFFT handed on.
cufft=$(readlink -f "$lib/libcufft.so")
printf 'libcufft.so.11 { global: cufft*; local: *; };\n' >"$out/cufft11.map"
"$cc" -shared -fPIC -O1 -std=gnu11 -isystem "$cuda/include" "-DCUFFT_LIBRARY=\"$cufft\"" "$here/bench/gpu/cufft11.c" \
    -o "$out/libcufft.so.11" -Wl,-soname,libcufft.so.11 -Wl,--version-script="$out/cufft11.map" -ldl
if [ "$mode" = build ]; then
    echo "gpu_check: built in $out, nothing run (-n)"
    exit 0
fi

# ---- run: the bundle ---------------------------------------------------------------------------
status=0
outcome() { # NAME COMMAND...: shows the end of the output of what failed
    name=$1
    shift
    if "$@" >"$out/log" 2>&1; then
        echo "ok     $name"
    else
        echo "FAILED $name"
        tail -30 "$out/log" | sed 's/^/    | /'
        status=1
    fi
}
bundled() { # the program from the bundle, with the libraries of the bundle and of the toolkit
    program=$1
    shift
    env LD_LIBRARY_PATH="$bundle/bin:$bundle/lib:$lib" OPAL_PREFIX="$bundle" OMPI_MCA_btl=self \
        OMPI_MCA_mca_base_component_path="$bundle/lib/openmpi" OMPI_MCA_ess_singleton_isolated=1 \
        timeout 240 "$bundle/bin/$program" "$@"
}
reconstruct() { # BACKEND
    bundled mtip reconstruct --force --set input.file="$bundle/frames.h5" --set run.output="$out/$1" \
        --set run.backend="$1" --set run.generations=2 --set particle.diameter=80 --set particle.mass=32 \
        --set resolution.limit=7.2 --set run.seed=3
}
check_bundle() {
    for test in "$bundle"/bin/cuda_*; do
        outcome "$(basename "$test") on the device" bundled "$(basename "$test")"
    done
    outcome "two generations on the device" reconstruct cuda
    outcome "two generations on the CPU" reconstruct cpu
    for backend in cuda cpu; do
        [ ! -f "$out/$backend/log.txt" ] || { echo "-- $backend"; cat "$out/$backend/log.txt"; }
    done
    bundled mtip compare "$out/cuda/density.mrc" "$out/cpu/density.mrc" || status=1
}

# ---- run: timings --------------------------------------------------------------------------------
peer=""
find_peer() {
    [ -z "$wheels" ] || for wheel in "$wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$out/wheels"; done
    if [ -n "$bundle" ] && [ -f "$bundle/libcufinufft.so.gz" ]; then
        mkdir -p "$out/peer"
        gzip -dc "$bundle/libcufinufft.so.gz" >"$out/peer/libcufinufft.so"
    fi
    for folder in "$out/wheels" "$out/peer" ${bundle:+"$bundle"}; do
        [ -d "$folder" ] || continue
        found=$(find "$folder" -name 'libcufinufft.so' | head -1)
        [ -z "$found" ] || peer=$found
        runtime=$(find "$folder" -name 'libcudart.so.12' | head -1)
        [ -z "$runtime" ] || cp "$runtime" "$out/libcudart.so.12"
    done
    [ -n "$peer" ] || echo "gpu_check: no cuFINUFFT in -w or -b: only our own timings"
}
find_peer
{
    nvidia-smi --query-gpu=name,memory.total,clocks.max.sm --format=csv,noheader || true
    [ -z "$bundle" ] || check_bundle
    LD_LIBRARY_PATH="$out:$lib" "$out/bench_gpu" ${peer:+--cufinufft "$peer"} --json "$out/gpu_check.json" \
        --scale "$scale" --repeat "$repeat" || status=1
    [ "$status" = 0 ] || echo "gpu_check: something failed"
} >"$out/gpu_check.txt" 2>&1
cat "$out/gpu_check.txt"
exit "$status"
