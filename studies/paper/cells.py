"""The 27 cells of section 5.1, their published numbers, and the seed of every trial.

A trial's random numbers depend only on its name: run alone or among others, on any number of
threads, it gives the same votes and the same scores.
"""

from collections.abc import Sequence
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from unelisa.errors import ModelError
from unelisa.simulation.designs import Density, Sampler, count_experts

Level = Literal["high", "medium", "low"]
Size = Literal["log", "sqrt", "quarter"]
StudySampler = Literal["paper", "mixed"]

LEVELS: tuple[Level, ...] = ("high", "medium", "low")
VOTERS = (25, 49, 81)
SIZES: tuple[Size, ...] = ("log", "sqrt", "quarter")
GRAPHS: tuple[Density, ...] = ("half", "full", "tree")
# "paper": its plain Gibbs sampler. "mixed": parallel tempering, near independent states.
SAMPLERS: dict[StudySampler, Sampler] = {"paper": "gibbs", "mixed": "tempering"}
TRIALS = 200
FACTOR = 30  # n = 30 d̃_max log p


class Cell(NamedTuple):
    """One row of tables 5.1-5.3: signal to noise, p, and how d_0 grows with p."""

    snr: Level
    n_voters: int
    size: Size

    @property
    def name(self) -> str:
        """The cell's name in files and on the command line, such as high-25-log."""
        return f"{self.snr}-{self.n_voters}-{self.size}"

    @property
    def n_experts(self) -> int:
        """d_0."""
        return count_experts(self.n_voters, self.size)


CELLS = tuple(Cell(*parts) for parts in product(LEVELS, VOTERS, SIZES))
_BY_NAME = {cell.name: cell for cell in CELLS}
# How many experts are found as n grows: three d_0 at one p and one SNR, n from about a seventh of
# the paper's to four times it.
SERIES_CELLS = tuple(Cell("medium", 49, size) for size in SIZES)
SERIES_FACTORS = (4, 8, 15, 30, 60, 120)
SERIES_TRIALS = 50


class Trial(NamedTuple):
    """One simulated data set: its cell, its repetition, and how it is drawn.

    Attributes
    ----------
    cell, number
        The cell and the number of the repetition, from 0.
    sampler
        "paper" or "mixed".
    graph
        How dense the voters' graph is, a point that the paper leaves open.
    factor
        n = factor d̃_max log p.
    """

    cell: Cell
    number: int
    sampler: StudySampler = "paper"
    graph: Density = "half"
    factor: int = FACTOR


class TrialSeeds(NamedTuple):
    """The sources of a trial's random numbers: for its graph, its states and the methods."""

    graph: np.random.Generator
    states: np.random.Generator
    methods: int


def seed_trial(trial: Trial) -> TrialSeeds:
    """Return the trial's seeds, derived from its name.

    The graph does not depend on the sampler or on n: both samplers, and all n of a series, see the
    same 200 graphs of a cell, so they can be compared without the variation between graphs.

    Examples
    --------
    >>> first = seed_trial(Trial(CELLS[0], 7)).graph.random()
    >>> first == seed_trial(Trial(CELLS[0], 7, "mixed")).graph.random()
    True
    """
    graph = f"{trial.cell.name}/{trial.number}/{trial.graph}"
    states = f"{graph}/{trial.sampler}/{trial.factor}"
    methods = _spell(f"{states}/methods").generate_state(1)[0]
    return TrialSeeds(
        np.random.default_rng(_spell(f"{graph}/graph")),
        np.random.default_rng(_spell(f"{states}/states")),
        int(methods),
    )


def _spell(name: str) -> np.random.SeedSequence:
    return np.random.SeedSequence(list(name.encode()))


def list_trials(
    cells: Sequence[Cell],
    n_trials: int = TRIALS,
    sampler: StudySampler = "paper",
    graph: Density = "half",
    factor: int = FACTOR,
) -> list[Trial]:
    """Return the trials, every cell's first, then every cell's second, and so on.

    A run that is stopped early has then covered all cells about equally, and its speed so far
    predicts the time left, although a cell with 81 voters costs 30 times one with 25.
    """
    numbers = range(n_trials)
    return [Trial(cell, number, sampler, graph, factor) for number in numbers for cell in cells]


def list_series(n_trials: int, sampler: StudySampler, graph: Density) -> list[Trial]:
    """Return the trials of the series over n, round by round as in `list_trials`."""
    numbers = range(min(n_trials, SERIES_TRIALS))
    return [
        Trial(cell, number, sampler, graph, factor)
        for number in numbers
        for factor in SERIES_FACTORS
        for cell in SERIES_CELLS
    ]


def find_cell(name: str) -> Cell:
    """Return the cell of a name such as low-81-sqrt."""
    if name not in _BY_NAME:
        raise ModelError(f"there is no cell {name[:60]!r}; cells have names such as high-25-log")
    return _BY_NAME[name]


def find_cells(names: str | None) -> list[Cell]:
    """Return the cells that match a comma-separated list of partial names, in table order.

    Examples
    --------
    >>> [cell.name for cell in find_cells("low-81, high-25-log")]
    ['high-25-log', 'low-81-log', 'low-81-sqrt', 'low-81-quarter']
    >>> len(find_cells("quarter")), len(find_cells(None))
    (9, 27)
    """
    if names is None:
        return list(CELLS)
    wanted = [set(name.strip().split("-")) for name in names.split(",")]
    for words in wanted:
        if not any(words <= _words(cell) for cell in CELLS):
            raise ModelError(
                f"no cell matches {'-'.join(sorted(words))[:60]!r}; combine high, medium or low, "
                "25, 49 or 81, and log, sqrt or quarter, as in high-25-log or low-81"
            )
    return [cell for cell in CELLS if any(words <= _words(cell) for words in wanted)]


def _words(cell: Cell) -> set[str]:
    return set(cell.name.split("-"))


# The paper's columns in its order, under this study's names.
PUBLISHED_COLUMNS = (
    "hit_rate",
    "precision",
    "unelisa-bayes",
    "unelisa-amv",
    "spectral-meta-learner",
    "latent-spectral-meta-learner",
    "dawid-skene",
    "majority-vote",
)

# Tables 5.1 (high), 5.2 (medium) and 5.3 (low): rows p = 25, 49, 81, each with d_0 = log p, sqrt p
# and p / 4.
_TABLES = {
    "high": """
        0.986 0.987 0.942 0.946 0.647 0.581 0.513 0.607
        0.998 1     0.981 0.981 0.409 0.221 0.459 0.429
        0.986 0.996 0.994 0.994 0.978 0.790 0.568 0.732
        0.984 0.991 0.960 0.958 0.728 0.731 0.509 0.599
        0.984 0.989 0.994 0.994 0.988 0.968 0.566 0.787
        0.958 0.995 0.994 0.997 0.525 0.909 0.532 0.642
        0.984 0.992 0.984 0.984 0.692 0.674 0.509 0.617
        0.991 0.998 0.998 0.998 0.282 0.927 0.531 0.609
        0.656 0.754 0.995 0.995 0.696 0.107 0.511 0.548
    """,
    "medium": """
        0.984 0.989 0.934 0.939 0.596 0.365 0.519 0.584
        0.971 0.993 0.941 0.950 0.499 0.606 0.498 0.574
        0.901 0.959 0.989 0.986 0.920 0.381 0.519 0.674
        0.982 0.995 0.959 0.959 0.728 0.577 0.500 0.612
        0.967 0.984 0.899 0.909 0.392 0.257 0.494 0.370
        0.804 0.891 0.996 0.990 0.952 0.891 0.572 0.720
        0.985 0.997 0.984 0.984 0.460 0.636 0.527 0.614
        0.906 0.929 0.995 0.995 0.064 0.824 0.492 0.468
        0.462 0.685 0.796 0.790 0.852 0.781 0.509 0.507
    """,
    "low": """
        0.978 0.986 0.946 0.940 0.772 0.548 0.533 0.665
        0.921 0.985 0.936 0.938 0.497 0.350 0.458 0.418
        0.838 0.788 0.976 0.979 0.922 0.823 0.577 0.860
        0.942 0.980 0.955 0.957 0.529 0.413 0.506 0.647
        0.475 0.487 0.888 0.897 0.698 0.668 0.611 0.916
        0.481 0.685 0.773 0.794 0.894 0.283 0.483 0.712
        0.963 0.988 0.981 0.981 0.461 0.361 0.514 0.557
        0.498 0.492 0.903 0.912 0.901 0.218 0.527 0.691
        0.112 0.292 0.711 0.704 0     0.215 0.390 0.260
    """,
}


class PublishedRow(NamedTuple):
    """One row of the paper: its table, its position from 1, and its eight numbers by column."""

    table: str
    row: int
    figures: dict[str, float]


def _read_tables() -> dict[Cell, PublishedRow]:
    rows = {}
    for number, level in enumerate(LEVELS, 1):
        cells = [Cell(level, p, size) for p in VOTERS for size in SIZES]
        lines = _TABLES[level].strip().splitlines()
        for row, (cell, line) in enumerate(zip(cells, lines, strict=True), 1):
            figures = zip(PUBLISHED_COLUMNS, map(float, line.split()), strict=True)
            rows[cell] = PublishedRow(f"5.{number}", row, dict(figures))
    return rows


PUBLISHED = _read_tables()
