"""Every method on many worlds: one line of JSON per world and method, in one file per method.

A method that has changed runs again on all worlds once its file is removed; the others' lines stay.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from joblib import Parallel, delayed

from studies.chances import share_of_votes
from studies.fingerprints import drop_stale, hash_code, root_of
from studies.names import pick_names
from studies.records import find_commit, open_results, read_lines
from studies.worlds.kinds import Part, Place, draw_world
from studies.worlds.voters import Floats, World
from unelisa.aggregators import AGGREGATORS
from unelisa.analysis.comparison import build_aggregator
from unelisa.analysis.scoring import score_classes
from unelisa.kernels.threads import one_blas_thread
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
LEAST_CHANCE = 0.001  # of the true class, in a log loss
_DIGITS, _ROUNDING = 6, 1e-9


class Row(TypedDict):
    """One method on one world.

    figures has those that are defined, and is empty if the method failed: note says why. warnings
    are the names of the warnings that the fit gave, structure what the method decided on. commit is
    that of the code that ran.
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
    commit: str


class Answer(NamedTuple):
    """A fitted method, its scores, its P(class) or None, and the CPU seconds of the fit."""

    model: Any
    scores: Floats
    chances: Floats | None
    seconds: float


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
    with one_blas_thread():
        return [_score_method(name, world, place) for name in methods]


def _score_method(name: str, world: World, place: Place) -> Row:
    row: Row = {
        "part": place.part,
        "kind": place.kind,
        "number": place.number,
        "items": world.votes.shape[0],
        "voters": world.votes.shape[1],
        "method": name,
        "figures": {},
        "seconds": None,
        "reliable": None,
        "warnings": [],
        "structure": "",
        "note": "",
        "commit": find_commit(),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = _answer(name, world.enter())
        except Exception as error:  # a method that fails is a result
            return {**row, "note": f"{type(error).__name__}: {error}"[:200]}
    figures = score_answer(world, found.scores, found.chances)
    if name == OURS:
        figures |= score_intervals(found.model, world, figures["accuracy"])
    return {
        **row,
        "figures": {key: round(x, _DIGITS) for key, x in figures.items() if np.isfinite(x)},
        "seconds": round(found.seconds, 4),
        "reliable": bool(found.model.reliable_),
        "warnings": sorted(warning.category.__name__ for warning in caught),
        "structure": _name_structure(found.model),
    }


def _answer(name: str, votes: Votes) -> Answer:
    model = build_aggregator(name, random_state=0)
    start = time.process_time()
    model.fit(votes)
    seconds = time.process_time() - start
    scores = model.decision_function(votes)
    chances: Floats | None = None
    if name == MAJORITY:
        chances = share_of_votes(votes)
    elif hasattr(model, "predict_proba"):
        chances = model.predict_proba(votes)
    return Answer(model, scores, chances, seconds)


def _name_structure(model: Any) -> str:
    """Return which reading of the votes a method took, if it has several."""
    return str(getattr(model, "reading_", ""))


def score_answer(world: World, scores: Floats, chances: Floats | None) -> dict[str, float]:
    """Return the accuracy (a tie counts by its expectation), and the log loss of P(class).

    A P below .001 counts as .001: one item must not decide.
    """
    true = np.searchsorted(world.codes, world.truth)
    each = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
    figures = {"accuracy": score_classes((true + 1).astype(np.int8), each).accuracy}
    if chances is not None:
        right = np.maximum(chances[np.arange(len(true)), true], LEAST_CHANCE)
        figures["log_loss"] = float(-np.log(right).mean())
    return figures


def score_intervals(model: Any, world: World, accuracy: float) -> dict[str, float]:
    """Return `expected_accuracy_`, and of each sort of interval how many hold and their mean width.

    expected is the accuracy of the labels, rate the share of each class among the items with votes
    (of yes, with two classes), voters the share of a voter's votes that are right. A sort of which
    nothing is said is left out.
    """
    voted = world.votes != 0
    with np.errstate(invalid="ignore"):
        rights = ((world.votes == world.truth[:, None]) & voted).sum(axis=0) / voted.sum(axis=0)
    shares = (world.truth[voted.any(axis=1), None] == world.codes).mean(axis=0)
    voters = model.voters_full_
    bounds = {
        "expected": (model.expected_accuracy_interval_, accuracy),
        "rate": (model.prevalence_interval_, shares[1] if world.n_classes == 2 else shares),
        "voters": ([voters.get("accuracy_low"), voters.get("accuracy_high")], rights),
    }
    found = {} if model.expected_accuracy_ is None else {"expected": model.expected_accuracy_}
    for name, (ends, true) in bounds.items():
        found |= _judge_intervals(name, ends, np.atleast_1d(true))
    return found


def _judge_intervals(name: str, ends: Any, true: Floats) -> dict[str, float]:
    """Return the share of the intervals that hold and their mean width, of those that there are."""
    if ends is None or any(end is None for end in ends):
        return {}
    low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in ends)
    told = np.isfinite(low + high + true)
    if not told.any():
        return {}
    held = (low <= true + _ROUNDING) & (true <= high + _ROUNDING)
    return {f"{name}_held": held[told].mean(), f"{name}_width": (high - low)[told].mean()}


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


def stamp_row(row: Mapping[str, Any]) -> str:
    """Return the code that a row depends on: the worlds of its part, and its method."""
    return hash_code(f"{__name__}:score_world", root_of(AGGREGATORS[row["method"]]))


def stamp_kind(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the code of every method in the summary of a kind."""
    return {name: stamp_row({"method": name}) for name in row["methods"]}


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
            (part, method): stack.enter_context(
                open_results(results_path(folder, part, method), stamp_row)
            )
            for part in dict.fromkeys(place.part for place in places)
            for method in methods
        }
        fresh = drop_stale(read_rows(folder), stamp_row)
        there = {(x["part"], x["kind"], x["number"], x["method"]) for x in fresh}
        lacking = [(place, [m for m in methods if (*place, m) not in there]) for place in places]
        tasks = [task for task in lacking if task[1]]
        done("", len(places) - len(tasks))
        run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        for rows in run(delayed(score_world)(*task) for task in tasks):
            for row in rows:
                files[row["part"], row["method"]].append(row)
            done(rows[0]["kind"], 1)
