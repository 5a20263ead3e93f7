#!/usr/bin/env python3
"""Static gates of the CUDA kernels, from what ptxas said when they were compiled; no GPU is needed.

    cuda_gates.py [--arch "80 90"] BUDGETS LOG...

LOG is the output of nvcc -Xptxas -v that the Makefile keeps beside each object (FILE.cu.ptxas).
BUDGETS has a line "KERNEL REGISTERS STACK SHARED [ARCH]" for each kind of kernel: the name without
arguments as c++filt writes it, with * and ? as in file names (spread_kernel<double*>), after "FILE.cu:"
where it is about one file only; the most registers a thread, bytes of stack a thread and bytes of static shared memory a block. The first line
that fits counts. A kernel without a line fails: its budget has to be thought about. No kernel may
spill registers, and each must be there for every architecture of --arch.

Prints "ok - ..." or "not ok - ..." for each kernel and architecture. Exit status 0 when all are ok.
"""
import argparse
import collections
import fnmatch
import re
import subprocess
import sys

Use = collections.namedtuple("Use", "arch registers stack spill shared")
Budget = collections.namedtuple("Budget", "pattern registers stack shared arch")


def read_budgets(path):
    budgets = []
    with open(path) as lines:
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].rsplit()
            if not words:
                continue
            arch = words.pop() if re.match(r"sm_\d+$", words[-1]) else None
            if len(words) < 4 or not all(w.isdigit() for w in words[-3:]):
                sys.exit("%s:%d: expected KERNEL REGISTERS STACK SHARED [sm_NN], got: %s"
                         % (path, number, line.strip()))
            budgets.append(Budget(" ".join(words[:-3]), *[int(w) for w in words[-3:]], arch))
    return budgets


def demangle(names):
    done = subprocess.run(["c++filt"], input="\n".join(names).encode(), stdout=subprocess.PIPE,
                          check=True)
    return dict(zip(names, done.stdout.decode().splitlines()))


def base_name(signature):
    """"void ns::kernel<float, (int)7>(float*)" -> "kernel<float, 7>"."""
    text = re.sub(r"\(anonymous namespace\)::", "", signature)
    text = re.sub(r"\((?:unsigned )?(?:int|bool|long|char)\)", "", text)
    depth, end = 0, len(text)
    for i, c in enumerate(text): # the "(" of the arguments is outside < >
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            end = i
            break
    return re.sub(r"^(?:\w+ )*", "", text[:end]).strip()


def number_before(words, text):
    found = re.search(r"(\d+) " + words, text)
    return int(found.group(1)) if found else 0


def read_log(path):
    """[(mangled name, Use)] of one log."""
    uses, name, arch, frame = [], None, None, ""
    with open(path, errors="replace") as lines:
        for line in lines:
            found = re.search(r"Compiling entry function '(\S+)' for '(sm_\w+)'", line)
            if found:
                name, arch = found.groups()
            elif "bytes stack frame" in line:
                frame = line
            elif "Used" in line and "registers" in line and name:
                uses.append((name, Use(arch, number_before("registers", line),
                                       number_before("bytes stack frame", frame),
                                       number_before("bytes spill stores", frame)
                                       + number_before("bytes spill loads", frame),
                                       number_before("bytes smem", line))))
                name = None
    return uses


def fits(budget, source, name):
    in_file = re.match(r"[\w*?]+\.cu:", budget.pattern)
    return fnmatch.fnmatchcase(source + ":" + name if in_file else name, budget.pattern)


def judge(source, name, use, budgets):
    """What is wrong, or None."""
    if use.spill:
        return "spills %d bytes of registers" % use.spill
    for budget in budgets:
        if fits(budget, source, name) and budget.arch in (None, use.arch):
            for what in ("registers", "stack", "shared"):
                if getattr(use, what) > getattr(budget, what):
                    return "%s %d, the budget of %s is %d" % (what, getattr(use, what), budget.pattern,
                                                             getattr(budget, what))
            return None
    return "no budget fits it"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="")
    parser.add_argument("budgets")
    parser.add_argument("logs", nargs="+")
    options = parser.parse_args()
    budgets = read_budgets(options.budgets)
    failed = False
    for path in options.logs:
        uses = read_log(path)
        source = re.sub(r".*/(?=\w+\.cu)", "", path).replace(".ptxas", "")
        names = demangle(sorted({name for name, _ in uses})) if uses else {}
        if not uses:
            print("not ok - %s: ptxas reported no kernel (%s)" % (source, path))
            failed = True
        archs = collections.defaultdict(set)
        for mangled, use in uses:
            name = base_name(names[mangled])
            archs[name].add(use.arch)
            wrong = judge(source, name, use, budgets)
            failed = failed or wrong is not None
            print("%s - %s %s %s: %d registers, %d stack, %d shared%s" %
                  ("not ok" if wrong else "ok", source, name, use.arch, use.registers, use.stack,
                   use.shared, ": " + wrong if wrong else ""))
        for name in sorted(archs):
            missing = {"sm_" + a for a in options.arch.split()} - archs[name]
            if missing:
                print("not ok - %s %s: not compiled for %s" % (source, name, " ".join(sorted(missing))))
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
