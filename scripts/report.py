#!/usr/bin/env python3
"""report.py - one page of pictures of a reconstruction.

    scripts/report.py RESULT.h5 [--frames FRAMES.h5] [-o FOLDER]

Writes report.png and report.pdf to FOLDER (default: the result's own): sections and projections of the
density, FSC between half sets, PRTF, convergence by generation, orientation coverage, and frames
beside their matched slices. What a result does not hold is left out of the page. Needs h5py, numpy and
matplotlib.
"""

import argparse
import os
import sys

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.gridspec import GridSpecFromSubplotSpec

# Okabe and Ito's colours, told apart by colour-blind readers.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"
NO_DATA = "#dfe7ec"

STYLE = {
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,
}


class Result:
    """The datasets of a result file that are there; those that are not read as None."""

    def __init__(self, path):
        self.path = path
        self.data, self.attributes, self.generations = {}, {}, {}
        with h5py.File(path, "r") as file:
            self._collect_attributes(file)
            for name, item in file.items():
                if isinstance(item, h5py.Dataset):
                    self.data[name] = item[()]
                    self._collect_attributes(item)
            group = file.get("generations")
            if isinstance(group, h5py.Group):
                self.generations = {name: np.atleast_1d(item[()]) for name, item in group.items()}
        if self.get("density") is None:
            raise KeyError("there is no dataset `density` in it: not a result of mtip reconstruct")
        if self.data["density"].ndim != 3:
            raise KeyError("`density` does not have three dimensions")

    def _collect_attributes(self, item):
        for name, value in item.attrs.items():
            self.attributes.setdefault(name, value)

    def get(self, name):
        value = self.data.get(name)
        if value is None or np.size(value) == 0:
            return None
        return value

    def note(self, *names):
        """The first of these names among attributes and scalar datasets, as a Python value, or None."""
        for name in names:
            value = self.attributes.get(name, self.data.get(name))
            if value is None or np.size(value) != 1:
                continue
            value = np.asarray(value).reshape(-1)[0]
            return value.decode() if isinstance(value, bytes) else value
        return None


def number(value, unit="", digits=3):
    if value is None or not np.isfinite(value) or value <= 0:
        return None
    return f"{value:.{digits}g}{unit}"


def draw_header(figure, result):
    density = result.get("density")
    voxel = result.note("voxel_size_A")
    frames = result.get("orientations")
    facts = [
        ("input", os.path.basename(str(result.note("input_path") or "")) or None),
        ("frames", None if frames is None else f"{len(frames):,}".replace(",", " ")),
        ("grid", f"{density.shape[0]}³"),
        ("voxel", number(voxel, " Å")),
        ("resolution, FSC 0.5", number(result.note("resolution_half_A"), " Å")),
        ("FSC 1/7", number(result.note("resolution_seventh_A"), " Å")),
        ("seed", result.note("seed")),
        ("run on", result.note("backend")),
        ("ranks", result.note("n_ranks")),
        ("mtip", result.note("version")),
    ]
    figure.text(0.04, 0.965, "Reconstruction", fontsize=15, weight="bold", va="center")
    figure.text(0.975, 0.965, os.path.abspath(result.path), fontsize=7, color=GREY, va="center",
                ha="right")
    x = 0.04
    for name, value in facts:
        if value is None:
            continue
        value = str(value)
        value = value if len(value) <= 34 else value[:31] + "..."
        figure.text(x, 0.934, name, fontsize=6.5, color=GREY, va="center")
        figure.text(x, 0.914, value, fontsize=8.5, va="center")
        x += 0.012 + 0.0068 * max(len(value), 0.8 * len(name))


def visible_range(result):
    """Half width in voxels of the cube that holds the support (or the bright part of the density)."""
    density = result.get("density")
    support = result.get("support")
    inside = support > 0 if support is not None and np.any(support > 0) else None
    if inside is None:
        inside = density > 0.1 * density.max() if density.max() > 0 else np.ones(density.shape, bool)
    centre = (np.array(density.shape) - 1) / 2
    reach = np.abs(np.argwhere(inside) - centre).max() + 2
    return int(min(reach, centre.min()))


def draw_density(figure, cell, result):
    density = result.get("density")
    voxel = result.note("voxel_size_A") or 1.0
    unit = "Å" if result.note("voxel_size_A") else "voxels"
    grid = GridSpecFromSubplotSpec(2, 4, cell, wspace=0.12, hspace=0.42, width_ratios=[1, 1, 1, 0.06])
    reach = visible_range(result)
    middle = [n // 2 for n in density.shape]
    cut = tuple(slice(m - reach, m + reach + 1) for m in middle)
    cube = density[cut]
    edge = (reach + 0.5) * voxel
    # Array axes are z, y, x. Each view looks along one of them.
    views = [("x", "y", 0), ("x", "z", 1), ("y", "z", 2)]
    rows = [("section", [np.take(cube, reach, axis=a) for _, _, a in views], "magma"),
            ("projection", [cube.sum(axis=a) for _, _, a in views], "cividis")]
    for row, (kind, images, colours) in enumerate(rows):
        top = max(image.max() for image in images)
        top = top if top > 0 else 1.0
        for column, ((horizontal, vertical, axis), image) in enumerate(zip(views, images)):
            panel = figure.add_subplot(grid[row, column])
            shown = panel.imshow(image / top, origin="lower", extent=(-edge, edge, -edge, edge),
                                 cmap=colours, vmin=0, vmax=1, interpolation="nearest")
            along = "zyx"[axis]
            panel.set_title(f"{kind} {along} = 0" if row == 0 else f"{kind} along {along}", pad=3)
            panel.set_xlabel(f"{horizontal} ({unit})", labelpad=1)
            panel.set_ylabel(f"{vertical} ({unit})", labelpad=-2)
            panel.tick_params(length=2, pad=1.5)
            panel.locator_params(nbins=4)
        bar = figure.colorbar(shown, cax=figure.add_subplot(grid[row, 3]), ticks=[0, 0.5, 1])
        bar.set_label("density / maximum" if row == 0 else "projection / maximum", labelpad=2)
        bar.ax.tick_params(length=2, pad=1.5)
        bar.outline.set_linewidth(0.5)


def frequency_axis(panel, frequency):
    panel.set_xlim(0, frequency.max() * 1.02)
    panel.set_xlabel("spatial frequency 1/d (1/Å)", labelpad=1)
    ticks = [d for d in (200, 100, 50, 30, 20, 15, 12, 10, 8, 7, 6, 5, 4, 3.5, 3, 2.5, 2, 1.5, 1)
             if 1 / d <= frequency.max()]
    kept, last = [], -1.0
    for d in ticks:
        if (1 / d - last) > 0.085 * frequency.max():
            kept.append(d)
            last = 1 / d
    top = panel.secondary_xaxis("top")
    top.set_xticks([1 / d for d in kept], [f"{d:g}" for d in kept])
    top.set_xlabel("d (Å)", labelpad=2)
    top.tick_params(length=2, pad=1)


def draw_curve(panel, result, name, colour, label, lines):
    curve, shells = result.get(name), result.get("shell_resolution_A")
    if curve is None or shells is None:
        return nothing(panel, f"no {label} in this result")
    good = np.isfinite(curve) & np.isfinite(shells) & (shells > 0)
    if not np.any(good):
        return nothing(panel, f"no {label} in this result")
    frequency = 1.0 / shells[good]
    for level, text in lines:
        panel.axhline(level, color=GREY, linewidth=0.7, linestyle=(0, (4, 2)))
        panel.text(0.004 * frequency.max(), level + 0.015, text, fontsize=6.5, color=GREY)
    panel.plot(frequency, curve[good], color=colour, marker="o", markersize=2.2)
    panel.set_ylim(min(0.0, 1.1 * curve[good].min()), 1.04)
    panel.set_ylabel(label, labelpad=2)
    frequency_axis(panel, frequency)
    return None


def nothing(panel, text):
    panel.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=panel.transAxes)
    panel.set_xticks([])
    panel.set_yticks([])
    for spine in panel.spines.values():
        spine.set_color("#cccccc")


def draw_convergence(figure, cell, result):
    wanted = [
        ("log_likelihood", "logL per\nphoton", BLUE),
        ("median_turn_deg", "turn\n(degrees)", ORANGE),
        ("coverage", "even-\nness", GREY),
        ("r_factor", "R factor", VERMILION),
        ("half_resolution_A", "d (Å)", GREEN),
    ]
    present = [entry for entry in wanted
               if entry[0] in result.generations and np.any(np.isfinite(result.generations[entry[0]]))]
    if not present:
        return nothing(figure.add_subplot(cell), "no generations in this result")
    grid = GridSpecFromSubplotSpec(len(present), 1, cell, hspace=0.18)
    # Generation 0 merges at random orientations: nothing has been matched.
    matched = np.asarray(result.generations.get("n_references", 1)) > 0
    for row, (name, label, colour) in enumerate(present):
        panel = figure.add_subplot(grid[row])
        values = np.array(result.generations[name], dtype=float)
        values[~np.isfinite(values)] = np.nan
        if name in ("log_likelihood", "median_turn_deg", "coverage"):
            values[~np.broadcast_to(matched, values.shape)] = np.nan
        if name == "half_resolution_A":
            values[values <= 0] = np.nan
            used = result.generations.get("resolution_A")
            if used is not None:
                panel.step(range(len(used)), used, where="mid", color=GREY, linewidth=0.9,
                           label="used in matching")
        panel.plot(range(len(values)), values, color=colour, marker="o", markersize=2.5,
                   label="between half sets" if name == "half_resolution_A" else None)
        if name == "half_resolution_A":
            panel.legend(loc="upper right", handlelength=1.4, borderpad=0.1, labelspacing=0.2)
        panel.set_ylabel(label, fontsize=6.5, labelpad=2)
        panel.locator_params(axis="y", nbins=3)
        panel.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        panel.tick_params(length=2, pad=1.5, labelbottom=row == len(present) - 1)
        panel.set_xlim(-0.5, len(values) - 0.5)
        panel.grid(axis="x", color="#e6e6e6", linewidth=0.5)
        panel.yaxis.set_label_coords(-0.17, 0.5)
        if row == 0:
            panel.set_title("convergence", pad=3)
    panel.set_xlabel("generation", labelpad=1)
    return None


def view_directions(quaternions):
    """Beam direction in the particle's frame: the third column of each rotation matrix."""
    w, x, y, z = np.asarray(quaternions, dtype=float).T
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)


def draw_coverage(figure, cell, result):
    quaternions = result.get("orientations")
    if quaternions is None or quaternions.ndim != 2 or quaternions.shape[1] != 4:
        return nothing(figure.add_subplot(cell), "no orientations in this result")
    panel = figure.add_subplot(cell, projection="mollweide")
    direction = view_directions(quaternions)
    longitude = np.arctan2(direction[:, 1], direction[:, 0])
    latitude = np.arcsin(np.clip(direction[:, 2], -1, 1))
    # Bins of equal area on the sphere: even in longitude and in the sine of latitude.
    n_latitude = int(np.clip(np.sqrt(len(quaternions) / 16), 4, 24))
    edges_sine = np.linspace(-1, 1, n_latitude + 1)
    edges_longitude = np.linspace(-np.pi, np.pi, 2 * n_latitude + 1)
    counts, _, _ = np.histogram2d(direction[:, 2], longitude, bins=[edges_sine, edges_longitude])
    # Drawn on a fine mesh: the sides of a large bin are curves on this map.
    fine = np.linspace(-np.pi / 2, np.pi / 2, 241)
    row = np.clip(np.searchsorted(edges_sine, np.sin(0.5 * (fine[1:] + fine[:-1]))) - 1, 0,
                  n_latitude - 1)
    mesh = panel.pcolormesh(edges_longitude, fine, counts[row], cmap="cividis", vmin=0,
                            rasterized=True)
    if len(quaternions) <= 3000:
        panel.scatter(longitude, latitude, s=0.6, color="white", alpha=0.55, linewidths=0)
    panel.grid(color="white", linewidth=0.3, alpha=0.5)
    panel.set_xticks(np.radians([-120, -60, 0, 60, 120]))
    panel.set_xticklabels([])
    panel.set_yticks(np.radians([-60, -30, 0, 30, 60]))
    panel.tick_params(labelsize=5.5, pad=1)
    panel.set_title("viewing directions (equal-area map)", pad=5)
    bar = figure.colorbar(mesh, ax=panel, orientation="horizontal", shrink=0.6, aspect=28, pad=0.05)
    bar.set_label("frames a bin", labelpad=1)
    bar.ax.tick_params(length=2, pad=1)
    bar.outline.set_linewidth(0.5)
    bar.locator = matplotlib.ticker.MaxNLocator(integer=True, nbins=5)
    bar.update_ticks()
    return None


def frames_of_file(path, indices):
    """Frames [n][y][x] of a native frames file, panels put under each other."""
    with h5py.File(path, "r") as file:
        if "intensities" not in file:
            raise KeyError(f"{path}: there is no dataset `intensities` in it")
        intensities = file["intensities"]
        usable = [i for i in indices if i < intensities.shape[0]]
        frames = np.array([intensities[int(i)] for i in usable], dtype=float)
        frames = frames.reshape(len(usable), -1, frames.shape[-1])
        if "mask" in file:
            frames[:, file["mask"][()].reshape(frames.shape[1:]) == 0] = np.nan
    return usable, frames


def shown_frames(result, frames_path, most=4):
    """Indices, frames and model slices (None where there are none) to show."""
    indices, data, model = (result.get(f"shown_{n}") for n in ("frame", "data", "model"))
    if indices is None and data is not None:
        indices = np.arange(len(data))
    if data is None and frames_path is not None:
        score = result.get("score")
        if indices is None:
            n = len(score) if score is not None else 10**9
            indices = np.unique(np.linspace(0, min(n, 10**6) - 1, most).astype(int))
            if n == 10**9:
                indices = np.arange(most)
        indices, data = frames_of_file(frames_path, [int(i) for i in indices])
        model = None
    if data is None:
        return [], None, None
    return list(indices)[:most], data[:most], None if model is None else model[:most]


def draw_frames(figure, cell, result, frames_path):
    indices, data, model = shown_frames(result, frames_path)
    if not len(indices):
        panel = figure.add_subplot(cell)
        return nothing(panel, "no frames in this result (--frames shows them)")
    columns = max(len(indices), 3)
    grid = GridSpecFromSubplotSpec(2, columns, cell, wspace=0.05, hspace=0.05)
    rows = [("frame (photons)", data, "cividis"), ("matched slice", model, "cividis")]
    for row, (label, images, colours) in enumerate(rows):
        for column, index in enumerate(indices):
            if images is None:
                continue
            panel = figure.add_subplot(grid[row, column])
            image = np.ma.masked_invalid(images[column])
            # Both on the scale of the model where there is one, so that they can be compared.
            reference = np.ma.masked_invalid((data if model is None else model)[column])
            top = np.percentile(reference.compressed(), 99.5) if reference.count() else 1.0
            colour_map = matplotlib.colormaps[colours].copy() if hasattr(matplotlib, "colormaps") \
                else plt.get_cmap(colours).copy()
            colour_map.set_bad(NO_DATA)
            panel.imshow(image, origin="lower", cmap=colour_map, interpolation="nearest",
                         norm=PowerNorm(0.4, vmin=0, vmax=top if top > 0 else 1.0))
            panel.set_xticks([])
            panel.set_yticks([])
            if row == 0:
                panel.set_title(f"frame {index}", pad=2, fontsize=7)
            if column == 0:
                panel.set_ylabel(label, fontsize=7)
    return None


def draw_page(result, frames_path):
    figure = plt.figure(figsize=(11.69, 8.27))  # A4, landscape
    draw_header(figure, result)
    upper = figure.add_gridspec(1, 2, left=0.05, right=0.975, bottom=0.445, top=0.865, wspace=0.16,
                                width_ratios=[1.62, 1])
    lower = figure.add_gridspec(1, 3, left=0.075, right=0.975, bottom=0.055, top=0.36, wspace=0.14,
                                width_ratios=[1.0, 1.12, 1.3])
    draw_density(figure, upper[0], result)
    curves = GridSpecFromSubplotSpec(2, 1, upper[1], hspace=0.75)
    draw_curve(figure.add_subplot(curves[0]), result, "fsc", BLUE, "FSC, half sets",
               [(0.5, "0.5"), (1 / 7, "1/7")])
    draw_curve(figure.add_subplot(curves[1]), result, "prtf", GREEN, "PRTF", [(0.5, "0.5"), (np.exp(-1), "1/e")])
    draw_convergence(figure, lower[0], result)
    draw_coverage(figure, lower[1], result)
    draw_frames(figure, lower[2], result, frames_path)
    return figure


def main():
    parser = argparse.ArgumentParser(description="One page of pictures of a reconstruction.")
    parser.add_argument("result", metavar="RESULT.h5", help="result of mtip reconstruct")
    parser.add_argument("--frames", metavar="FRAMES.h5",
                        help="frames file, for results that keep no frames to show")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="default: the result's own folder")
    parser.add_argument("--dpi", type=int, default=160, help="of the PNG (default 160)")
    options = parser.parse_args()
    folder = options.output or os.path.dirname(os.path.abspath(options.result))
    try:
        result = Result(options.result)
        with plt.rc_context(STYLE):
            figure = draw_page(result, options.frames)
            os.makedirs(folder, exist_ok=True)
            for name in ("report.png", "report.pdf"):
                path = os.path.join(folder, name)
                figure.savefig(path, dpi=options.dpi)
                print(path)
    except (OSError, KeyError) as error:
        text = error.args[0] if isinstance(error, KeyError) else str(error)
        print(f"report.py: {options.result}: {text}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
