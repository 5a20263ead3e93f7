#!/usr/bin/env python3
"""Line coverage of CUDA sources that ran on the host-CUDA layer in coverage mode.

    coverage.py [--min PERCENT] OBJECTS SOURCE...

OBJECTS is $(BUILD)/hostcuda/coverage, where gcov's counts lie; SOURCE are the .cu files (headers they
include are reported too, where they hold kernels: *.cuh, *_kernels.h). Prints for each file the share
of lines that ran, of all instantiations together, and the lines that did not. With --min it fails
below that percentage, and when a source was never run.
"""
import argparse
import json
import os
import subprocess
import sys


def counts_of(objects):
    """{source: {line: times run}} from every .gcda below the folder."""
    counts = {}
    for folder, _, files in os.walk(objects):
        for name in files:
            if not name.endswith(".gcda"):
                continue
            done = subprocess.run(["gcov", "--json-format", "--stdout", os.path.join(folder, name)],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
            for text in done.stdout.decode().splitlines():
                for entry in json.loads(text)["files"]:
                    lines = counts.setdefault(os.path.relpath(entry["file"]), {})
                    for line in entry["lines"]:
                        number = line["line_number"]
                        lines[number] = max(lines.get(number, 0), line["count"])
    return counts


def ranges(numbers):
    """[1, 2, 3, 7] -> "1-3 7"."""
    parts = []
    for n in numbers:
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return " ".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--min", type=float, default=0.0)
    parser.add_argument("objects")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    counts = counts_of(options.objects)
    wanted = [os.path.relpath(s) for s in options.sources]
    folders = {os.path.dirname(s) for s in wanted}
    wanted += sorted(f for f in counts if os.path.dirname(f) in folders and f not in wanted
                     and f.endswith((".cuh", "_kernels.h")))
    failed = False
    for source in wanted:
        lines = counts.get(source)
        if not lines:
            print("not ok - coverage of %s: never run" % source)
            failed = True
            continue
        missed = sorted(n for n, count in lines.items() if count == 0)
        percent = 100.0 * (len(lines) - len(missed)) / len(lines)
        good = percent >= options.min
        failed = failed or not good
        print("%s - coverage of %s: %.1f %% of %d lines%s" %
              ("ok" if good else "not ok", source, percent, len(lines),
               "; not run: " + ranges(missed) if missed else ""))
    sys.exit(failed)


if __name__ == "__main__":
    main()
