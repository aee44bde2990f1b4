"""Every method on every set of real votes: one line of JSON per set and method, then one archive.

`benchmarks/peers.py` appends the rows of other programs to its own file beside ours, in the same
form; the archive joins them all.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from studies.chances import SHARE, share_of_yes
from studies.fingerprints import hash_code, root_of
from studies.markdown import group_by
from studies.real.intervals import Figure, score_with_intervals
from studies.real.sets import describe_set
from studies.real.supervised import BUDGETS, REFERENCES, score_reference
from studies.records import Json, make_archive, read_lines, run_missing
from studies.sets import Reader
from unelisa.aggregators import AGGREGATORS
from unelisa.analysis.comparison import build_aggregator
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels

Floats = NDArray[np.float64]
RESAMPLES = 300
OURS, VARIANTS, SUPERVISED, PEERS = "ours", "variants", "supervised", "peers"
PANELS = "panels"  # of judges: a folder of results, and a part of the archive
INTERCEPTS = "unelisa-intercepts"
# Methods with other settings than their defaults: shown beside them, but not ranked.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {INTERCEPTS: ("unelisa", {"fit_intercept": True})}
UNRANKED = (*SETTINGS, SHARE)
# What is run on panels of judges, which are not ranked either.
PANEL_METHODS = ("latent-ising", "dawid-skene", SHARE)
_DIGITS = 5


class Row(TypedDict):
    """One method on one set.

    kind is "ours", "variants", "supervised" or "peers". figures has (value, low, high) for each
    figure that is defined; note says why there is none, or is empty. A supervised row's low and
    high are the extremes over its splits.
    """

    set: str
    method: str
    kind: str
    figures: dict[str, list[float]]
    seconds: float | None
    note: str


# a set's votes and labels, and its name -> the row
Task = Callable[[KnownLabels, str], Row]


def make_row(
    where: tuple[str, str, str],
    figures: Mapping[str, Figure | None],
    seconds: float | None = None,
    note: str = "",
) -> Row:
    """Return a row; `where` is the set, the method and the kind of method."""
    name, method, kind = where
    return {
        "set": name,
        "method": method,
        "kind": kind,
        "figures": {
            key: [round(float(x), _DIGITS) for x in figure]
            for key, figure in figures.items()
            if figure is not None
        },
        "seconds": None if seconds is None else round(seconds, 3),
        "note": note,
    }


def score_answers(
    known: KnownLabels, scores: Floats, probabilities: Floats | None
) -> dict[str, Figure | None]:
    """Return the figures, with intervals, of scores for the items of `known.scored_votes()`."""
    return score_with_intervals(known.scored_signs(), scores, probabilities, RESAMPLES)


def run_method(name: str, known: KnownLabels, where: str) -> Row:
    """Return the row of one of our methods, fitted to the votes alone."""
    method, settings = SETTINGS.get(name, (name, {}))
    place = where, name, VARIANTS if settings else OURS
    model = build_aggregator(method, random_state=0).set_params(**settings)
    start = time.process_time()
    try:
        model.fit(known.votes)
    except ModelError as error:
        return make_row(place, {}, note=f"refused: {error}")
    seconds = time.process_time() - start
    asked = known.scored_votes()
    scores = model.decision_function(asked)
    chances = model.predict_proba(asked)[:, 1] if hasattr(model, "predict_proba") else None
    return make_row(place, score_answers(known, scores, chances), seconds)


def run_share(known: KnownLabels, where: str) -> Row:
    """Return the row of the share of yes, the chances that majority vote implies."""
    start = time.process_time()
    chances = share_of_yes(known.scored_votes().values)
    seconds = time.process_time() - start
    return make_row((where, SHARE, VARIANTS), score_answers(known, chances - 0.5, chances), seconds)


def run_reference(name: str, budget: int, known: KnownLabels, where: str) -> Row:
    """Return the row of a supervised reference with the given number of labels."""
    start = time.process_time()
    figures = score_reference(name, known, budget)
    place = where, f"{name} ({budget:,} labels)", SUPERVISED
    if figures is None:
        return make_row(place, {}, note="too few labeled items to leave some for the test")
    return make_row(place, figures, time.process_time() - start)


def list_tasks(methods: Sequence[str] | None = None, supervised: bool = True) -> dict[str, Task]:
    """Return what is run on each set, by the method's name in the rows."""
    tasks: dict[str, Task] = {}
    for name in methods or (*AGGREGATORS, *UNRANKED):
        tasks[name] = run_share if name == SHARE else partial(run_method, name)
    for name in REFERENCES if supervised else ():
        for budget in BUDGETS:
            tasks[f"{name} ({budget:,} labels)"] = partial(run_reference, name, budget)
    return tasks


def run_real(
    sets: Mapping[str, Reader],
    folder: Path,
    tasks: Mapping[str, Task],
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what ours.jsonl in a folder lacks, set by set, and append each row as it finishes."""
    rows = folder / "ours.jsonl", read_rows(folder)
    run_missing(sets, tasks, rows, describe_set, stamp_row, done)


def stamp_row(row: Mapping[str, Any]) -> str | None:
    """Return the code that a row depends on; None for another program, whose version it names."""
    here = f"{__name__}:"
    if row["kind"] == PEERS:
        return None
    if row["kind"] == SUPERVISED:
        return hash_code(f"{here}run_reference")
    if row["method"] == SHARE:
        return hash_code(f"{here}run_share")
    method, _ = SETTINGS.get(row["method"], (row["method"], {}))
    return hash_code(f"{here}run_method", root_of(AGGREGATORS[method]))


def read_rows(folder: Path) -> list[Row]:
    """Return all rows in a results folder, ours and the peers'; of two the later one counts."""
    rows: dict[tuple[str, str], Row] = {}
    for file in (folder / "ours.jsonl", *sorted(folder.glob("peers*.jsonl"))):
        for row in read_lines(file):
            rows[row["set"], row["method"]] = row
    return list(rows.values())


def collect_real(folder: Path, stored: Json | None = None) -> Json:
    """Return the archive of a results folder, added to a stored one, in a fixed order."""
    old = stored or {}
    panels = _join_results(folder / PANELS, old.get(PANELS, {}))
    return make_archive(**_join_results(folder, old), panels=panels)


def _join_results(folder: Path, old: Json) -> Json:
    """Return the sets and the rows of a folder, added to old ones."""
    found = [*old.get("sets", ()), *read_lines(folder / "sets.jsonl")]
    facts = {fact["set"]: fact for fact in found}
    rows = {(row["set"], row["method"]): row for row in [*old.get("rows", ()), *read_rows(folder)]}
    ordered = sorted(rows.values(), key=lambda row: (row["set"], row["kind"], row["method"]))
    return {
        "sets": [facts[name] for name in sorted(facts)],
        "rows": [row for row in ordered if row["set"] in facts],
    }


def rank_methods(rows: Iterable[Row], figure: str) -> dict[str, float]:
    """Return each method's mean rank over the sets: 1 is best, ties share the mean of their ranks.

    A method without the figure on a set (it refused, failed or ran out of time) ranks last there.

    Examples
    --------
    >>> rows = [make_row(("a", "x", "ours"), {"auc": Figure(.9, .8, 1)}),
    ...         make_row(("a", "y", "ours"), {})]
    >>> rank_methods(rows, "auc")
    {'x': 1.0, 'y': 2.0}
    """
    groups = group_by(rows, "set")
    methods = sorted({row["method"] for mine in groups.values() for row in mine})
    sign = 1 if figure == "log_loss" else -1
    ranks = []
    for _, mine in sorted(groups.items()):
        found = {
            row["method"]: sign * row["figures"][figure][0]
            for row in mine
            if figure in row["figures"]
        }
        ranks.append(rankdata([found.get(method, np.inf) for method in methods]))
    means = np.mean(ranks, axis=0)
    return {method: float(mean) for method, mean in zip(methods, means, strict=True)}
