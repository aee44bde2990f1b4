"""The study's figures: 2.1 and 3.1 of the paper, experts against n, accuracies by method.

Colours are Okabe and Ito's, which the colour-blind can tell apart, and no figure relies on them
alone. The same results give the same SVG file, byte for byte.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import missing_extra
from unelisa.ising import Ising, approximate_edges, project
from unelisa.outputs import whole_file
from unelisa.simulation import figure_2_1
from unelisa.study.cells import LEVELS, SIZES, VOTERS, Cell, Level, Trial, find_cell
from unelisa.study.published import PUBLISHED
from unelisa.study.tables import SizePoint, tabulate_sizes
from unelisa.study.trial import COLUMNS, LABELS, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
_LOOKS: dict[Any, Any] = {
    "svg.hashsalt": "unelisa",  # names inside an SVG would be random otherwise
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}
_GRID = 25  # points per axis in Figure 3.1

# Where the paper puts f_0..f_18.
_PLACES = (
    *((0, 4), (-3, 2), (-1.5, 2), (0, 2), (1.5, 2), (3, 2), (-4, 0), (-2, 0), (-1, 0), (1, 0)),
    *((3, 0), (-2.25, -2), (2, -2), (4, -2), (-2.25, -4), (2, -4), (7, 3), (6, 1.5), (8, 1.5)),
)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with the study's looks; say which extra brings matplotlib where it is missing."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_extra("figures need matplotlib", "report") from None
    with mpl.rc_context(_LOOKS):
        yield


def draw_all(
    study: Mapping[Trial, Record], series: Mapping[Trial, Record], folder: Path, suffix: str
) -> list[Path]:
    """Draw every figure into a folder and return the files; `suffix` tells studies apart."""
    figures = {
        "figure-2-1": draw_example(),
        "figure-3-1": draw_projection(),
        f"sizes-{suffix}": draw_sizes(tabulate_sizes(series)),
    }
    for level in LEVELS:
        figures[f"accuracy-{level}-{suffix}"] = draw_accuracies(study, level)
    return [path for name, drawn in figures.items() for path in save_figure(drawn, folder, name)]


def save_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG and return both paths; neither carries a date."""
    paths = []
    for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        paths.append(folder / f"{name}.{kind}")
        with whole_file(paths[-1]) as draft:
            figure.savefig(draft, format=kind, dpi=150, metadata=metadata)
    return paths


def draw_example() -> "Figure":
    """Return Figure 2.1: the truth, five experts and thirteen others."""
    figure = _new_figure(7.0, 4.2)
    axes: Axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    model, places = figure_2_1(), np.array(_PLACES, dtype=np.float64)
    for s, t in np.argwhere(np.triu(model.edges)):
        hidden = s == 0
        axes.plot(
            *places[[s, t]].T, color=BLUE if hidden else GREY, linewidth=1.2, zorder=1,
            linestyle="--" if hidden else "-",
        )  # fmt: skip
    kinds: dict[str, tuple[Any, str, str]] = {
        "the truth, never seen": ([0], "s", ORANGE),
        "experts": (model.experts + 1, "o", BLUE),
        "other voters": (np.setdiff1d(np.arange(1, 19), model.experts + 1), "o", GREY),
    }
    for label, (nodes, marker, colour) in kinds.items():
        x, y = places[nodes].T
        axes.scatter(x, y, s=330, c=colour, marker=marker, label=label, zorder=2)
    for node, (x, y) in enumerate(places):
        axes.text(x, y, f"$f_{{{node}}}$", color="white", ha="center", va="center", fontsize=8)
    axes.legend(loc="lower right", frameon=False, markerscale=0.5)
    return figure


def draw_projection() -> "Figure":
    """Return Figure 3.1: θ̃ of two experts by their weights, θ_0 = 0, printed and true.

    The first column is Lemma 3.1 as printed. The others are the true projection with d_0 experts,
    those beside the pair with weight 1 as in section 5.1; for d_0 = 2 the lemma is exact.
    """
    figure = _new_figure(10.0, 5.2)
    grid = np.linspace(0.0, 2.0, _GRID)
    surfaces = {"Lemma 3.1, any $d_0$": _lemma_surface(grid)}
    for d0 in (2, 4, 7):
        surfaces[f"true projection, $d_0 = {d0}$"] = _projection_surface(grid, d0)
    panels = figure.subplots(2, len(surfaces), sharex=True, sharey="row")
    for column, (title, surface) in enumerate(surfaces.items()):
        panels[0, column].set_title(title)
        panels[1, column].set_xlabel(r"$\theta_{0s}$")
        for row, side in enumerate((1.0, -1.0)):
            # turning f_t around turns its weight and θ̃ around together
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
    """Return Lemma 3.1's θ̃ for all pairs of weights at once: voters with these weights."""
    edges = np.zeros((len(grid) + 1, len(grid) + 1))
    edges[0, 1:] = edges[1:, 0] = grid
    surface = approximate_edges(Ising(0.0, edges))
    # the model has no edge from a voter to itself; the lemma's value there is 1/2 log cosh 2θ
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


def draw_sizes(points: Sequence[SizePoint]) -> "Figure":
    """Return hit rate and precision against n, a line per number of experts, with two errors."""
    figure = _new_figure(8.0, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    cells = list(dict.fromkeys(point["cell"] for point in points))
    styles = [(BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", ":")]
    for cell, (colour, marker, line) in zip(cells, styles, strict=False):
        mine = [point for point in points if point["cell"] == cell]
        for axes, key in zip(panels, ("hit_rate", "precision"), strict=True):
            figures: list[Any] = [point[key] for point in mine]  # type: ignore[literal-required]
            axes.errorbar(
                [point["items"] for point in mine],
                [x["mean"] for x in figures],
                [2 * (x["standard_error"] or 0.0) for x in figures],
                color=colour, marker=marker, linestyle=line, markersize=4, capsize=2,
                label=f"$d_0 = {mine[0]['n_experts']}$",
            )  # fmt: skip
    for axes, title in zip(panels, ("hit rate", "precision"), strict=True):
        axes.set(xscale="log", ylim=(-0.02, 1.04), xlabel="items $n$", title=title)
        axes.grid(alpha=0.3)
    panels[0].legend(frameon=False, loc="lower right")
    example = find_cell(cells[0])
    figure.suptitle(f"{example.n_voters} voters, {example.snr} SNR")
    return figure


def draw_accuracies(results: Mapping[Trial, Record], level: Level) -> "Figure":
    """Return boxes of single trials' accuracies by method, nine cells, with the paper's means.

    Boxes hold the middle half, whiskers 90 % of the trials; accuracies are under majority sign.
    """
    figure = _new_figure(10.0, 7.5)
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


def _draw_boxes(axes: "Axes", cell: Cell, records: Sequence[Record]) -> None:
    columns = [name for name in COLUMNS if any(name in record["scores"] for record in records)]
    axes.set_title(f"$p = {cell.n_voters}$, $d_0 = {cell.n_experts}$")
    axes.axvline(0.5, color=GREY, linewidth=0.6)
    heights = np.arange(len(columns))[::-1]
    for name, height in zip(columns, heights, strict=True):
        mine = [record["scores"][name] for record in records if name in record["scores"]]
        values = [scores["accuracy"] for scores in mine]
        colour = BLUE if name.startswith("unelisa") else GREEN if name == "oracle" else ORANGE
        axes.boxplot(
            values, positions=[height], orientation="horizontal", whis=(5, 95), widths=0.6,
            showfliers=False, patch_artist=True, manage_ticks=False,
            boxprops={"facecolor": colour, "alpha": 0.45}, medianprops={"color": "k"},
        )  # fmt: skip
    figures = PUBLISHED[cell].figures
    marked = [
        (figures[name], y) for name, y in zip(columns, heights, strict=True) if name in figures
    ]
    axes.plot(*np.transpose(marked), "kD", markersize=4, linestyle="none", label="published mean")
    axes.set_yticks(heights, [LABELS[name] for name in columns])
    axes.set_xlim(-0.02, 1.02)


def _new_figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

    return Figure(figsize=(width, height))
