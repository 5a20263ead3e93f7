#!/usr/bin/env python3
"""synthetic_result.py KIND FILE - writes a made-up result file in the layout of src/io/result.h, for the
tests of scripts/report.py. KIND: full, or bare (a density and nothing else)."""

import sys

import h5py
import numpy as np


def particle(n, rng):
    k = np.arange(n) - (n - 1) / 2
    z, y, x = np.meshgrid(k, k, k, indexing="ij")
    density = np.zeros((n, n, n))
    for centre in rng.normal(0, n / 12, (40, 3)) * [0.7, 1.0, 1.4]:
        density += np.exp(-((z - centre[0]) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2) / 4)
    return density


def main():
    kind, path = sys.argv[1:]
    rng = np.random.default_rng(1)
    n, frames, shells, generations = 41, 1000, 20, 10
    density = particle(n, rng)
    with h5py.File(path, "w") as file:
        file["density"] = density
        if kind == "bare":
            return
        file["density"].attrs["voxel_size_A"] = 3.6
        file["support"] = (density > 0.1 * density.max()).astype(float)
        frequency = np.arange(1, shells + 1) / (n * 3.6)
        file["shell_resolution_A"] = 1 / frequency
        file["fsc"] = 1 / (1 + (frequency / 0.11) ** 8) + rng.normal(0, 0.01, shells)
        file["prtf"] = 1 / (1 + (frequency / 0.13) ** 6)
        q = rng.normal(size=(frames, 4))
        q /= np.linalg.norm(q, axis=1)[:, None]
        file["orientations"] = q * np.where(q[:, :1] < 0, -1, 1)
        file["fluence"] = np.exp(rng.normal(0, 0.2, frames))
        file["score"] = rng.normal(-5, 0.2, frames)
        file["half"] = np.arange(frames) % 2
        g = np.arange(generations)
        group = file.create_group("generations")
        group["resolution_A"] = 7.2 / np.minimum(1, 0.35 + 0.65 * g / (0.6 * generations))
        group["n_references"] = np.r_[0, np.full(generations - 1, 2000)]
        group["log_likelihood"] = -6 + 0.4 * (1 - np.exp(-g / 3))
        group["median_turn_deg"] = 90 * np.exp(-g / 2) + 1.5
        group["coverage"] = 1 - 0.7 * np.exp(-g / 3)
        group["r_factor"] = 0.4 * np.exp(-g / 3) + 0.12
        group["half_resolution_A"] = np.r_[np.nan, 7.4 + 20 * np.exp(-g[1:] / 2)]
        y, x = np.mgrid[-16:16, -16:16] + 0.5
        model = [20 * np.exp(-(x * x / 20 + y * y / 40)) * (1 + np.cos(x * (1 + 0.1 * i) + y * 0.3 * i))
                 + 0.3 for i in range(5)]
        data = rng.poisson(model).astype(float)
        data[:, x * x + y * y < 9] = np.nan
        file["shown_frame"] = [0, 250, 500, 750, 999]
        file["shown_data"], file["shown_model"] = data, np.array(model)
        for name, value in (("seed", 1), ("version", "0.1.0"), ("backend", "CPU, 2 threads"),
                            ("n_ranks", 2), ("input_path", "/data/2cex_frames.h5"),
                            ("resolution_half_A", 8.6), ("resolution_seventh_A", 7.3)):
            file.attrs[name] = value


main()
