#!/bin/sh
# check_kernels.sh - every CUDA kernel of src/ says in the comment directly above it what bytes it moves and what time they
# take (ns, us or ms): the figure that a measured time is held against.
set -u

# Prints "LINE NAME" of each kernel of a file, with "!" before the name where the comment lacks a figure.
kernels() {
    awk '
        function judge(text) {
            text = text " "
            return text ~ /[^A-Za-z](bytes?|[kMG]?B)[^A-Za-z]/ && text ~ /[0-9]\)? [num]s[^A-Za-z]/
        }
        inside || /^\/\*/ {
            if (!inside) comment = ""
            line = $0
            sub(/^ \* ?/, " ", line)
            comment = comment line
            inside = line !~ /\*\//
            next
        }
        /^__global__/ { above = comment; at = FNR; open = 1 }
        open && match($0, /[a-z0-9_]+_kernel\(/) {
            print at, (judge(above) ? "" : "!") substr($0, RSTART, RLENGTH - 1)
            open = 0
        }
        !/^template/ { comment = "" }
        END { if (open) print at, "!unnamed" }' "$1"
}

status=0
sample=$(mktemp) || exit 2
trap 'rm -f "$sample"' EXIT
cat >"$sample" <<'END_SAMPLE'
/* 8 bytes a value: 1e6 in
 * 1.7 us. */
template <class T>
__global__ void good_kernel(T *x)
/* 8 bytes a value: 1.7 us. */
static int between;
__global__ void far_kernel(int *x)
/* 8 bytes a value. */
__global__ void __launch_bounds__(256)
    untimed_kernel(int *x)
__global__ void bare_kernel(int *x)
END_SAMPLE
expected="4 good_kernel 7 !far_kernel 9 !untimed_kernel 11 !bare_kernel"
if [ "$(kernels "$sample" | tr '\n' ' ')" = "$expected " ]; then
    echo "ok - the check itself"
else
    echo "not ok - the check itself"
    kernels "$sample"
    status=1
fi

for file in $(find src -name '*.cu' -o -name '*.cuh' | sort); do
    missing=$(kernels "$file" | sed -n 's/!//p')
    if [ "$(grep -c '^__global__' "$file")" -ne "$(kernels "$file" | wc -l)" ]; then
        missing="$missing (a kernel was not recognised)"
    fi
    if [ -z "$missing" ]; then
        echo "ok - $file"
    else
        echo "not ok - $file: bytes or time not stated above: $missing"
        status=1
    fi
done
exit $status
