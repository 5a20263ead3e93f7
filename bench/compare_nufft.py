#!/usr/bin/env python3
"""Race of the embedded NUFFT against FINUFFT and ducc0, on the same points in one run.

    make nufft && pip install numpy finufft ducc0
    python3 bench/compare_nufft.py [--quick] [--threads 1,2] [--cases REGEX] [--json FILE]

One figure is (set-points once + five executes) / 5, the least of several rounds in which the
contenders take turns. Plans are made outside the clock. With one thread the clock is CPU time of
the process, which other programs disturb least, else wall time.

Equal accuracy: each contender is given the loosest tolerance of a ladder around the case's at which
its error, against FINUFFT in double precision at 1e-14 or a direct sum, is at most the case's
tolerance. FINUFFT runs at its defaults and with its upsampling fixed at 2 and 1.25; the faster
counts. Ratios are (faster peer's time) / (our time).
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

try:
    import finufft
except ImportError:
    finufft = None
try:
    import ducc0
except ImportError:
    ducc0 = None

EXECUTES = 5


# ---- points -------------------------------------------------------------------------------------
def ewald_slices(n_slices, side, rng):
    """Pixels of a side x side detector on the Ewald sphere, in n_slices random orientations.

    The corner pixel is at |x| = pi; the sphere's radius is four times that."""
    edge = np.pi / math.sqrt(2.0)
    line = (np.arange(side) + 0.5) / side * 2.0 - 1.0
    px, py = np.meshgrid(line * edge, line * edge)
    radius = 4.0 * np.pi
    pz = radius - np.sqrt(radius**2 - px**2 - py**2)
    base = np.stack([px.ravel(), py.ravel(), pz.ravel()])
    points = np.empty((3, n_slices, side * side))
    for i in range(n_slices):
        q = rng.normal(size=4)
        w, x, y, z = q / np.linalg.norm(q)
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        points[:, i] = rotation @ base
    return np.clip(points.reshape(3, -1), -np.pi, np.pi)


def make_points(case, rng):
    dim, m = case["dim"], case["points"]
    if case["layout"] == "slices":
        return ewald_slices(m // 16384, 128, rng)
    if case["layout"] == "uniform":
        return rng.uniform(-np.pi, np.pi, size=(dim, m))
    # Clustered: 90 % in Gaussian clumps, the rest anywhere.
    clumps = rng.uniform(-2.5, 2.5, size=(dim, 20))
    x = clumps[:, rng.integers(0, 20, m)] + 0.05 * rng.normal(size=(dim, m))
    far = rng.random(m) < 0.1
    x[:, far] = rng.uniform(-np.pi, np.pi, size=(dim, int(far.sum())))
    return x


# ---- contenders ---------------------------------------------------------------------------------
class Options(ctypes.Structure):
    """struct nufft_options"""

    _fields_ = [
        ("backend", ctypes.c_int),
        ("order", ctypes.c_int),
        ("real_data", ctypes.c_int),
        ("n_threads", ctypes.c_int),
        ("upsampling", ctypes.c_double),
        ("method", ctypes.c_int),
        ("stream", ctypes.c_void_p),
        ("max_points", ctypes.c_int64),
    ]


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.mtip_status_message.restype = ctypes.c_char_p
        self.lib.nufft_options_default.restype = Options
        self.lib.nufft_plan_create.argtypes = [
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_int,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_int64),
            ctypes.c_int,
            ctypes.c_int64,
            ctypes.c_double,
            ctypes.c_int,
            ctypes.POINTER(Options),
        ]
        self.lib.nufft_plan_set_points.argtypes = (
            [ctypes.c_void_p, ctypes.c_int64] + [ctypes.c_void_p] * 3 + [ctypes.c_int64] + [ctypes.c_void_p] * 3
        )
        self.lib.nufft_plan_execute.argtypes = [ctypes.c_void_p] * 3

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.mtip_status_message().decode())


def pointer(array):
    return array.ctypes.data if array is not None else None


class Ours:
    def __init__(self, library, case, data, tolerance, threads):
        self.library, self.case, self.data = library, case, data
        options = library.lib.nufft_options_default()
        options.real_data = int(case["real"])
        options.n_threads = threads
        options.max_points = case["points"]
        modes = (ctypes.c_int64 * 3)(*([case["modes"]] * case["dim"] + [1] * (3 - case["dim"])))
        self.plan = ctypes.c_void_p()
        library.check(
            library.lib.nufft_plan_create(
                ctypes.byref(self.plan), case["type"], case["dim"], modes, 1, 1, tolerance,
                1 if case["precision"] == "double" else 0, ctypes.byref(options),
            )
        )  # fmt: skip
        n = case["modes"]
        if case["type"] == 3:
            self.modes = np.zeros(data["targets"].shape[1], data["complex"])
        elif case["real"]:
            self.modes = np.ascontiguousarray(data["modes"][..., n // 2 :]) if case["type"] == 2 else None
            if self.modes is None:
                self.modes = np.zeros((n,) * (case["dim"] - 1) + (n // 2 + 1,), data["complex"])
        else:
            self.modes = data["modes"].copy() if case["type"] == 2 else np.zeros_like(data["modes"])
        if case["type"] == 2:
            self.strengths = np.zeros(case["points"], data["real"] if case["real"] else data["complex"])
        else:
            c = data["strengths"]
            self.strengths = np.ascontiguousarray(c.real) if case["real"] else c.copy()

    def set_points(self):
        x = list(self.data["x"]) + [None] * (3 - self.case["dim"])
        s, n = [None] * 3, 0
        if self.case["type"] == 3:
            s = list(self.data["targets"]) + [None] * (3 - self.case["dim"])
            n = self.data["targets"].shape[1]
        self.library.check(
            self.library.lib.nufft_plan_set_points(
                self.plan, self.case["points"], *map(pointer, x), n, *map(pointer, s)
            )
        )

    def execute(self):
        self.library.check(
            self.library.lib.nufft_plan_execute(self.plan, pointer(self.strengths), pointer(self.modes))
        )

    def result(self):
        return self.strengths if self.case["type"] == 2 else self.modes

    def close(self):
        self.library.lib.nufft_plan_destroy(ctypes.byref(self.plan))


class Finufft:
    def __init__(self, case, data, tolerance, threads, upsampling=0.0):
        self.case, self.data = case, data
        modes = case["dim"] if case["type"] == 3 else (case["modes"],) * case["dim"]
        self.plan = finufft.Plan(
            case["type"], modes, n_trans=1, eps=tolerance, isign=1,
            dtype=data["complex"], nthreads=threads, upsampfac=upsampling,
        )  # fmt: skip
        self.source = data["modes"] if case["type"] == 2 else data["strengths"]
        self.out = None

    def set_points(self):
        # The library's x is fastest in memory, finufft's last coordinate is.
        x = list(self.data["x"][::-1])
        if self.case["type"] == 3:
            s = list(self.data["targets"][::-1])
            pad = [None] * (3 - self.case["dim"])
            self.plan.setpts(*(x + pad), *s)
        else:
            self.plan.setpts(*x)

    def execute(self):
        if self.out is None:
            self.out = self.plan.execute(self.source)
        else:
            self.plan.execute(self.source, out=self.out)

    def result(self):
        return half(self.out, self.case)

    def close(self):
        self.plan = None


class Ducc:
    """ducc0 sorts its points when the plan is made; plan making is its set-points."""

    def __init__(self, case, data, tolerance, threads):
        self.case, self.data, self.tolerance, self.threads = case, data, tolerance, threads
        self.coord = np.ascontiguousarray(data["x"][::-1].T)
        self.out = None
        self.plan = None

    def set_points(self):
        self.plan = ducc0.nufft.plan(
            nu2u=self.case["type"] == 1, coord=self.coord, grid_shape=(self.case["modes"],) * self.case["dim"],
            epsilon=self.tolerance, nthreads=self.threads, periodicity=2 * np.pi,
        )  # fmt: skip

    def execute(self):
        if self.case["type"] == 1:
            self.out = self.plan.nu2u(forward=False, points=self.data["strengths"], out=self.out)
        else:
            self.out = self.plan.u2nu(forward=False, grid=self.data["modes"], out=self.out)

    def result(self):
        return half(self.out, self.case)

    def close(self):
        self.plan = None


def half(out, case):
    """The part of a peer's result that the real-data mode gives."""
    if not case["real"]:
        return out
    if case["type"] == 2:
        return out.real
    return out[..., case["modes"] // 2 :]


# ---- cases --------------------------------------------------------------------------------------
def all_cases(quick):
    cases = []

    def add(group, name, type_, dim, modes, points, precision, tolerance, layout, real=False):
        cases.append(
            dict(group=group, name=name, type=type_, dim=dim, modes=modes, points=points,
                 precision=precision, tolerance=tolerance, layout=layout, real=real)
        )  # fmt: skip

    accuracies = [("float", 1e-5), ("double", 1e-6), ("double", 1e-12)]
    merge_points = 1000 * 16384 // (8 if quick else 1)
    for real in (True, False):
        group = "mtip_real" if real else "mtip_complex"
        for precision, tolerance in accuracies:
            add(group, "slice", 2, 3, 41, 62 * 16384, precision, tolerance, "slices", real)
        for precision, tolerance in accuracies:
            add(group, "merge", 1, 3, 81, merge_points, precision, tolerance, "slices", real)
    many = 10**6 if quick else 10**7
    for layout in ("uniform", "clustered"):
        for type_ in (1, 2):
            for precision, tolerance in accuracies[::2]:
                if quick and layout == "clustered" and precision == "double":
                    continue
                add("uniform", layout, type_, 3, 100, many, precision, tolerance, layout)
    for dim, modes in ((1, 10**6), (2, 1000)):
        for type_ in (1, 2, 3):
            for precision, tolerance in (("float", 1e-5), ("double", 1e-9)):
                if quick and precision == "float":
                    continue
                add("low_dim", f"{dim}-D", type_, dim, modes, 10**6, precision, tolerance, "uniform")
    return cases


def label(case):
    return (
        f"{case['group']:12s} {case['name']:9s} type {case['type']} {case['modes']}^{case['dim']} "
        f"{case['points']:.3g} pts {case['precision']} {case['tolerance']:g}"
    )


def make_data(case, rng):
    real = np.float64 if case["precision"] == "double" else np.float32
    kind = np.complex128 if case["precision"] == "double" else np.complex64
    n, dim = case["modes"], case["dim"]
    data = {"real": real, "complex": kind}
    data["x"] = np.ascontiguousarray(make_points(case, rng).astype(real))
    case["points"] = data["x"].shape[1]
    c = rng.normal(size=case["points"]) + (0 if case["real"] else 1j * rng.normal(size=case["points"]))
    data["strengths"] = c.astype(kind)
    if case["type"] == 3:
        data["targets"] = np.ascontiguousarray(rng.uniform(-n / 2, n / 2, size=(dim, 10**6)).astype(real))
        data["modes"] = None
        return data
    f = rng.normal(size=(n,) * dim) + 1j * rng.normal(size=(n,) * dim)
    if case["real"] and case["type"] == 2:
        f = f + np.conj(f[(slice(None, None, -1),) * dim])  # Hermitian: n is odd
    data["modes"] = f.astype(kind)
    return data


def reference(case, data):
    """Exact result: FINUFFT in double precision at its tightest, once a case."""
    if finufft is None:
        return None
    wide = dict(data)
    wide["complex"] = np.complex128
    wide["x"] = data["x"].astype(np.float64)
    for key in ("strengths", "modes"):
        wide[key] = None if data[key] is None else data[key].astype(np.complex128)
    if case["type"] == 3:
        wide["targets"] = data["targets"].astype(np.float64)
    plan = Finufft(case, wide, 1e-14, os.cpu_count(), 2.0)
    plan.set_points()
    plan.execute()
    out = plan.result().copy()
    plan.close()
    return out


def error_of(result, exact):
    return float(np.linalg.norm((result - exact).ravel()) / np.linalg.norm(exact.ravel()))


def calibrate(make, case, exact):
    """The loosest tolerance of the ladder whose error is within the case's."""
    for factor in (4.0, 3.0, 2.0, 1.5, 1.0, 0.7, 0.5, 0.25, 0.1, 0.03):
        tolerance = case["tolerance"] * factor
        try:
            contender = make(tolerance)
            contender.set_points()
            contender.execute()
        except Exception:  # out of the contender's range
            continue
        error = error_of(contender.result(), exact)
        if error <= case["tolerance"] or factor == 0.03:
            return contender, tolerance, error
        contender.close()
    return None, None, None


def clock(threads):
    return time.process_time() if threads == 1 else time.perf_counter()


def measure(contender, threads):
    start = clock(threads)
    contender.set_points()
    middle = clock(threads)
    for _ in range(EXECUTES):
        contender.execute()
    return middle - start, (clock(threads) - middle) / EXECUTES


def run_case(case, library, threads, args):
    data = make_data(case, np.random.default_rng(1))
    exact = reference(case, data)
    makers = {"mtip": lambda t: Ours(library, case, data, t, threads)}
    if finufft is not None:
        makers["finufft"] = lambda t: Finufft(case, data, t, threads)
        if not args.quick:
            makers["finufft 2"] = lambda t: Finufft(case, data, t, threads, 2.0)
            makers["finufft 1.25"] = lambda t: Finufft(case, data, t, threads, 1.25)
    if ducc0 is not None and case["type"] != 3:
        makers["ducc0"] = lambda t: Ducc(case, data, t, threads)
    contenders, result = {}, {"case": label(case), "group": case["group"], "threads": threads}
    for name, make in makers.items():
        if args.only and not re.search(args.only, name):
            continue
        contender, tolerance, error = calibrate(make, case, exact)
        if contender is not None:
            contenders[name] = contender
            result[name] = {"tolerance": tolerance, "error": error}
    best = {name: [math.inf, math.inf, math.inf] for name in contenders}
    spent, rounds = 0.0, 0
    while rounds < 2 or (spent < args.seconds and rounds < 12):
        begin = time.perf_counter()
        for name, contender in contenders.items():
            points, execute = measure(contender, threads)
            total = points / EXECUTES + execute
            best[name] = [min(a, b) for a, b in zip(best[name], (points, execute, total))]
        spent += time.perf_counter() - begin
        rounds += 1
    for name, contender in contenders.items():
        scale = 1e9 / case["points"]
        result[name].update(zip(("set_points_ns", "execute_ns", "total_ns"), (t * scale for t in best[name])))
        contender.close()
    peers = [result[name]["total_ns"] for name in contenders if name != "mtip"]
    if peers and "mtip" in contenders:
        result["ratio"] = min(peers) / result["mtip"]["total_ns"]
    return result


def show(result):
    print(f"{result['case']}  threads {result['threads']}  ratio {result.get('ratio', math.nan):.2f}")
    for name, r in result.items():
        if isinstance(r, dict):
            print(
                f"    {name:13s} {r['total_ns']:8.1f} ns/pt  (set points {r['set_points_ns']:6.1f}, execute "
                f"{r['execute_ns']:7.1f})  error {r['error']:.1e} at {r['tolerance']:.1e}"
            )
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/libmtipnufft.so")
    parser.add_argument("--quick", action="store_true", help="within a minute: fewer points and cases")
    parser.add_argument("--threads", default=None, help="list such as 1,2 (default; 1 with --quick)")
    parser.add_argument("--cases", default=".", help="regular expression over the case names")
    parser.add_argument("--only", default=None, help="regular expression over the contenders")
    parser.add_argument("--seconds", type=float, default=None, help="timing a case, about")
    parser.add_argument("--json", metavar="FILE", help="results and summary; - for standard output")
    args = parser.parse_args()
    if args.seconds is None:
        args.seconds = 0.5 if args.quick else 20.0
    threads = args.threads or ("1" if args.quick else "1,2")
    library = Library(os.path.abspath(args.library))
    results = []
    for n in map(int, threads.split(",")):
        for case in all_cases(args.quick):
            if re.search(args.cases, label(case)):
                results.append(run_case(case, library, n, args))
                show(results[-1])
    summary = {}
    for group in ("mtip_real", "mtip_complex", "uniform", "low_dim"):
        ratios = [r["ratio"] for r in results if r["group"] == group and "ratio" in r]
        if ratios:
            summary[group] = {"geomean": float(np.exp(np.mean(np.log(ratios)))), "min": min(ratios)}
            print(f"{group:12s} geometric mean {summary[group]['geomean']:.2f}, least {min(ratios):.2f}")
    if args.json:
        text = json.dumps({"results": results, "summary": summary}, indent=1)
        if args.json == "-":
            print(text)
        else:
            with open(args.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")


if __name__ == "__main__":
    main()
