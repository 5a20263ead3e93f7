#!/bin/sh
# check_scripts.sh - scripts parse, name only options and keys that the program has, and do what they
# say where something is missing; the test runner reports what it should.
# Environment: MTIP, the built program (without it the checks against --help are skipped).
set -u

. tests/lib_check.sh

# ---- they parse ------------------------------------------------------------------------------
for script in scripts/*.sh tests/*.sh .ci/run; do
    check "$script parses" sh -n "$script"
done
for script in scripts/slurm/*.slurm scripts/slurm/*.lsf; do
    if command -v bash >/dev/null 2>&1; then
        check "$script parses" bash -n "$script"
    fi
done
if command -v shellcheck >/dev/null 2>&1; then
    check "shellcheck finds nothing" shellcheck -x -S warning \
        scripts/*.sh tests/*.sh .ci/run scripts/slurm/*.slurm scripts/slurm/*.lsf
fi

# ---- the keys and options they use exist -----------------------------------------------------
# Words like group.key that follow --set or stand in a document between backquotes, and --options in lines
# that call mtip, are looked up in the help of the program, which is made from its tables.
known_keys() {
    for command in simulate reconstruct; do
        "$MTIP" "$command" --help
    done | grep -o '[a-z]*\.[a-z_]*' | sort -u
}

used_keys() {
    { grep -ohE -e '--set +[a-z]+\.[a-z_]+=' "$@"; grep -ohE '`[a-z]+\.[a-z_]+`' "$@"; } |
        grep -oE '(input|particle|resolution|grid|orientation|merge|phasing|run|simulate)\.[a-z_]+' |
        grep -vE '\.(h5|cfg|c|h|sh|py|txt|mrc)$' | sort -u
}

unknown_keys() {
    known_keys >"$work/known"
    used_keys "$@" >"$work/used"
    [ -s "$work/used" ] || { echo "no key found in $*"; return 1; }
    if grep -vxFf "$work/known" "$work/used"; then
        echo "is used in $* but unknown to mtip"
        return 1
    fi
}

unknown_options() { # every --option on a line that calls "$MTIP"/"$mtip" COMMAND, or continues it
    sed -e ':a' -e '/\\$/N; s/\\\n/ /; ta' "$@" |
        sed -n 's/.*"\$\(MTIP\|mtip\)" \([a-z]*\)\( .*\)/\2\3/p' >"$work/calls"
    [ -s "$work/calls" ] || { echo "no call of mtip found in $*"; return 1; }
    while read -r command rest; do
        "$MTIP" "$command" --help >"$work/help" 2>&1 || { echo "mtip $command: unknown"; return 1; }
        for word in $rest; do
            case $word in
            --*) grep -q -e "$word" "$work/help" || { echo "mtip $command $word: unknown"; return 1; } ;;
            esac
        done
    done <"$work/calls"
}

if [ -n "${MTIP:-}" ] && [ -x "$MTIP" ]; then
    for script in scripts/slurm/*.slurm scripts/slurm/*.lsf scripts/demo.sh; do
        check "$script uses known keys" unknown_keys "$script"
        check "$script uses known options" unknown_options "$script"
    done
    check "README.md names known keys" unknown_keys README.md
else
    echo "skip - keys and options in scripts: the program is not built"
fi

# ---- quickstart where something is missing ---------------------------------------------------
# A PATH with the basic tools, and neither a compiler nor apt-get.
mkdir "$work/bin"
for tool in sh sed id cut tr mktemp dirname getconf cat tail grep awk rm env; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool"
done

quickstart_names_what_is_missing() {
    env -i PATH="$work/bin" sh scripts/quickstart.sh demo >"$work/out" 2>&1
    code=$?
    cat "$work/out"
    [ "$code" -eq 1 ] || { echo "exit status $code, expected 1"; return 1; }
    for word in mpicc hdf5 libconfig FFTW "module load"; do
        grep -q "$word" "$work/out" || { echo "does not name $word"; return 1; }
    done
}
check "quickstart without compiler and apt names what is missing" quickstart_names_what_is_missing

quickstart_refuses() {
    sh scripts/quickstart.sh "$@"
    [ $? -eq 2 ]
}
check "quickstart without a mode is bad usage" quickstart_refuses
check "quickstart with an unknown mode is bad usage" quickstart_refuses tests

# ---- the runner sees failures ----------------------------------------------------------------
runner_says() { # EXPECTED-STATUS EXPECTED-LINE SCRIPT-TEXT [OPTIONS...]
    expected=$1 line=$2
    printf '%s\n' "$3" >"$work/program.sh"
    shift 3
    env -u MTIP_TEST_TALLY sh tests/run_tests.sh "$@" "$work/program.sh" >"$work/out" 2>&1
    code=$?
    cat "$work/out"
    [ "$code" -eq "$expected" ] && [ "$(tail -1 "$work/out")" = "$line" ]
}
check "runner: passes and skips are counted" \
    runner_says 0 "2 passed, 0 failed, 1 skipped" "echo 'ok - a'; echo 'skip - b: why'; echo 'ok - c'"
check "runner: a failure is counted" \
    runner_says 1 "1 passed, 1 failed, 0 skipped" "echo 'ok - a'; echo 'not ok - b'; exit 1"
check "runner: a failure fails in spite of exit status 0" \
    runner_says 1 "1 passed, 1 failed, 0 skipped" "echo 'ok - a'; echo 'not ok - b'"
check "runner: a crash after the last test fails" \
    runner_says 1 "1 passed, 1 failed, 0 skipped" "echo 'ok - a'; kill -SEGV \$\$"
check "runner: a program that ran no test fails" \
    runner_says 1 "0 passed, 1 failed, 0 skipped" "echo hello"
check "runner: a program that hangs is killed and fails" \
    runner_says 1 "1 passed, 1 failed, 0 skipped" "echo 'ok - a'; sleep 60" -t 1
check "runner: cmocka's sums are read" \
    runner_says 1 "3 passed, 2 failed, 1 skipped" \
    "echo '[  PASSED  ] 3 test(s).'; echo '[  SKIPPED ] 1 test(s), listed below:'; echo '[  FAILED  ] 2 test(s), listed below:'; exit 2"
exit $status
