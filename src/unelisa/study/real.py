"""Every method on every set of real votes: one line of JSON per set and method, then one archive.

Lines are appended as a method ends and flushed to the disk, so that a run that was stopped goes on
where it was. `benchmarks/peers.py` appends lines of other programs to a file of its own beside
ours, in the same form; the archive joins them all.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import unelisa
from unelisa.aggregators import AGGREGATORS
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.kernels.blas import one_blas_thread
from unelisa.sources.labels import KnownLabels
from unelisa.study.comparison import build_aggregator
from unelisa.study.intervals import Figure, score_with_intervals
from unelisa.study.real_sets import Reader, SetFacts, describe_set
from unelisa.study.results import open_results
from unelisa.study.supervised import BUDGETS, REFERENCES, score_reference

Floats = NDArray[np.float64]
FORMAT = 1
RESAMPLES = 300
OURS, SUPERVISED, PEERS = "ours", "supervised", "peers"
_DIGITS = 5


class Row(TypedDict):
    """One method on one set.

    kind is "ours", "supervised" or "peers". figures holds (value, low, high) for each figure that
    is defined; note says why there are none, or nothing. A supervised row's low and high are the
    extremes over its splits.
    """

    set: str
    method: str
    kind: str
    figures: dict[str, list[float]]
    seconds: float | None
    note: str


class RealArchive(TypedDict):
    """All rows of a study, the sets they are about, and what ran them."""

    format: int
    unelisa: str
    sets: list[SetFacts]
    rows: list[Row]


# a set's votes and labels, and its name -> the row
Task = Callable[[KnownLabels, str], Row]


def make_row(
    where: tuple[str, str, str],
    figures: Mapping[str, Figure | None],
    seconds: float | None = None,
    note: str = "",
) -> Row:
    """Return a row; `where` is the set, the method and the kind of method."""
    shown = {
        name: [round(float(x), _DIGITS) for x in figure]
        for name, figure in figures.items()
        if figure is not None
    }
    taken = None if seconds is None else round(seconds, 3)
    name, method, kind = where
    return {
        "set": name,
        "method": method,
        "kind": kind,
        "figures": shown,
        "seconds": taken,
        "note": note,
    }


def score_answers(
    known: KnownLabels, scores: Floats, probabilities: Floats | None
) -> dict[str, Figure | None]:
    """Return the figures, with intervals, of scores for the items of `known.scored_votes()`."""
    return score_with_intervals(known.scored_signs(), scores, probabilities, RESAMPLES)


def run_method(name: str, known: KnownLabels, where: str) -> Row:
    """Return the row of one of our methods, fitted to the votes alone with its defaults."""
    model, start = build_aggregator(name, random_state=0), time.process_time()
    try:
        model.fit(known.votes)
    except ModelError as error:
        return make_row((where, name, OURS), {}, note=f"refused: {error}")
    seconds = time.process_time() - start
    asked = known.scored_votes()
    scores = model.decision_function(asked)
    chances = model.predict_proba(asked)[:, 1] if hasattr(model, "predict_proba") else None
    return make_row((where, name, OURS), score_answers(known, scores, chances), seconds)


def run_reference(name: str, budget: int, known: KnownLabels, where: str) -> Row:
    """Return the row of a supervised reference that sees so many labels."""
    start = time.process_time()
    figures = score_reference(name, known, budget)
    method = f"{name} ({budget:,} labels)"
    if figures is None:
        note = "too few labelled items to leave some for the test"
        return make_row((where, method, SUPERVISED), {}, note=note)
    return make_row((where, method, SUPERVISED), figures, time.process_time() - start)


def list_tasks(methods: Sequence[str] | None = None, supervised: bool = True) -> dict[str, Task]:
    """Return what is run on each set, by the method's name in the rows."""
    tasks: dict[str, Task] = {}
    for name in methods or AGGREGATORS:
        tasks[name] = partial(run_method, name)
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
    """Run what the results in a folder lack, set by set, and append each row as it ends.

    Parameters
    ----------
    sets
        How to read each set.
    folder
        Where ours.jsonl and sets.jsonl are kept.
    tasks
        What to run, from `list_tasks`.
    done
        Called with the set's name and the number of tasks that were there, then 1 after each.
    """
    with (
        open_results(folder / "ours.jsonl") as rows,
        open_results(folder / "sets.jsonl") as facts,
        one_blas_thread(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)  # what they say is in the figures
        there = {(row["set"], row["method"]) for row in read_rows(folder)}
        described = {fact["set"] for fact in read_lines(folder / "sets.jsonl")}
        for name, read in sets.items():
            missing = [method for method in tasks if (name, method) not in there]
            done(name, len(tasks) - len(missing))
            if not missing and name in described:
                continue
            known = read()
            if name not in described:
                facts.append(dict(describe_set(name, known)))
            for method in missing:
                rows.append(dict(tasks[method](known, name)))
                done(name, 1)


def read_lines(path: Path) -> list[Any]:
    """Return the whole lines of a results file; none where there is no file."""
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    except ValueError:
        raise ModelError(f"{path.name} is no file of results: use a new folder") from None


def read_rows(folder: Path) -> list[Row]:
    """Return all rows in a results folder, ours and the peers'; of two the later one counts."""
    rows: dict[tuple[str, str], Row] = {}
    for file in (folder / "ours.jsonl", *sorted(folder.glob("peers*.jsonl"))):
        for row in read_lines(file):
            rows[row["set"], row["method"]] = row
    return list(rows.values())


def collect_real(folder: Path) -> RealArchive:
    """Return the archive of a results folder, in a fixed order."""
    facts = {fact["set"]: fact for fact in read_lines(folder / "sets.jsonl")}
    rows = sorted(read_rows(folder), key=lambda row: (row["set"], row["kind"], row["method"]))
    return {
        "format": FORMAT,
        "unelisa": unelisa.__version__,
        "sets": [facts[name] for name in sorted(facts)],
        "rows": [row for row in rows if row["set"] in facts],
    }


def format_real(archive: RealArchive) -> str:
    """Return an archive as JSON with one row a line, which version control shows well."""
    text = json.dumps(archive, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace('{"set":', '\n{"set":') + "\n"


def read_real(path: Path) -> RealArchive:
    """Return an archive from its file."""
    try:
        archive: Any = json.loads(path.read_text(encoding="utf-8"))
        known = archive["format"] == FORMAT and "rows" in archive
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ModelError(
            f"{path.name} is no archive of this study: make it by unelisa reproduce real"
        )
    return archive  # type: ignore[no-any-return]


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
    rows = list(rows)
    methods = sorted({row["method"] for row in rows})
    worst = np.inf
    ranks = []
    for name in sorted({row["set"] for row in rows}):
        found = {
            row["method"]: row["figures"][figure][0]
            for row in rows
            if row["set"] == name and figure in row["figures"]
        }
        sign = 1 if figure == "log_loss" else -1
        ranks.append(rankdata([sign * found[m] if m in found else worst for m in methods]))
    means = np.mean(ranks, axis=0)
    return {method: float(mean) for method, mean in zip(methods, means, strict=True)}
