#!/bin/sh
# check_format.sh - every C and CUDA source as clang-format 14 would write it.
set -u

tool=""
for candidate in ${CLANG_FORMAT:-} clang-format-14 clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$candidate
        break
    fi
done
if [ -z "$tool" ]; then
    echo "skip - format: clang-format 14 is not installed (other versions differ in details)"
    exit 0
fi

status=0
for file in $(find src tests bench examples -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null | sort); do
    if "$tool" --dry-run --Werror "$file" 2>"${TMPDIR:-/tmp}/mtip-format.$$"; then
        echo "ok - $file"
    else
        echo "not ok - $file (make format)"
        head -3 "${TMPDIR:-/tmp}/mtip-format.$$"
        status=1
    fi
done
rm -f "${TMPDIR:-/tmp}/mtip-format.$$"
exit $status
