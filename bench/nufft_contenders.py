"""Contenders and cases of compare_nufft.py: the points, the data, this library through ctypes, FINUFFT, ducc0."""
import ctypes
import math
import os

import sys

try:
    import ducc0
    import finufft
    import numpy as np
except ImportError as error:
    sys.exit(f"{error}: pip install numpy finufft ducc0")


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
        ("copy_points", ctypes.c_int),
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
    def __init__(self, library, case, data, tolerance, threads, real=False):
        self.library, self.case, self.data, self.real = library, case, data, real
        options = library.lib.nufft_options_default()
        options.real_data = int(real)
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
        self.first = n // 2 if real and case["type"] != 3 else 0  # of the k_x that are kept
        if case["type"] == 2:
            self.strengths = np.zeros(case["points"], data["real"] if real else data["complex"])
            self.modes = np.ascontiguousarray(data["modes"][..., self.first :])
        else:
            c = data["strengths"]
            self.strengths = np.ascontiguousarray(c.real) if real else c
            shape = (case["targets"],) if case["type"] == 3 else (n,) * (case["dim"] - 1) + (n - self.first,)
            self.modes = np.zeros(shape, data["complex"])

    def set_points(self):
        x = list(self.data["x"]) + [None] * (3 - self.case["dim"])
        s, n = [None] * 3, 0
        if self.case["type"] == 3:
            s = list(self.data["targets"]) + [None] * (3 - self.case["dim"])
            n = self.case["targets"]
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
        self.out, self.first = output(case, data), 0

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
        self.plan.execute(self.source, out=self.out)

    def result(self):
        return self.out

    def close(self):
        self.plan = None


class Ducc:
    """ducc0 sorts its points when the plan is made; plan making is its set-points."""

    def __init__(self, case, data, tolerance, threads):
        self.case, self.data, self.tolerance, self.threads = case, data, tolerance, threads
        self.coord = np.ascontiguousarray(data["x"][::-1].T)
        self.out, self.first = output(case, data), 0
        self.plan = None

    def set_points(self):
        self.plan = ducc0.nufft.plan(
            nu2u=self.case["type"] == 1, coord=self.coord, grid_shape=(self.case["modes"],) * self.case["dim"],
            epsilon=self.tolerance, nthreads=self.threads, periodicity=2 * np.pi,
        )  # fmt: skip

    def execute(self):
        if self.case["type"] == 1:
            self.plan.nu2u(forward=False, points=self.data["strengths"], out=self.out)
        else:
            self.plan.u2nu(forward=False, grid=self.data["modes"], out=self.out)

    def result(self):
        return self.out

    def close(self):
        self.plan = None


def output(case, data):
    """Room for a peer's result; touched, so that its pages count for nobody."""
    shape = {1: (case["modes"],) * case["dim"], 2: (case["points"],), 3: (case.get("targets"),)}[case["type"]]
    out = np.empty(shape, data["complex"])
    out.fill(0)
    return out


# ---- cases --------------------------------------------------------------------------------------
def all_cases(quick):
    """The table of targets. A case of M-TIP is run in real-data mode and in complex mode, on real data.

    The quick ones are smaller, with about as many points a mode."""
    cases = []

    def add(group, name, type_, dim, modes, points, precision, tolerance, layout):
        cases.append(
            dict(group=group, name=name, type=type_, dim=dim, modes=modes, points=points, targets=points,
                 precision=precision, tolerance=tolerance, layout=layout)
        )  # fmt: skip

    accuracies = [("float", 1e-5), ("double", 1e-6), ("double", 1e-12)]
    for precision, tolerance in accuracies:
        add("mtip", "slice", 2, 3, 41, (30 if quick else 62) * 16384, precision, tolerance, "slices")
    for precision, tolerance in accuracies:
        add("mtip", "merge", 1, 3, 51 if quick else 81, (50 if quick else 1000) * 16384, precision, tolerance, "slices")
    side, many = (50, 10**6) if quick else (100, 10**7)
    for layout in ("uniform", "clustered"):
        for type_ in (1, 2):
            for precision, tolerance in accuracies[::2]:
                if not quick or layout == "uniform" or precision == "float":
                    add("uniform", layout, type_, 3, side, many, precision, tolerance, layout)
    for dim, modes in ((1, 10**6), (2, 1000)):
        for type_ in (1, 2, 3):
            for precision, tolerance in (("float", 1e-5), ("double", 1e-9)):
                if not quick:
                    add("low_dim", f"{dim}-D", type_, dim, modes, 10**6, precision, tolerance, "uniform")
                elif precision == "double":
                    size, points = (500, 250000) if dim == 2 else (modes, 500000)
                    add("low_dim", f"{dim}-D", type_, dim, size, points, precision, tolerance, "uniform")
    return cases


def label(case):
    return (
        f"{case['group']:7s} {case['name']:9s} type {case['type']} {case['modes']}^{case['dim']} "
        f"{case['points']:.3g} pts {case['precision']} {case['tolerance']:g}"
    )


def make_data(case, rng):
    real = np.float64 if case["precision"] == "double" else np.float32
    kind = np.complex128 if case["precision"] == "double" else np.complex64
    n, dim = case["modes"], case["dim"]
    data = {"real": real, "complex": kind, "modes": None, "strengths": None}
    data["x"] = np.ascontiguousarray(make_points(case, rng).astype(real))
    if case["type"] == 2:
        f = rng.normal(size=(n,) * dim) + 1j * rng.normal(size=(n,) * dim)
        if case["group"] == "mtip":
            f = f + np.conj(f[(slice(None, None, -1),) * dim])  # Hermitian: n is odd
        data["modes"] = f.astype(kind)
    else:
        imaginary = 0 if case["group"] == "mtip" else 1j * rng.normal(size=case["points"])
        data["strengths"] = (rng.normal(size=case["points"]) + imaginary).astype(kind)
    if case["type"] == 3:
        data["targets"] = np.ascontiguousarray(rng.uniform(-n / 2, n / 2, size=(dim, case["targets"])).astype(real))
    return data


# ---- the judge ----------------------------------------------------------------------------------
def phases(k, x):
    return np.exp(1j * np.multiply.outer(k, x))


def values_at(case, data, at):
    """Type 2: the sums at points `at`, in double precision. 1-D frequencies are step a + b, so that they factor, too."""
    x = data["x"][::-1, at].astype(np.float64)
    n, f, shift, low = case["modes"], data["modes"].astype(complex), 1.0, case["modes"] // 2
    if case["dim"] == 1:
        step = math.isqrt(n)
        assert step * step == n
        f, shift, low = f.reshape(step, step), np.exp(-1j * low * x[0]), 0
        x = [x[0] * step, x[0]]
    f = f @ phases(np.arange(f.shape[-1]) - low, x[-1])  # [..., point]
    for a in range(len(x) - 2, -1, -1):
        f = np.einsum("...kp,kp->...p", f, phases(np.arange(f.shape[a]) - low, x[a]))
    return f * shift


def exact_values(case, data, rng):
    """(index, values): where the output is judged and what is right there. Type 2: direct sums at some points; types
    1 and 3: all by FINUFFT in double precision, 1000 times as accurate."""
    if case["type"] == 2:
        at = rng.choice(case["points"], 200, replace=False)
        return (at,), values_at(case, data, at)
    wide = dict(data, complex=np.complex128, x=data["x"].astype(np.float64))
    wide["strengths"] = data["strengths"].astype(complex)
    if case["type"] == 3:
        wide["targets"] = data["targets"].astype(np.float64)
    judge = Finufft(case, wide, max(1e-14, 1e-3 * case["tolerance"]), os.cpu_count(), 2.0)
    judge.set_points()
    judge.execute()
    half = case["modes"] // 2 if case["group"] == "mtip" else 0
    at = (Ellipsis, slice(half, None))
    return at, judge.result()[at].copy()


def error_of(contender, at, exact):
    """Relative l2 error; of k_x >= 0 alone where that is all that real data give."""
    out = contender.result()
    found = out if contender.first and contender.case["type"] == 1 else out[at]
    return float(np.linalg.norm((found - exact).ravel()) / np.linalg.norm(exact.ravel()))
