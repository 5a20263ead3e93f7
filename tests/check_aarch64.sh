#!/bin/sh
# check_aarch64.sh - the NUFFT's CPU sources compile for aarch64 without a warning: by a cross compiler of GCC, or by clang with
# the C library's headers for that processor (Debian: libc6-dev-arm64-cross).
set -u
. tests/lib_check.sh

flags="-std=c11 -O0 -fopenmp -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Werror -Isrc"
headers=/usr/aarch64-linux-gnu/include
if command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
    compiler="aarch64-linux-gnu-gcc -Wconversion"
else
    # clang brings no omp.h; GCC's declares the same functions. FFTW's header is the same for every processor.
    cp "$(gcc -print-file-name=include/omp.h 2>/dev/null)" "$work" 2>/dev/null
    compiler="clang --target=aarch64-linux-gnu -isystem $headers -idirafter $work"
fi
fftw=$(pkg-config --variable=includedir fftw3 2>/dev/null)
compiles() { # FILE, - is standard input
    # shellcheck disable=SC2086
    $compiler $flags -idirafter "${fftw:-/usr/include}" -c -o "$work/object.o" -x c "$1"
}
if ! echo '#include <stdlib.h>
#include <omp.h>' | compiles - 2>/dev/null; then
    echo "skip - NUFFT for aarch64: no compiler for it here"
    exit 0
fi
for source in src/nufft/*.c src/core/fftw_lock.c src/core/memory.c src/core/status.c; do
    case $source in *cuda*) continue ;; esac
    check "$source for aarch64" compiles "$source"
done
exit $status
