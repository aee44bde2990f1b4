"""Trials -> the paper's tables, ours beside the published ones, as plain numbers for JSON.

No expert found: the hit rate is 0 and the precision 0 / 0. The paper averages over all 200 trials
and says nothing of such ones; we count the precision as 0, because whoever finds nobody earns no
credit, and report how many trials it concerns, so that the other reading can be worked out.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from unelisa.simulation import Density
from unelisa.study.cells import CELLS, FACTOR, Cell, StudySampler, Trial
from unelisa.study.published import PUBLISHED, PUBLISHED_COLUMNS
from unelisa.study.trial import COLUMNS, FIRST_TRIALS, Record

Mark = Literal["within", "above", "below"]
Floats = NDArray[np.float64]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Mean absolute errors that a faithful run stays below; the best of some fifty readings that were
# scanned before this study reached .065, .051 and .050.
LIMITS = {"hit_rate": 0.07, "precision": 0.06, "unelisa-bayes": 0.06}
EXPERT_FIGURES = ("hit_rate", "precision")
BESIDE_LATENT = ("oracle", "unelisa-bayes")
_ROUNDING = 0.0005  # the paper prints three digits
_DIGITS = 6


class Figure(TypedDict):
    """A mean over trials beside the published one.

    Attributes
    ----------
    mean, standard_error
        Over the trials; the error is None for a single one.
    quantiles
        Of single trials, at `QUANTILES`. Each trial has a graph of its own.
    published
        The paper's number, None where it has none.
    mark
        Whether the mean lies within two of our standard errors of it, above or below.
    trials
        How many trials the mean is over.
    """

    mean: float
    standard_error: float | None
    trials: int
    quantiles: list[float]
    published: float | None
    mark: Mark | None


class ExpertFigures(TypedDict):
    """(5.1) of a method that names experts, and in how many trials it named none."""

    hit_rate: Figure
    precision: Figure
    none_found: int


class CellTable(TypedDict):
    """One row of the study.

    ``items`` is the mean n; ``flips`` the mean number of flips of the truth between successive
    items; ``mean_truth`` the mean of |average of f_0|, which is 1 where a chain never flipped;
    ``gaps`` by how much LatentIsing's accuracy exceeds others' on the same trials, up to sign.
    """

    cell: str
    n_experts: int
    table: str
    row: int
    trials: int
    items: float
    flips: float
    mean_truth: float
    experts: dict[str, ExpertFigures]
    accuracy: dict[str, Figure]
    up_to_sign: dict[str, Figure]
    gaps: dict[str, Figure]


class StudyTable(TypedDict):
    """The study under one sampler and one reading of the graph.

    ``errors`` are mean absolute errors against the published cells, ``seconds`` the processor's
    seconds per trial by part.
    """

    sampler: StudySampler
    graph: Density
    cells: list[CellTable]
    errors: dict[str, float]
    seconds: dict[str, float]


class SizePoint(TypedDict):
    """How well experts are found with n items: one point of a series."""

    cell: str
    n_experts: int
    factor: int
    trials: int
    items: float
    hit_rate: Figure
    precision: Figure


def tabulate_study(
    results: Mapping[Trial, Record], sampler: StudySampler, graph: Density
) -> StudyTable:
    """Return the table of one sampler and one reading, from its trials in any order."""
    cells = [
        tabulate_cell(cell, records)
        for cell in CELLS
        if (records := _records_of(results, Trial(cell, 0, sampler, graph)))
    ]
    mine = [
        record
        for trial, record in results.items()
        if (trial.sampler, trial.graph, trial.factor) == (sampler, graph, FACTOR)
    ]
    return {
        "sampler": sampler,
        "graph": graph,
        "cells": cells,
        "errors": mean_errors(cells),
        "seconds": _mean_seconds(mine),
    }


def _records_of(results: Mapping[Trial, Record], like: Trial) -> list[Record]:
    """Return the records of all repetitions of a trial, by number, so that sums have one order."""
    same = sorted(trial for trial in results if trial._replace(number=like.number) == like)
    return [results[trial] for trial in same]


def tabulate_cell(cell: Cell, records: Sequence[Record]) -> CellTable:
    """Return a cell's row from its trials."""
    published = PUBLISHED[cell]
    columns = [name for name in COLUMNS if _is_complete(records, name)]
    right = {name: _collect(records, name, "accuracy") for name in columns}
    return {
        "cell": cell.name,
        "n_experts": cell.n_experts,
        "table": published.table,
        "row": published.row,
        "trials": len(records),
        "items": _mean_of(records, "n"),
        "flips": _mean_of(records, "flips"),
        "mean_truth": _mean_of(records, "mean_truth"),
        "experts": tabulate_experts(records, columns, published.figures),
        "accuracy": {name: summarise(x, published.figures.get(name)) for name, x in right.items()},
        "up_to_sign": {name: summarise(np.maximum(x, 1 - x)) for name, x in right.items()},
        "gaps": tabulate_gaps(records),
    }


def _is_complete(records: Sequence[Record], method: str) -> bool:
    """Return whether every trial that is meant for the method has it."""
    meant = [r for r in records if r["trial"] < FIRST_TRIALS.get(method, math.inf)]
    return bool(meant) and all(method in record["scores"] for record in meant)


def tabulate_gaps(records: Sequence[Record]) -> dict[str, Figure]:
    """Return LatentIsing's accuracy less others' on the trials that have both, up to sign."""
    gaps = {}
    for name in BESIDE_LATENT:
        both = [r for r in records if {name, "latent-ising"} <= r["scores"].keys()]
        if both:
            ours, theirs = (_collect(both, x, "accuracy") for x in ("latent-ising", name))
            gaps[name] = summarise(np.maximum(ours, 1 - ours) - np.maximum(theirs, 1 - theirs))
    return gaps


def tabulate_experts(
    records: Sequence[Record], columns: Iterable[str], published: Mapping[str, float]
) -> dict[str, ExpertFigures]:
    """Return hit rate and precision of every method that names experts.

    Both rules of unElisa share one selection, which is listed as "unelisa". Only that one stands in
    the paper.
    """
    found: dict[str, ExpertFigures] = {}
    for name in columns:
        mine = [record["scores"][name] for record in records if name in record["scores"]]
        if "hit_rate" not in mine[0] or name == "unelisa-amv":
            continue
        ours = name == "unelisa-bayes"
        figures = {
            key: summarise(_collect(records, name, key), published[key] if ours else None)
            for key in EXPERT_FIGURES
        }
        found["unelisa" if ours else name] = {
            "hit_rate": figures["hit_rate"],
            "precision": figures["precision"],
            "none_found": sum(scores["precision"] is None for scores in mine),
        }
    return found


def tabulate_sizes(results: Mapping[Trial, Record]) -> list[SizePoint]:
    """Return hit rate and precision for every cell and every n in the results."""
    series = sorted({trial._replace(number=0) for trial in results}, key=_by_cell_and_size)
    return [_tabulate_size(trial, _records_of(results, trial)) for trial in series]


def _by_cell_and_size(trial: Trial) -> tuple[int, int]:
    return CELLS.index(trial.cell), trial.factor


def _tabulate_size(trial: Trial, records: Sequence[Record]) -> SizePoint:
    return {
        "cell": trial.cell.name,
        "n_experts": trial.cell.n_experts,
        "factor": trial.factor,
        "trials": len(records),
        "items": _mean_of(records, "n"),
        "hit_rate": summarise(_collect(records, "unelisa-bayes", "hit_rate")),
        "precision": summarise(_collect(records, "unelisa-bayes", "precision")),
    }


def summarise(values: Floats, published: float | None = None) -> Figure:
    """Return mean, standard error and quantiles of trials, with the published number's mark.

    Examples
    --------
    >>> import numpy as np
    >>> figure = summarise(np.array([.9, 1., .8, .9]), published=.7)
    >>> figure["mean"], figure["standard_error"], figure["mark"]
    (0.9, 0.040825, 'above')
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return {
        "mean": round(mean, _DIGITS),
        "standard_error": None if error is None else round(error, _DIGITS),
        "trials": len(values),
        "quantiles": [round(float(x), 4) for x in np.quantile(values, QUANTILES)],
        "published": published,
        "mark": _mark(mean, error, published),
    }


def _mark(mean: float, error: float | None, published: float | None) -> Mark | None:
    """Return where our mean lies; the paper's own error is unknown and not counted."""
    if published is None or error is None:
        return None
    if abs(mean - published) <= 2 * error + _ROUNDING:
        return "within"
    return "above" if mean > published else "below"


def mean_errors(cells: Sequence[CellTable]) -> dict[str, float]:
    """Return the mean absolute error over the cells for each published column that we have."""
    errors = {}
    for column in PUBLISHED_COLUMNS:
        figures = [figure for cell in cells if (figure := find_figure(cell, column))]
        gaps = [abs(f["mean"] - f["published"]) for f in figures if f["published"] is not None]
        if gaps:
            errors[column] = round(math.fsum(gaps) / len(gaps), _DIGITS)
    return errors


def find_figure(cell: CellTable, column: str) -> Figure | None:
    """Return a published column's figure: of unElisa's experts, or of an accuracy."""
    if column in EXPERT_FIGURES:
        experts: Any = cell["experts"].get("unelisa", {})
        return experts.get(column)  # type: ignore[no-any-return]
    return cell["accuracy"].get(column)


def _collect(records: Sequence[Record], method: str, key: str) -> Floats:
    """Return one score over all trials of the method; what is undefined counts as 0."""
    mine = [record["scores"][method] for record in records if method in record["scores"]]
    return np.array([scores[key] or 0.0 for scores in mine], dtype=np.float64)


def _mean_of(records: Sequence[Record], key: str) -> float:
    return round(float(np.mean([record[key] for record in records])), _DIGITS)


def _mean_seconds(records: Sequence[Record]) -> dict[str, float]:
    parts = dict.fromkeys(part for record in records for part in record["seconds"])
    return {
        part: round(
            float(np.mean([r["seconds"][part] for r in records if part in r["seconds"]])), _DIGITS
        )
        for part in parts
    }
