#!/bin/sh
# run_tests.sh - runs test programs and prints one line for each.
#
#   tests/run_tests.sh [-n RANKS] [-j JOBS] [-t SECONDS] [-l LABEL] PROGRAM...
#
#   -n RANKS    under mpirun with this many ranks (0, the default: no mpirun); "1 2 3": with each
#   -j JOBS     programs at a time (default 1)
#   -t SECONDS  limit for one program (default 120); past it the program is killed and has failed
#   -l LABEL    words shown before the program's name
#
# A PROGRAM is a cmocka program, or a script *.sh that prints lines "ok - NAME", "not ok - NAME" and
# "skip - NAME: REASON" and whose exit status is 0 when nothing failed. The output of a program that
# failed is shown in full, of every rank. A program that ran no test, crashed or was killed has failed.
#
# With MTIP_TEST_TALLY=FILE, "PASSED FAILED SKIPPED" is appended to FILE for each program, for the sum
# over several calls. Exit status: 0 all passed, 1 something failed, 2 bad usage.
set -u

# Tests run side by side: OpenMP's threads that wait must not take the cores from those that work.
OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export OMP_WAIT_POLICY

ranks=0 jobs=1 limit=120 label="" one=0
while getopts n:j:t:l:1 option; do
    case $option in
    n) ranks=$OPTARG ;;
    j) jobs=$OPTARG ;;
    t) limit=$OPTARG ;;
    l) label=$OPTARG ;;
    1) one=1 ;; # internal: run a single program, called by this script itself
    *) echo "usage: $0 [-n RANKS] [-j JOBS] [-t SECONDS] [-l LABEL] PROGRAM..." >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))

# ---- several programs: each by a call of this script, so that they may run side by side -------
if [ "$one" = 0 ]; then
    [ $# -gt 0 ] || exit 0
    own_tally=""
    if [ -z "${MTIP_TEST_TALLY:-}" ]; then
        own_tally=$(mktemp) || exit 2
        MTIP_TEST_TALLY=$own_tally
        export MTIP_TEST_TALLY
        trap 'rm -f "$own_tally"' EXIT
    fi
    status=0
    for n in $ranks; do
        printf '%s\n' "$@" |
            xargs -P "$jobs" -I '{}' sh "$0" -1 -n "$n" -t "$limit" -l "$label" '{}' || status=1
    done
    if [ -n "$own_tally" ]; then
        awk '{ p += $1; f += $2; s += $3 }
             END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$own_tally"
    fi
    [ "$status" -eq 0 ] || exit 1
    exit 0
fi

# ---- one program -----------------------------------------------------------------------------
# shellcheck source=scripts/mpi_env.sh
. "$(dirname "$0")/../scripts/mpi_env.sh"
program=$1
name=$(basename "$program")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

run() {
    # The rank's own file keeps the output of the ranks apart, whatever starts them.
    # shellcheck disable=SC2016 # expanded by the inner shell
    inner='r=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
           exec "$1" >"$2.$r" 2>&1'
    case $program in
    *.sh) timeout -k 5 "$limit" sh "$program" >"$work/out.0" 2>&1 ;;
    *)
        if [ "$ranks" -gt 0 ]; then
            CMOCKA_TEST_ABORT=1
            export CMOCKA_TEST_ABORT
            # shellcheck disable=SC2086 # options are words
            timeout -k 5 "$limit" ${MPIRUN:-mpirun} ${MPIRUN_FLAGS:-} -n "$ranks" \
                sh -c "$inner" sh "$program" "$work/out" >"$work/mpirun" 2>&1
        else
            timeout -k 5 "$limit" "$program" >"$work/out.0" 2>&1
        fi
        ;;
    esac
}

started=$(date +%s)
run </dev/null
code=$?
seconds=$(($(date +%s) - started))
touch "$work/out.0"

# cmocka closes each group with its sums. Where the closing lines are missing (crash, abort, time
# out) the tests that reported OK count as passed and the one that ended the program as failed.
# shellcheck disable=SC2046 # three words are wanted
set -- $(awk '
    /^\[ +OK \]/                        { ok++ }
    /^\[  PASSED  \] [0-9]+ test/       { passed += $4; closed = 1 }
    /^\[  FAILED  \] [0-9]+ test/       { failed += $4 }
    /^\[  SKIPPED \] [0-9]+ test/       { skipped += $4 }
    /^ok - /                            { ok++ }
    /^not ok - /                        { not_ok++ }
    /^skip - /                          { skip++ }
    END { if (closed) print passed + 0, failed + 0, skipped + 0
          else        print ok + 0, not_ok + 0, skip + 0 }' "$work/out.0")
passed=$1 failed=$2 skipped=$3

why=""
if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    why=" (killed after $limit s)"
elif [ "$code" -ne 0 ]; then
    why=" (exit status $code)"
elif [ "$failed" -gt 0 ]; then
    why=" (exit status 0, yet tests failed)"
elif [ $((passed + skipped)) -eq 0 ]; then
    why=" (ran no test)"
fi
[ -z "$why" ] || [ "$failed" -gt 0 ] || failed=1

where=""
[ "$ranks" -eq 0 ] || where=" on $ranks rank$([ "$ranks" -eq 1 ] || echo s)"
if [ "$failed" -eq 0 ]; then verdict="ok    "; else verdict="FAILED"; fi
{
    printf '  %s %-44s %4d passed' "$verdict" "${label:+$label }$name$where" "$passed"
    [ "$failed" -eq 0 ] || printf ', %d failed%s' "$failed" "$why"
    [ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
    printf ', %d s\n' "$seconds"
    sed -n 's/^skip - /         skipped: /p' "$work/out.0"
    if [ "$failed" -gt 0 ]; then
        for file in "$work"/out.* "$work"/mpirun; do
            [ -s "$file" ] || continue
            case $file in
            *mpirun) echo "    | --- mpirun" ;;
            *) [ "$ranks" -eq 0 ] || echo "    | --- rank ${file##*.}" ;;
            esac
            sed 's/^/    | /' "$file"
        done
    fi
} >"$work/block"
cat "$work/block"

[ -z "${MTIP_TEST_TALLY:-}" ] || echo "$passed $failed $skipped" >>"$MTIP_TEST_TALLY"
[ "$failed" -eq 0 ]
