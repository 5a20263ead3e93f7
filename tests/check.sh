#!/bin/sh
# check.sh - runs suites of tests one after the other, whatever fails, and sums up.
#
#   tests/check.sh MAKE SUITE...       SUITE "unit" is the target check-unit, and so on
#
# The last line is "N passed, N failed, N skipped"; a suite that fails without having counted a
# failure (it did not build, say) counts as one. Exit status 0 when nothing failed.
set -u

make=$1
shift
MTIP_TEST_TALLY=$(mktemp) || exit 2
export MTIP_TEST_TALLY
trap 'rm -f "$MTIP_TEST_TALLY"' EXIT

case " ${MAKEFLAGS:-} " in
*j*) jobs="" ;; # the caller's own choice
*) jobs=-j$(getconf _NPROCESSORS_ONLN) ;;
esac

failed_so_far() {
    awk '{ f += $2 } END { print f + 0 }' "$MTIP_TEST_TALLY"
}

for suite in "$@"; do
    echo "== check-$suite"
    before=$(failed_so_far)
    started=$(date +%s)
    # shellcheck disable=SC2086 # options are words
    if ! $make --no-print-directory $jobs "check-$suite"; then
        if [ "$(failed_so_far)" -eq "$before" ]; then
            echo "  FAILED check-$suite did not run to its end"
            echo "0 1 0" >>"$MTIP_TEST_TALLY"
        fi
    fi
    echo "   $(($(date +%s) - started)) s"
done

awk '{ p += $1; f += $2; s += $3 }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$MTIP_TEST_TALLY"
