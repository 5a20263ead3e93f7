#!/usr/bin/env python3
"""Race of the embedded NUFFT against FINUFFT and ducc0, on the same points in one run.

    make nufft && pip install numpy finufft ducc0
    python3 bench/compare_nufft.py [--quick] [--threads 1,2] [--cases REGEX] [--json FILE]
    python3 bench/compare_nufft.py --memory        bytes added, in a process of its own each

One figure is (set-points once + five executes) / 5, from the least set-points and the least execute of several
rounds in which the contenders take turns. Plans are made and outputs allocated outside the clock. With one
thread the clock is CPU time of the process, which other programs disturb least, else wall time.

Equal accuracy: each contender is given the loosest tolerance of a ladder at which its error (type 2: against direct
sums at 200 points; types 1 and 3: against FINUFFT in double precision, a thousand times as accurate) is at most
the case's tolerance. `--tolerances FILE` keeps
what was found from run to run (`--calibrate` finds it without timing anything). FINUFFT runs at its defaults and
with its upsampling fixed at 2 and 1.25; peers that were far slower than the fastest when they were calibrated
are not timed. Ratios are (faster peer's time) / (our time).

M-TIP's data are real: there the library runs in real-data mode and in complex mode, the peers once.
"""
import argparse
import ctypes
import json
import math
import os
import re
import sys
import time

import numpy as np

from nufft_contenders import Ducc, Finufft, Library, Ours, all_cases, error_of, exact_values, label, make_data

EXECUTES = 5
LADDER = (20.0, 14.0, 10.0, 7.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.8, 0.6, 0.4, 0.25, 0.1, 0.03)


def make_makers(case, data, library, args):
    """name -> function(tolerance, threads) that makes the contender."""
    makers = {"mtip": lambda t, n: Ours(library, case, data, t, n)}
    if case["group"] == "mtip":
        makers["mtip real"] = lambda t, n: Ours(library, case, data, t, n, True)
    if case["type"] != 3:
        makers["ducc0"] = lambda t, n: Ducc(case, data, t, n)
    makers["finufft"] = lambda t, n: Finufft(case, data, t, n)
    if not args.quick:
        makers["finufft 2"] = lambda t, n: Finufft(case, data, t, n, 2.0)
        makers["finufft 1.25"] = lambda t, n: Finufft(case, data, t, n, 1.25)
    return {name: make for name, make in makers.items() if re.search(args.only, name)}


def attempt(make, tolerance, samples):
    """(error, seconds) of one transform; None where the contender does not go that far."""
    try:
        contender = make(tolerance, os.cpu_count())
        start = time.perf_counter()
        contender.set_points()
        contender.execute()
        seconds = time.perf_counter() - start
        error = error_of(contender, *samples)
        contender.close()
        return error, seconds
    except (RuntimeError, ValueError):
        return None


def calibrate(make, case, name, samples, most):
    """[tolerance, error, seconds] at the loosest step of the ladder that is accurate enough, None if there is none or if it
    would take over `most` seconds."""
    allowed = case["tolerance"]
    step = LADDER.index(1.0 if name.startswith("mtip") else 4.0)
    found, refused = None, -1  # steps of the ladder
    while refused + 1 < len(LADDER):
        got = attempt(make, LADDER[step] * allowed, samples)
        if got is not None and got[0] <= allowed:
            found = (step, *got)
            if step == refused + 1 or got[0] > 0.5 * allowed:
                break
            step -= 1
        else:
            refused = step
            if found is not None or (got is not None and got[1] > most):
                break
            step += 1
    return [LADDER[found[0]] * allowed, found[1], found[2]] if found else None


def clock(threads):
    return time.process_time() if threads == 1 else time.perf_counter()


def measure(contender, threads, executes):
    """(seconds of set-points, least seconds of an execute)"""
    start = clock(threads)
    contender.set_points()
    points = clock(threads) - start
    least = math.inf
    for _ in range(executes):
        start = clock(threads)
        contender.execute()
        least = min(least, clock(threads) - start)
    return points, least


def race(case, makers, tolerances, samples, threads, args):
    result = {"case": label(case), "group": case["group"], "threads": threads}
    contenders, best = {}, {}
    for name, make in makers.items():
        contenders[name] = make(tolerances[name][0], threads)
        best[name] = [math.inf, math.inf]
    spent, rounds = 0.0, 0
    while rounds == 0 or (spent < args.seconds and rounds < 12):
        begin = time.perf_counter()
        for name, contender in contenders.items():
            times = measure(contender, threads, args.executes)
            best[name] = [min(a, b) for a, b in zip(best[name], times)]
        spent += time.perf_counter() - begin
        rounds += 1
    for name, contender in contenders.items():
        points, execute = (t * 1e9 / case["points"] for t in best[name])
        result[name] = {
            "tolerance": tolerances[name][0],
            "error": error_of(contender, *samples),
            "set_points_ns": points,
            "execute_ns": execute,
            "total_ns": points / EXECUTES + execute,
        }
        contender.close()
    peers = [result[name]["total_ns"] for name in contenders if not name.startswith("mtip")]
    for name in contenders:
        if peers and name.startswith("mtip"):
            result[name]["ratio"] = min(peers) / result[name]["total_ns"]
    return result


def worth_timing(tolerances, most):
    """Names without the peers that took over `most` times as long as the fastest peer."""
    fastest = min([v[2] for k, v in tolerances.items() if not k.startswith("mtip")], default=0.0)
    return [k for k, v in tolerances.items() if k.startswith("mtip") or v[2] <= most * fastest]


def run_case(case, library, threads, known, args):
    rng = np.random.default_rng(1)
    data = make_data(case, rng)
    samples = exact_values(case, data, rng)
    makers = make_makers(case, data, library, args)
    kept = known.setdefault(label(case), {})
    most = math.inf
    for name, make in makers.items():
        if name not in kept:
            kept[name] = calibrate(make, case, name, samples, most)
            if args.calibrate:
                print(label(case), name, kept[name], flush=True)
        if name == "ducc0" and kept[name]:
            most = (1.5 if args.quick else 2.0) * kept[name][2]
    if args.calibrate:
        return []
    usable = {name: kept[name] for name in makers if kept[name]}
    timed = worth_timing(usable, 1.3 if args.quick else 1.5)
    results = []
    for n in threads:
        results.append(race(case, {name: makers[name] for name in timed}, usable, samples, n, args))
        show(results[-1])
    return results


def show(result):
    print(f"{result['case']}  threads {result['threads']}")
    for name, r in result.items():
        if isinstance(r, dict):
            ratio = f"  ratio {r['ratio']:.2f}" if "ratio" in r else ""
            print(
                f"    {name:13s} {r['total_ns']:8.1f} ns/pt  (set points {r['set_points_ns']:6.1f}, execute "
                f"{r['execute_ns']:7.1f})  error {r['error']:.1e} at {r['tolerance']:.1e}{ratio}"
            )
    sys.stdout.flush()


def status_kib(name):
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(name + r":\s+(\d+) kB", file.read()).group(1))


def added_memory(make, tolerance, threads):
    """Peak of resident memory that a plan, its points and an execute add to what was there, in MiB; in a child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).malloc_trim(0)  # no free memory is left to be used first
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the peak starts anew
        before = status_kib("VmRSS")
        contender = make(tolerance, threads)
        extra = 0  # copies of the user's arrays and outputs, which are not the plan's
        arrays = {id(a): a for a in (contender.result(), *vars(contender).values()) if isinstance(a, np.ndarray)}
        given = [a for a in contender.data.values() if isinstance(a, np.ndarray)]
        extra += sum(a.nbytes for a in arrays.values() if not any(np.may_share_memory(a, b) for b in given))
        contender.set_points()
        contender.execute()
        os.write(writer, str(status_kib("VmHWM") - before - extra // 1024).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    return int(text) / 1024


def memory_case(case, library, threads, known, args):
    data = make_data(case, np.random.default_rng(1))
    result = {"case": label(case), "threads": threads}
    for name, make in make_makers(case, data, library, args).items():
        tolerance = (known.get(label(case), {}).get(name) or [case["tolerance"]])[0]
        result[name] = added_memory(make, tolerance, threads)
    print(result["case"], " ".join(f"{k} {v:.0f} MiB;" for k, v in result.items() if isinstance(v, float)), flush=True)
    return [result]


def summarise(results):
    groups = {"mtip_real": [], "mtip_complex": [], "uniform": [], "low_dim": []}
    for result in results:
        for name, r in result.items():
            if isinstance(r, dict) and "ratio" in r:
                group = result["group"]
                group = {"mtip": "mtip_complex", "mtip real": "mtip_real"}[name] if group == "mtip" else group
                groups[group].append(r["ratio"])
    summary = {}
    for group, ratios in groups.items():
        if ratios:
            summary[group] = {"geomean": float(np.exp(np.mean(np.log(ratios)))), "min": min(ratios)}
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/libmtipnufft.so")
    parser.add_argument("--quick", action="store_true", help="within a minute: fewer points and cases")
    parser.add_argument("--threads", default=None, help="list such as 1,2 (default; 1 with --quick)")
    parser.add_argument("--cases", default=".", help="regular expression over the case names")
    parser.add_argument("--only", default=".", help="regular expression over the contenders")
    parser.add_argument("--seconds", type=float, default=None, help="timing a case, about")
    parser.add_argument("--executes", type=int, default=None, help="timed a round (5; 2 with --quick)")
    parser.add_argument("--tolerances", metavar="FILE", help="tolerances found earlier; new ones are added")
    parser.add_argument("--calibrate", action="store_true", help="only find tolerances")
    parser.add_argument("--memory", action="store_true", help="memory added instead of time")
    parser.add_argument("--json", metavar="FILE", help="results and summary; - for standard output")
    args = parser.parse_args()
    if args.seconds is None:
        args.seconds = 0.5 if args.quick else 20.0
    if args.executes is None:
        args.executes = 2 if args.quick else EXECUTES
    threads = [int(n) for n in (args.threads or ("1" if args.quick else "1,2")).split(",")]
    library = Library(os.path.abspath(args.library))
    known = {}
    if args.tolerances and os.path.exists(args.tolerances):
        with open(args.tolerances, encoding="utf-8") as file:
            known = json.load(file)
    results = []
    for case in all_cases(args.quick):
        if re.search(args.cases, label(case)):
            if args.memory:
                results += memory_case(case, library, threads[-1], known, args)
            else:
                results += run_case(case, library, threads, known, args)
    if args.tolerances:
        with open(args.tolerances, "w", encoding="utf-8") as file:
            json.dump(known, file, indent=1)
    summary = {} if args.memory else summarise(results)
    for group, s in summary.items():
        print(f"{group:12s} geometric mean {s['geomean']:.2f}, least {s['min']:.2f}")
    if args.json:
        text = json.dumps({"results": results, "summary": summary}, indent=1)
        if args.json == "-":
            print(text)
        else:
            with open(args.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")


if __name__ == "__main__":
    main()
