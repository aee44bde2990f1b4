"""The study's figures: 2.1 and 3.1 of the paper, experts against n, accuracies by method."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from studies.drawing import BLUE, GRAY, GREEN, ORANGE, draw_box, new_figure, save_figure
from studies.paper.cells import LEVELS, PUBLISHED, SIZES, VOTERS, Cell, Level, Trial, find_cell
from studies.paper.tables import tabulate_sizes
from studies.paper.trials import COLUMNS, LABELS
from studies.records import Json
from unelisa.paper.conditions import approximate_edges, project
from unelisa.paper.ising import Ising
from unelisa.simulation.designs import figure_2_1

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
_GRID = 25  # points per axis in Figure 3.1

# Positions of f_0..f_18 in the paper.
_PLACES = (
    *((0, 4), (-3, 2), (-1.5, 2), (0, 2), (1.5, 2), (3, 2), (-4, 0), (-2, 0), (-1, 0), (1, 0)),
    *((3, 0), (-2.25, -2), (2, -2), (4, -2), (-2.25, -4), (2, -4), (7, 3), (6, 1.5), (8, 1.5)),
)


def draw_all(
    study: Mapping[Trial, Json], series: Mapping[Trial, Json], folder: Path, suffix: str
) -> list[Path]:
    """Draw every figure into a folder and return the files; `suffix` names the study."""
    figures = {
        "figure-2-1": draw_example(),
        "figure-3-1": draw_projection(),
        f"sizes-{suffix}": draw_sizes(tabulate_sizes(series)),
    }
    for level in LEVELS:
        figures[f"accuracy-{level}-{suffix}"] = draw_accuracies(study, level)
    return [path for name, drawn in figures.items() for path in save_figure(drawn, folder, name)]


def draw_example() -> "Figure":
    """Return Figure 2.1: the truth, five experts and thirteen others."""
    figure = new_figure(7.0, 4.2)
    axes: Axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    model, places = figure_2_1(), np.array(_PLACES, dtype=np.float64)
    for s, t in np.argwhere(np.triu(model.edges)):
        hidden = s == 0
        axes.plot(
            *places[[s, t]].T, color=BLUE if hidden else GRAY, linewidth=1.2, zorder=1,
            linestyle="--" if hidden else "-",
        )  # fmt: skip
    kinds: dict[str, tuple[Any, str, str]] = {
        "the hidden truth": ([0], "s", ORANGE),
        "experts": (model.experts + 1, "o", BLUE),
        "other voters": (np.setdiff1d(np.arange(1, 19), model.experts + 1), "o", GRAY),
    }
    for label, (nodes, marker, color) in kinds.items():
        x, y = places[nodes].T
        axes.scatter(x, y, s=330, c=color, marker=marker, label=label, zorder=2)
    for node, (x, y) in enumerate(places):
        axes.text(x, y, f"$f_{{{node}}}$", color="white", ha="center", va="center", fontsize=8)
    axes.legend(loc="lower right", frameon=False, markerscale=0.5)
    return figure


def draw_projection() -> "Figure":
    """Return Figure 3.1: θ̃ of two experts as a function of their weights, for θ_0 = 0.

    The first column is Lemma 3.1 as printed. The others are the true projection with d_0 experts,
    the remaining ones with weight 1 as in section 5.1; for d_0 = 2 the lemma is exact.
    """
    figure = new_figure(10.0, 5.2)
    grid = np.linspace(0.0, 2.0, _GRID)
    surfaces = {"Lemma 3.1, any $d_0$": _lemma_surface(grid)}
    for d0 in (2, 4, 7):
        surfaces[f"true projection, $d_0 = {d0}$"] = _projection_surface(grid, d0)
    panels = figure.subplots(2, len(surfaces), sharex=True, sharey="row")
    for column, (title, surface) in enumerate(surfaces.items()):
        panels[0, column].set_title(title)
        panels[1, column].set_xlabel(r"$\theta_{0s}$")
        for row, side in enumerate((1.0, -1.0)):
            # reversing f_t reverses the signs of its weight and of θ̃
            drawn = _draw_surface(panels[row, column], grid, side * grid, side * surface)
    for axes in panels[:, 0]:
        axes.set_ylabel(r"$\theta_{0t}$")
    figure.colorbar(drawn, ax=panels, label=r"$\tilde{\theta}_{st}$", shrink=0.8)
    return figure


def _draw_surface(axes: "Axes", x: Floats, y: Floats, surface: Floats) -> Any:
    lines = np.array([-1.6, -1.2, -0.8, -0.4, 0.4, 0.8, 1.2, 1.6])
    axes.clabel(axes.contour(x, y, surface, lines, colors="k", linewidths=0.4), fontsize=6)
    return axes.contourf(x, y, surface, np.linspace(-2.0, 2.0, 21), cmap="PuOr")


def _lemma_surface(grid: Floats) -> Floats:
    """Return Lemma 3.1's θ̃ for all pairs of weights at once."""
    edges = np.zeros((len(grid) + 1, len(grid) + 1))
    edges[0, 1:] = edges[1:, 0] = grid
    surface = approximate_edges(Ising(0.0, edges))
    # a voter has no edge to itself; the lemma's value there is 1/2 log cosh 2θ
    np.fill_diagonal(surface, 0.5 * np.log(np.cosh(2 * grid)))
    return surface


def _projection_surface(grid: Floats, d0: int) -> Floats:
    surface = np.zeros((len(grid), len(grid)))
    for i, first in enumerate(grid):
        for j, second in enumerate(grid[: i + 1]):
            star = np.zeros((d0 + 1, d0 + 1))
            star[0, 1:] = [first, second, *[1.0] * (d0 - 2)]
            surface[i, j] = surface[j, i] = project(Ising(0.0, star + star.T))[0, 1]
    return surface


def draw_sizes(points: Sequence[Json]) -> "Figure":
    """Return hit rate and precision against n, a line per d_0, ± two standard errors."""
    figure = new_figure(8.0, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    cells = list(dict.fromkeys(point["cell"] for point in points))
    styles = [(BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", ":")]
    for cell, (color, marker, line) in zip(cells, styles, strict=False):
        mine = [point for point in points if point["cell"] == cell]
        for axes, key in zip(panels, ("hit_rate", "precision"), strict=True):
            figures = [point[key] for point in mine]
            axes.errorbar(
                [point["items"] for point in mine],
                [x["mean"] for x in figures],
                [2 * (x["standard_error"] or 0.0) for x in figures],
                color=color, marker=marker, linestyle=line, markersize=4, capsize=2,
                label=f"$d_0 = {mine[0]['n_experts']}$",
            )  # fmt: skip
    for axes, title in zip(panels, ("hit rate", "precision"), strict=True):
        axes.set(xscale="log", ylim=(-0.02, 1.04), xlabel="items $n$", title=title)
        axes.grid(alpha=0.3)
    panels[0].legend(frameon=False, loc="lower right")
    example = find_cell(cells[0])
    figure.suptitle(f"{example.n_voters} voters, {example.snr} SNR")
    return figure


def draw_accuracies(results: Mapping[Trial, Json], level: Level) -> "Figure":
    """Return boxes of single trials' accuracies (majority sign) by method for nine cells."""
    figure = new_figure(10.0, 7.5)
    panels = figure.subplots(len(VOTERS), len(SIZES), sharex=True, sharey=True)
    for i, n_voters in enumerate(VOTERS):
        for j, size in enumerate(SIZES):
            cell = Cell(level, n_voters, size)
            records = [record for trial, record in results.items() if trial.cell == cell]
            _draw_boxes(panels[i, j], cell, records)
    for axes in panels[-1]:
        axes.set_xlabel("accuracy")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", frameon=False)
    return figure


def _draw_boxes(axes: "Axes", cell: Cell, records: Sequence[Json]) -> None:
    columns = [name for name in COLUMNS if any(name in record["scores"] for record in records)]
    axes.set_title(f"$p = {cell.n_voters}$, $d_0 = {cell.n_experts}$")
    axes.axvline(0.5, color=GRAY, linewidth=0.6)
    heights = np.arange(len(columns))[::-1]
    for name, height in zip(columns, heights, strict=True):
        mine = [record["scores"][name] for record in records if name in record["scores"]]
        values = [scores["accuracy"] for scores in mine]
        color = BLUE if name.startswith("unelisa") else GREEN if name == "oracle" else ORANGE
        draw_box(axes, height, values, color)
    figures = PUBLISHED[cell].figures
    marked = [
        (figures[name], y) for name, y in zip(columns, heights, strict=True) if name in figures
    ]
    axes.plot(*np.transpose(marked), "kD", markersize=4, linestyle="none", label="published mean")
    axes.set_yticks(heights, [LABELS[name] for name in columns])
    axes.set_xlim(-0.02, 1.02)
