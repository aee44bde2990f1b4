"""Every method on many worlds: one line of JSON per world and method, in one file per method.

A method that has changed runs again on all worlds once its file is removed; the others' lines stay.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from joblib import Parallel, delayed

from studies.chances import rate_honesty, share_of_yes
from studies.names import pick_names
from studies.records import open_results, read_lines
from studies.worlds.kinds import Part, Place, draw_world
from studies.worlds.voters import Floats, Signs
from unelisa.comparison import build_aggregator
from unelisa.kernels.blas import one_blas_thread
from unelisa.scoring import score_labels
from unelisa.votes import Votes

OURS, MAJORITY, DAWID_SKENE = "latent-ising", "majority-vote", "dawid-skene"
REST = (
    "one-coin-dawid-skene",
    "wawa",
    "zero-based-skill",
    "spectral-meta-learner",
    "latent-spectral-meta-learner",
    "unelisa",
)
METHODS = (OURS, MAJORITY, DAWID_SKENE, *REST)
_DIGITS = 6


class Row(TypedDict):
    """One method on one world.

    figures has those that are defined, and is empty if the method failed: note says why. warnings
    are the names of the warnings that the fit gave, structure what the method decided on.
    """

    part: str
    kind: str
    number: int
    items: int
    voters: int
    method: str
    figures: dict[str, float]
    seconds: float | None
    reliable: bool | None
    warnings: list[str]
    structure: str
    note: str


class Answer(NamedTuple):
    """A method's scores, its P(+1) or None, and what it says of them; CPU seconds of the fit."""

    scores: Floats
    chances: Floats | None
    seconds: float
    reliable: bool
    structure: str


def find_world_methods(names: str | None) -> tuple[str, ...]:
    """Return the methods in a comma-separated list, in their fixed order; all of them for None.

    Examples
    --------
    >>> find_world_methods("dawid-skene,latent-ising")
    ('latent-ising', 'dawid-skene')
    """
    return pick_names(names, METHODS, "the study has no method")


def score_world(place: Place, methods: Sequence[str] = METHODS) -> list[Row]:
    """Return the rows of some methods on one world.

    Examples
    --------
    >>> (row,) = score_world(Place("choosing", "independent", 0), ["majority-vote"])
    >>> row["figures"]["accuracy"] > 0.8
    True
    """
    world = draw_world(place)
    votes = Votes.of(world.votes, coding="pm1")
    with one_blas_thread():
        return [_score_method(name, votes, world.truth, place) for name in methods]


def _score_method(name: str, votes: Votes, truth: Signs, place: Place) -> Row:
    row: Row = {
        "part": place.part,
        "kind": place.kind,
        "number": place.number,
        "items": votes.n_items,
        "voters": votes.n_voters,
        "method": name,
        "figures": {},
        "seconds": None,
        "reliable": None,
        "warnings": [],
        "structure": "",
        "note": "",
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = _answer(name, votes)
        except Exception as error:  # a method that fails is a result
            return {**row, "note": f"{type(error).__name__}: {error}"[:200]}
    return {
        **row,
        "figures": score_answer(truth, found.scores, found.chances),
        "seconds": round(found.seconds, 4),
        "reliable": found.reliable,
        "warnings": sorted(warning.category.__name__ for warning in caught),
        "structure": found.structure,
    }


def _answer(name: str, votes: Votes) -> Answer:
    model = build_aggregator(name, random_state=0)
    start = time.process_time()
    model.fit(votes)
    seconds = time.process_time() - start
    scores = model.decision_function(votes)
    chances: Floats | None = None
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(votes)[:, 1]
    elif name == MAJORITY:
        chances = share_of_yes(votes.values)
    return Answer(scores, chances, seconds, bool(model.reliable_), _name_structure(model))


def _name_structure(model: Any) -> str:
    """Return the structures that a method kept of those that it tried, if it tries any."""
    table = getattr(model, "structure_", None)
    if table is None:
        return ""
    return ", ".join(table["structure"][table["kept"].astype(bool)].astype(str))


def score_answer(truth: Signs, scores: Floats, chances: Floats | None) -> dict[str, float]:
    """Return the figures that are defined.

    accuracy and balanced_accuracy (a tie counts half); and for methods with probabilities log_loss,
    ece and confidence, see `rate_honesty`.
    """
    plain = score_labels(truth, scores, chances)
    figures = {"accuracy": plain.accuracy, "balanced_accuracy": plain.balanced_accuracy}
    if chances is not None:
        figures |= {"log_loss": plain.log_loss, **rate_honesty(truth, chances)}
    return {name: round(value, _DIGITS) for name, value in figures.items() if np.isfinite(value)}


def results_path(folder: Path, part: Part, method: str) -> Path:
    """Return the file of one method's rows on the worlds of one part."""
    return folder / f"{part}-{method}.jsonl"


def read_rows(folder: Path) -> list[Row]:
    """Return all rows in a results folder, in a fixed order; of two alike the later one counts."""
    rows: dict[tuple[str, str, int, str], Row] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in read_lines(path):
            rows[row["part"], row["kind"], row["number"], row["method"]] = row
    return [rows[key] for key in sorted(rows)]


def run_places(
    places: Sequence[Place],
    folder: Path,
    methods: Sequence[str] = METHODS,
    n_jobs: int = 1,
    done: Callable[[str, int], Any] = lambda _kind, _count: None,
) -> None:
    """Run what the results in a folder lack, and append each row when its world is finished.

    Parameters
    ----------
    places
        The worlds.
    folder
        Where the results are kept, one file per part and method.
    methods
        Names in `METHODS`.
    n_jobs
        Worlds at a time, in processes: warnings and CPU time belong to a process, not to a thread.
    done
        Called with a kind and the number of worlds finished: those already there, then each.
    """
    with ExitStack() as stack:
        files = {
            (part, method): stack.enter_context(open_results(results_path(folder, part, method)))
            for part in dict.fromkeys(place.part for place in places)
            for method in methods
        }
        there = {(x["part"], x["kind"], x["number"], x["method"]) for x in read_rows(folder)}
        lacking = [(place, [m for m in methods if (*place, m) not in there]) for place in places]
        tasks = [task for task in lacking if task[1]]
        done("", len(places) - len(tasks))
        run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        for rows in run(delayed(score_world)(*task) for task in tasks):
            for row in rows:
                files[row["part"], row["method"]].append(row)
            done(rows[0]["kind"], 1)
