#!/usr/bin/env python3
"""Tests of the host-CUDA layer itself: right kernels are right in every order and mode, and every
planted fault (kernels/faults.*) is caught with a report that names the culprit.

    selftest.py DIRECTORY MODE        the programs of $(BUILD)/hostcuda/MODE/selftest

Prints "ok - NAME" or "not ok - NAME" for each case, as tests/run_tests.sh reads it.
"""
import os
import re
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FAILED = 0


def planted_lines():
    """"plant NAME" comments -> "file:line"."""
    lines = {}
    for name in ("faults.cu", "faults.c"):
        with open(os.path.join(HERE, "kernels", name)) as source:
            for number, text in enumerate(source, 1):
                found = re.search(r"// plant ([\w-]+)", text)
                if found:
                    lines[found.group(1)] = "%s:%d" % (name, number)
    return lines


def run(program, arguments, variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HC_")}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    environment["TSAN_OPTIONS"] = "halt_on_error=1:atexit_sleep_ms=0"
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    environment.update(variables)
    try:
        done = subprocess.run([program] + arguments, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return 124, (late.output or b"").decode(errors="replace") + "\ntimed out"


def verdict(passed, name, output):
    global FAILED
    print("%s - %s" % ("ok" if passed else "not ok", name))
    if not passed:
        FAILED += 1
        print("    " + "\n    ".join(output[-3000:].splitlines()[-40:]))
    sys.stdout.flush()


def expect_right(program, title, arguments=(), **variables):
    """All lines "ok", exit status 0, nothing left allocated."""
    code, output = run(program, list(arguments), dict(variables, HC_LEAKS="1"))
    passed = code == 0 and "not ok" not in output and output.count("ok - ") > 0
    if "NODRIVER" not in str(variables) and variables.get("HC_DEVICES") != "0":
        passed = passed and re.search(r"leaks: 0 allocations, 0 bytes; 0 operations", output)
    verdict(bool(passed), title, output)


class Faults:
    def __init__(self, program, mode):
        self.program = program
        self.mode = mode
        self.lines = planted_lines()

    def expect(self, name, *words, ends=True, title=None, **variables):
        """The output holds all words; {line} stands for the planted line. ends: not exit status 0."""
        code, output = run(self.program, [name], variables)
        wanted = [w.replace("{line}", re.escape(self.lines.get(name, "no such plant")))
                  for w in words]
        passed = all(re.search(w, output) for w in wanted) and (code != 0) == ends
        how = " ".join("%s=%s" % (k[3:].lower(), v) for k, v in variables.items())
        verdict(passed, "%s: %s%s" % (self.mode, title or name, " (%s)" % how if how else ""), output)


def right_kernels(where, mode):
    for order in ("forward", "reverse", "random"):
        for streams in ("eager", "lazy", "random"):
            expect_right(os.path.join(where, "basics"), "%s: kernels, %s order, %s streams"
                         % (mode, order, streams), HC_ORDER=order, HC_STREAMS=streams, HC_SEED="7")


def interfaces(where, mode):
    for streams in ("eager", "lazy", "random"):
        for program in ("libraries", "api"):
            expect_right(os.path.join(where, program), "%s: %s, %s streams" % (mode, program, streams),
                         HC_STREAMS=streams)
    api = os.path.join(where, "api")
    expect_right(api, "%s: no driver" % mode, ["no-driver"], HC_NODRIVER="1")
    expect_right(api, "%s: no device" % mode, ["no-device"], HC_DEVICES="0")
    expect_right(api, "%s: four devices" % mode, ["devices", "4"], HC_DEVICES="4")
    expect_right(api, "%s: the devices CUDA_VISIBLE_DEVICES lists" % mode, ["devices", "3"],
                 HC_DEVICES="4", CUDA_VISIBLE_DEVICES="3,1,0")
    expect_right(api, "%s: little device memory" % mode, ["memory"], HC_MEM="1M")
    expect_right(api, "%s: an older device" % mode, ["old"], HC_ARCH="80")


def faults_everywhere(f):
    """Caught in every build."""
    f.expect("divergent-barrier", "kernel divergent_barrier_kernel", "divergent barrier", "{line}")
    f.expect("early-exit", "kernel early_exit_kernel", "exited while the others wait", "{line}")
    f.expect("early-exit", "value 2", ends=False, HC_STRICT="0",
             title="early-exit is let pass when not strict")
    f.expect("skipped-barrier", "kernel skipped_barrier_kernel", "deadlock", "{line}")
    f.expect("mask-without-caller", "kernel mask_without_caller_kernel", "lane 16 .*lacks it",
             "{line}")
    f.expect("mask-of-absent", "kernel mask_of_absent_kernel", "only lanes 0000ffff", "{line}")
    f.expect("different-primitives", "meet in different warp primitives", "{line}")
    f.expect("dynamic-bounds", "kernel dynamic_bounds_kernel.*dynamic shared memory.*bounds", "{line}")
    f.expect("host-read", "HOST access.*device 0, offset 12 of 4000 bytes allocated at set_up")
    f.expect("host-argument", "set_kernel launched at faults.cu:.*argument 0.*host memory")
    f.expect("wrong-device-argument", "set_kernel.*argument 0 points to device 1.*on device 0")
    f.expect("wrong-device-struct", "kernel set_in_struct_kernel.*memory of device 1",
             re.escape(f.lines["struct-access"]))
    f.expect("wrong-device-stream", "the stream belongs to device 0", "code 400", ends=False)
    f.expect("freed-argument", "set_kernel.*argument 0.*FREED at host_fault {line}")
    f.expect("freed-async", "set_kernel.*argument 0.*given to cudaFreeAsync before",
             HC_STREAMS="lazy")
    f.expect("freed-async", "set_kernel.*argument 0.*FREED at host_fault {line}")
    f.expect("freed-twice", "cudaFree.*not the start of a live allocation.*FREED at host_fault {line}")
    f.expect("device-assert", "device assert.*failed at {line}: kernel assert_kernel.*thread \\(54,0,0")
    f.expect("copy-bounds", "offset 40 of 4000 bytes.*not inside one live allocation", "code 1",
             ends=False)
    f.expect("copy-direction", "kind 1 does not fit", "code 21", ends=False)
    f.expect("leak", "leak: 12345 bytes of device 0 allocated at host_fault {line}", ends=False,
             HC_LEAKS="1")
    f.expect("too-many-threads", "shape_kernel.*refused: block \\(1025,1,1\\)", "code 9", ends=False)
    f.expect("no-threads", "shape_kernel.*refused: block \\(0,1,1\\)", "code 9", ends=False)
    f.expect("shared-without-opt-in", "shape_kernel.*refused: 60000 bytes.*limit is 49152", "code 1",
             ends=False)
    f.expect("right-opt-in", "code 0", ends=False)
    f.expect("shared-beyond-device", "240000 bytes.*the device has 232448", "code 1", ends=False)


def faults_of_order(f):
    for name, wrong in (("missing-sync", "nan"), ("missing-event", "0"), ("missing-memset-order", "0"),
                        ("pinned-reused", "7")):
        f.expect(name, "value -?%s$" % wrong, ends=False, HC_STREAMS="lazy")
        f.expect(name, "value 2", ends=False, HC_STREAMS="eager",
                 title="%s does not show, as expected" % name)
    for name in ("right-sync", "right-event", "right-pageable-reused", "right-default-stream"):
        for streams in ("eager", "lazy", "random"):
            f.expect(name, "value 2$", ends=False, HC_STREAMS=streams)


def ranks(where, mode):
    """Under mpirun: 1 to 3 ranks on 1 to 4 devices, and device memory given to MPI."""
    program = os.path.join(where, "ranks")
    mpirun = os.environ.get("MPIRUN", "mpirun").split() + os.environ.get("MPIRUN_FLAGS", "").split()
    for n, devices in ((1, 4), (2, 1), (3, 2)):
        code, output = run(mpirun[0], mpirun[1:] + ["-n", str(n), program, "turns"],
                           {"HC_DEVICES": str(devices)})
        verdict(code == 0 and "ok - devices in turn" in output,
                "%s: %d ranks on %d devices" % (mode, n, devices), output)
    code, output = run(mpirun[0], mpirun[1:] + ["-n", "2", program, "give-device-memory"], {})
    verdict(code != 0 and re.search("HOST access to memory of device 0.*allocated at give_device_memory",
                                    output), "%s: device memory given to MPI" % mode, output)


def faults_plain(f):
    f.expect("missing-barrier", "value -?nan", ends=False, HC_ORDER="forward")
    f.expect("dynamic-uninitialised", "value -?nan", ends=False)
    f.expect("static-uninitialised", "value -?nan", ends=False)
    f.expect("dynamic-below", "kernel dynamic_below_kernel.*bounds", "{line}")
    f.expect("global-write", "kernel global_write_kernel launched at faults.cu:.*past the end of 4000 "
             "bytes of device memory allocated at set_up")
    f.expect("null-pointer", "kernel null_kernel.*not mapped", "{line}")
    f.expect("stack-overflow", "kernel stack_overflow_kernel.*stack of a kernel thread overflowed")
    f.expect("host-memcpy", "HOST access.*offset 0 of 4000 bytes.*in host_fault {line}")


def faults_address(f):
    for name, kernel in (("static-bounds", "index 64 out of bounds for type 'float \\[64\\]'"),
                         ("dynamic-below", "use-after-poison"), ("global-write", "use-after-poison"),
                         ("global-read", "use-after-poison"), ("null-pointer", "null pointer")):
        f.expect(name, kernel, "{line}")
    f.expect("freed-struct", "use-after-poison", re.escape(f.lines["struct-access"]))


def faults_thread(f):
    for name, kernel in (("missing-barrier", "missing_barrier_kernel"),
                         ("shared-add", "shared_add_kernel"), ("global-add", "global_add_kernel"),
                         ("block-add", "block_add_kernel")):
        f.expect(name, "data race", kernel, "{line}")
    f.expect("block-add", "value 2", ends=False, HC_RACES="within",
             title="block-add does not show where blocks count as ordered")
    f.expect("global-add", "value", ends=False, HC_RACES="between",
             title="global-add does not show where a block counts as one thread")
    late = {"add": f.lines["late-add"], "block-add": f.lines["block-add"]}
    for name, races, title in (
            ("late-add", "within", "large blocks after others, where blocks count as ordered"),
            ("late-block-add", "between", "large blocks after others, each as one thread"),
            ("turns-add", "turns", "within large blocks, when its turn comes"),
            ("turns-block-add", "turns", "between large blocks, when its turn comes")):
        f.expect(name, "data race", re.escape(late[name.split("-", 1)[1]]), HC_RACES=races,
                 title=title)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    where, mode = sys.argv[1:]
    faults = Faults(os.path.join(where, "faults"), mode)
    right_kernels(where, mode)
    if mode == "plain":
        interfaces(where, mode)
        ranks(where, mode)
        faults_everywhere(faults)
        faults_of_order(faults)
        faults_plain(faults)
    elif mode == "address":
        interfaces(where, mode)
        faults_everywhere(faults)
        faults_address(faults)
    elif mode == "thread":
        faults_thread(faults)
    sys.exit(FAILED != 0)


if __name__ == "__main__":
    main()
