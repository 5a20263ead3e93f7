#!/bin/sh
# check_headers.sh - every header of src/ compiles alone, as C11 and as C++11. Left out: bodies without
# an include guard, which are included once a precision or instruction set with macros set; and as C++ what
# uses <stdatomic.h>, which C++11 does not have.
# Environment: CC (an MPI compiler wrapper), HEADER_FLAGS (include paths).
set -u

cc=${CC:-mpicc}
flags="-Isrc ${HEADER_FLAGS:-}"
status=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

try() { # NAME COMPILER-ARGUMENTS...
    name=$1
    shift
    # shellcheck disable=SC2086 # flags are words
    if $cc "$@" $flags -Wall -Wextra -Werror -fopenmp \
        -DOMPI_SKIP_MPICXX=1 -DMPICH_SKIP_MPICXX=1 -fsyntax-only "$header" >"$log" 2>&1; then
        echo "ok - $header as $name"
    else
        echo "not ok - $header as $name"
        cat "$log"
        status=1
    fi
}

for header in $(find src -name '*.h' | sort); do
    grep -q '^#ifndef MTIP_.*_H$' "$header" || continue
    if grep -q '#include <cu' "$header"; then
        # shellcheck disable=SC2086 # flags are words
        if ! echo '#include <cuda_runtime.h>' |
            $cc ${HEADER_FLAGS:-} -fsyntax-only -x c - 2>/dev/null; then
            echo "skip - $header: no CUDA headers on this machine"
            continue
        fi
    fi
    try C -std=c11 -x c
    grep -q '<stdatomic.h>' "$header" || try C++ -std=c++11 -x c++
done
exit $status
