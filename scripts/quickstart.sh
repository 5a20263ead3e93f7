#!/bin/sh
# quickstart.sh - from a fresh clone to a first result, or to the tests, in one command.
#
#   scripts/quickstart.sh demo     set up, build, simulate frames, reconstruct, judge, draw
#   scripts/quickstart.sh test     set up, build, run every test
#
# Set-up looks for what the program needs. On Debian and Ubuntu it installs what is missing with
# apt-get, as root or by sudo without a password; elsewhere it names what is missing and ends with 1.
# Environment: CC (MPI compiler wrapper, default mpicc), MPIRUN (default mpirun), PYTHON.
set -eu

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0"
}

mode=${1:-}
case $mode in
demo | test) ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
. scripts/python.sh

say() {
    printf '== %s\n' "$*"
}

# ---- what is needed: NAME | how it is found | Debian packages | usual modules -------------------
compiler() {
    for candidate in ${CC:-} mpicc cc gcc; do
        if command -v "$candidate" >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# links HEADER "FALLBACK LIBRARIES" [PKG-CONFIG NAME...]: a program with this header links here.
links() {
    header=$1 libraries=$2
    shift 2
    cc=$(compiler) || return 1
    flags=""
    for name in "$@"; do
        if pkg-config --exists "$name" 2>/dev/null; then
            flags=$(pkg-config --cflags "$name")
            libraries="$libraries $(pkg-config --libs "$name")"
            break
        fi
    done
    # shellcheck disable=SC2086 # flags are words
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\nint main(void) { return 0; }\n' "$header" |
        "$cc" -fopenmp $flags -x c - -o /dev/null $libraries 2>/dev/null
}

find_compiler() { compiler >/dev/null && links stdio.h ""; }
find_make() { command -v make >/dev/null 2>&1; }
find_pkg_config() { command -v pkg-config >/dev/null 2>&1; }
find_mpi() { links mpi.h "" && command -v "${MPIRUN:-mpirun}" >/dev/null 2>&1; }
find_hdf5() { links hdf5.h "" hdf5-serial hdf5-openmpi hdf5 || links hdf5.h -lhdf5; }
find_libconfig() { links libconfig.h "" libconfig || links libconfig.h -lconfig; }
find_fftw() { links fftw3.h "-lfftw3 -lfftw3f" fftw3; }
find_blas() { links cblas.h "" openblas || links cblas.h "" blas || links cblas.h -lopenblas; }
find_cmocka() { links cmocka.h "" cmocka || links cmocka.h -lcmocka; }
find_python() { python_with_libraries >/dev/null; }
find_format() { clang-format-14 --version >/dev/null 2>&1 || clang-format --version 2>/dev/null | grep -q 'version 14\.'; }
find_cuda_headers() { ls "${CUDA_HOME:-/usr/local/cuda}"/include/cuda_runtime.h >/dev/null 2>&1 || command -v nvcc >/dev/null 2>&1; }
find_aarch64() {
    command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 ||
        { command -v clang >/dev/null 2>&1 && [ -f /usr/aarch64-linux-gnu/include/stdlib.h ]; }
}
find_thread_sanitizer() { echo 'int main() { return 0; }' | clang++ -fsanitize=thread -x c++ -o /dev/null - 2>/dev/null; }

needs() {
    cat <<'END'
compiler   | C compiler                 | gcc g++ libc6-dev                                | gcc
make       | GNU make                   | make                                             | (part of every system's developer tools)
pkg_config | pkg-config                 | pkg-config                                       | (part of every system's developer tools)
mpi        | MPI (mpicc, mpirun)        | openmpi-bin libopenmpi-dev                       | openmpi, or cray-mpich with CC=cc
hdf5       | HDF5 (hdf5.h)              | libhdf5-dev                                      | cray-hdf5, or hdf5
libconfig  | libconfig (libconfig.h)    | libconfig-dev                                    | libconfig
fftw       | FFTW 3, double, float      | libfftw3-dev                                     | cray-fftw, or fftw
blas       | BLAS with cblas.h          | libopenblas-dev                                  | openblas
python     | Python with numpy h5py matplotlib | python3-numpy python3-h5py python3-matplotlib | python, cray-python; pip install numpy h5py matplotlib
END
    if [ "$mode" = test ]; then
        cat <<'END'
cmocka     | cmocka (cmocka.h)          | libcmocka-dev                                    | (build it from source, or run the demo alone)
END
    fi
}

# Lines of needs() that are not met.
missing() {
    needs | while IFS='|' read -r key rest; do
        key=$(echo "$key" | tr -d ' ')
        "find_$key" || echo "$key|$rest"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# Installs packages; a list of packages that is absent or out of date is fetched only when needed.
install_packages() {
    log=$(mktemp)
    if apt_install "$@" >"$log" 2>&1 ||
        { as_root apt-get update -qq >>"$log" 2>&1 && apt_install "$@" >>"$log" 2>&1; }; then
        rm -f "$log"
        return 0
    fi
    tail -20 "$log" >&2
    rm -f "$log"
    return 1
}

name_missing() {
    echo "quickstart: missing on this machine:"
    echo "$1" | awk -F ' *[|] *' '{ printf "    %-36s module: %s\n", $2, $4 }'
    cat <<'END'
On a cluster the modules above usually exist; a common set is
    module load cray-hdf5 cray-fftw libconfig openmpi openblas
Then run this command again. On Debian or Ubuntu, run it as root (or with sudo) to have it installed.
END
}

set_up() {
    lacking=$(missing)
    if [ -z "$lacking" ]; then
        say "set-up: everything is there"
    elif can_install; then
        packages=$(echo "$lacking" | cut -d'|' -f3 | tr -s ' \n' ' ')
        say "set-up: installing$packages"
        # shellcheck disable=SC2086 # package names are words
        install_packages $packages || exit 1
        lacking=$(missing)
        if [ -n "$lacking" ]; then
            name_missing "$lacking" >&2
            exit 1
        fi
    else
        name_missing "$lacking" >&2
        exit 1
    fi
    # The format check needs one version of one tool, the race check of CUDA kernels clang; without them these checks
    # alone are skipped.
    if [ "$mode" = test ] && ! find_format && can_install; then
        install_packages clang-format-14 2>/dev/null || say "no clang-format 14 to be had: its check will be skipped"
    fi
    if [ "$mode" = test ] && find_cuda_headers && ! find_thread_sanitizer && can_install; then
        install_packages clang libclang-rt-14-dev 2>/dev/null ||
            say "no clang with ThreadSanitizer to be had: CUDA kernels will not be checked for races"
    fi
    # With clang the headers are all that compiling for another processor takes.
    if [ "$mode" = test ] && ! find_aarch64 && can_install; then
        install_packages clang libc6-dev-arm64-cross 2>/dev/null ||
            say "no C library for aarch64 to be had: the NUFFT will not be compiled for it"
    fi
}

jobs=$(getconf _NPROCESSORS_ONLN)
set_up
case $mode in
demo)
    say "build"
    make -j"$jobs"
    exec sh scripts/demo.sh
    ;;
test)
    exec make check WERROR=1
    ;;
esac
