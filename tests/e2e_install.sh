#!/bin/sh
# e2e_install.sh - `make install` into an empty folder, and what others do with what lies there: run mtip, build a C program
# against the NUFFT by pkg-config. BUILD names the build to install.
set -u
. tests/lib_e2e.sh
prefix=$work/prefix

installs() { "${MAKE:-make}" --no-print-directory BUILD="${BUILD:-build}" PREFIX="$prefix" install; }
check "make install" installs

lists_everything() { # what users are told to find
    for file in bin/mtip share/mtip/report.py share/mtip/configs/reference.cfg share/mtip/slurm/cpu_cluster.slurm \
        include/mtipnufft/nufft/nufft.h lib/libmtipnufft.so lib/libmtipnufft.a lib/pkgconfig/mtipnufft.pc; do
        [ -s "$prefix/$file" ] || { echo "$file is not there"; return 1; }
    done
    (cd "$work" && "$prefix/bin/mtip" --version)
}
check "program, examples, scripts, library and headers are there" lists_everything

staged() { # as packagers install: files below DESTDIR, and no word of it inside them
    "${MAKE:-make}" --no-print-directory BUILD="${BUILD:-build}" PREFIX=/opt/mtip DESTDIR="$work/stage" install &&
        [ -x "$work/stage/opt/mtip/bin/mtip" ] &&
        grep -qx 'prefix=/opt/mtip' "$work/stage/opt/mtip/lib/pkgconfig/mtipnufft.pc"
}
check "make install DESTDIR=..." staged

# Other programs' names and the library's own cannot meet: it shows what its headers declare, and nothing else.
public='^(nufft_plan_(create|set_points|execute|prepare|interpolate|memory|destroy)|nufft_options_default|mtip_status_(text|message|origin|set))$'
shows_its_headers() { # NM-OPTIONS... FILE
    nm -g --defined-only "$@" | awk 'NF == 3 && $2 != "A" { print $3 }' | sort -u >"$work/names"
    if grep -vE "$public" "$work/names"; then
        echo "these are not in nufft.h"
        return 1
    fi
    [ "$(wc -l <"$work/names")" -eq 12 ] || { cat "$work/names"; echo "12 names expected"; return 1; }
}
check "the shared library shows the names of its headers" shows_its_headers -D "$prefix/lib/libmtipnufft.so"
check "the static library shows the names of its headers" shows_its_headers "$prefix/lib/libmtipnufft.a"

# nine_digits PROGRAM: the example ran, and both of its differences from direct sums are at the tolerance.
nine_digits() {
    "$1" >"$work/example.log" || return 1
    cat "$work/example.log"
    [ "$(grep -c 'relative difference' "$work/example.log")" -eq 2 ] || return 1
    for difference in $(sed -n 's/.*relative difference //p' "$work/example.log"); do
        at_most "$difference" 1e-8 || return 1
    done
}
package() { PKG_CONFIG_PATH=$prefix/lib/pkgconfig "${PKG_CONFIG:-pkg-config}" "$@" mtipnufft; }
with_shared() {
    # shellcheck disable=SC2046
    cc -std=c11 examples/nufft_simple.c $(package --cflags --libs) -lm -o "$work/shared" &&
        LD_LIBRARY_PATH=$prefix/lib nine_digits "$work/shared" &&
        LD_LIBRARY_PATH=$prefix/lib ldd "$work/shared" >"$work/needs" &&
        grep -q "$prefix/lib/libmtipnufft.so.0 " "$work/needs" &&
        ! grep -qE 'libmpi|libhdf5|libcublas\.' "$work/needs"
}
with_static() { # the archive by its name, the rest as pkg-config --static says
    libraries=$(package --static --libs | sed "s|-lmtipnufft|-l:libmtipnufft.a|")
    # shellcheck disable=SC2046,SC2086
    cc -std=c11 examples/nufft_simple.c $(package --cflags) $libraries -lm -o "$work/static" &&
        nine_digits "$work/static" &&
        ! ldd "$work/static" | grep -q mtipnufft
}
check "the example with the shared library, which needs neither MPI nor HDF5 nor cuBLAS" with_shared
check "the example with the static library" with_static
exit $status
