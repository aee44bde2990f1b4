"""The 27 cells of section 5.1, and the seed of every trial.

A trial's random numbers follow from its own name alone. Whoever runs it, after whatever, on however
many threads, gets the same votes and the same scores.
"""

from collections.abc import Sequence
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from unelisa.errors import ModelError
from unelisa.simulation import Density, Sampler, count_experts

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
        """What the cell is called in files and on the command line, as high-25-log."""
        return f"{self.snr}-{self.n_voters}-{self.size}"

    @property
    def n_experts(self) -> int:
        """d_0."""
        return count_experts(self.n_voters, self.size)


CELLS = tuple(Cell(*parts) for parts in product(LEVELS, VOTERS, SIZES))
_BY_NAME = {cell.name: cell for cell in CELLS}
# How n decides who is found: three d_0 at one p and one SNR, n from a seventh to four times the
# paper's.
SERIES_CELLS = tuple(Cell("medium", 49, size) for size in SIZES)
SERIES_FACTORS = (4, 8, 15, 30, 60, 120)
SERIES_TRIALS = 50


class Trial(NamedTuple):
    """One simulated data set: which cell, which repetition, and how it is drawn.

    Attributes
    ----------
    cell, number
        The cell and the number of the repetition, from 0.
    sampler
        "paper" or "mixed".
    graph
        How dense the voters' graph is: the reading of a point that the text leaves open.
    factor
        n = factor d̃_max log p.
    """

    cell: Cell
    number: int
    sampler: StudySampler = "paper"
    graph: Density = "half"
    factor: int = FACTOR


class TrialSeeds(NamedTuple):
    """Where a trial's random numbers come from: its graph, its states, the methods' own draws."""

    graph: np.random.Generator
    states: np.random.Generator
    methods: int


def seed_trial(trial: Trial) -> TrialSeeds:
    """Return the trial's seeds, spelled by its name.

    The graph does not depend on the sampler or on n: both samplers, and all n of a series, see the
    same 200 graphs of a cell, so that their differences are not differences between graphs.

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

    A run that is stopped has then tried all cells about equally often, and its speed so far is a
    fair guess of its speed to come, although a cell of 81 voters costs 30 times one of 25.
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
        raise ModelError(f"there is no cell {name[:60]!r}; cells are named as high-25-log")
    return _BY_NAME[name]


def find_cells(names: str | None) -> list[Cell]:
    """Return the cells that a comma-separated list names by some of their words, in table order.

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
                f"no cell is called {'-'.join(sorted(words))[:60]!r}; name cells by high, medium "
                "or low, 25, 49 or 81, and log, sqrt or quarter, as in high-25-log or low-81"
            )
    return [cell for cell in CELLS if any(words <= _words(cell) for words in wanted)]


def _words(cell: Cell) -> set[str]:
    return set(cell.name.split("-"))
