"""Every method on every set of more than two classes: a line of JSON per set and method."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from studies.chances import share_of_votes
from studies.classes.peers import ask_crowd_kit, list_crowd_kit, read_stored
from studies.classes.sets import describe_set
from studies.fingerprints import hash_code, root_of
from studies.records import Json, make_archive, read_lines, run_missing
from studies.sets import Reader
from unelisa.aggregators import AGGREGATORS, LatentIsing, OneVsRest
from unelisa.aggregators.base import as_chances
from unelisa.analysis.comparison import build_aggregator
from unelisa.analysis.scoring import score_classes
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels

Floats = NDArray[np.float64]

CROWD_KIT = "crowd-kit "  # before the names of its methods
OURS, VARIANTS, PEERS, STORED = "ours", "variants", "peers", "stored"
SHARE = "share-of-votes"
LIFTED = "one-vs-rest latent-ising"
HINDSIGHT = "BestSingleJudge"  # a stored row that nobody could have without the truth
_DIGITS = 5


class Row(TypedDict):
    """One method on one set; figures are those of `ClassScore` that are defined.

    kind is "ours", "variants" (of ours, not ranked), "peers" (run here), "stored" (run elsewhere).
    """

    set: str
    method: str
    kind: str
    figures: dict[str, float]
    seconds: float | None
    note: str


# a set's votes and labels, and its name -> the row
Task = Callable[[KnownLabels, str], Row]


def make_row(
    where: tuple[str, str, str],
    figures: Mapping[str, float],
    seconds: float | None = None,
    note: str = "",
) -> Row:
    """Return a row; `where` is the set, the method and the kind of method."""
    name, method, kind = where
    kept = {key: round(float(x), _DIGITS) for key, x in figures.items() if np.isfinite(x)}
    rounded = None if seconds is None else round(seconds, 3)
    return {
        "set": name,
        "method": method,
        "kind": kind,
        "figures": kept,
        "seconds": rounded,
        "note": note,
    }


def score_answers(known: KnownLabels, scores: Floats, chances: Floats | None) -> dict[str, float]:
    """Return the figures of scores (items x classes) for the items of `known.scored_votes()`."""
    truth = known.scored_signs()
    return score_classes(truth, scores, chances, ordered=known.votes.ordered)._asdict()


def run_model(model: Any, where: tuple[str, str], known: KnownLabels, name: str) -> Row:
    """Return the row of a model of ours, fitted to the votes alone; `where` is method and kind."""
    votes, place = known.votes, (name, *where)
    start = time.process_time()
    try:
        model.fit(votes)
    except ModelError as error:
        return make_row(place, {}, note=f"refused: {error}")
    seconds = time.process_time() - start
    scores = model.decision_function(known.scored_votes())
    chances = as_chances(scores) if hasattr(model, "predict_proba") else None
    return make_row(place, score_answers(known, scores, chances), seconds)


def run_share(known: KnownLabels, name: str) -> Row:
    """Return the row of (count + 1) / (votes + K), the chances that the majority vote implies."""
    start = time.process_time()
    chances = share_of_votes(known.scored_votes())
    seconds = time.process_time() - start
    return make_row((name, SHARE, VARIANTS), score_answers(known, chances, chances), seconds)


def run_peer(method: str, known: KnownLabels, name: str) -> Row:
    """Return the row of a method of crowd-kit."""
    place = name, f"{CROWD_KIT}{method}", PEERS
    chances, seconds, note = ask_crowd_kit(method, known)
    figures = {} if chances is None else score_answers(known, chances, chances)
    return make_row(place, figures, seconds, note)


def list_tasks(methods: Sequence[str] | None = None, peers: bool = True) -> dict[str, Task]:
    """Return what is run on each set: ours that take more than two classes, variants, crowd-kit."""
    tasks: dict[str, Task] = {}
    for name, cls in AGGREGATORS.items():
        if cls.takes.any_class:
            tasks[name] = partial(run_model, build_aggregator(name), (name, OURS))
    tasks[LIFTED] = partial(run_model, OneVsRest(LatentIsing()), (LIFTED, VARIANTS))
    tasks[SHARE] = run_share
    for name in list_crowd_kit() if peers else ():
        tasks[f"{CROWD_KIT}{name}"] = partial(run_peer, name)
    unknown = [name for name in methods or () if name not in tasks]
    if unknown:
        raise ModelError(f"there is no method {unknown[0][:60]!r}; choose {', '.join(tasks)}")
    return {name: task for name, task in tasks.items() if methods is None or name in methods}


def run_classes(
    sets: Mapping[str, Reader],
    folder: Path,
    tasks: Mapping[str, Task],
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what the results in a folder lack, set by set, and append each row as it finishes."""
    path = folder / "rows.jsonl"
    run_missing(sets, tasks, (path, read_lines(path)), describe_set, stamp_row, done)


def stamp_row(row: Mapping[str, Any]) -> str | None:
    """Return the code that a row depends on; None for one that was computed elsewhere."""
    here = f"{__name__}:"
    if row["kind"] == STORED:
        return None
    if row["kind"] == PEERS:
        return hash_code(f"{here}run_peer")
    if row["method"] == SHARE:
        return hash_code(f"{here}run_share")
    cls = OneVsRest if row["method"] == LIFTED else AGGREGATORS[row["method"]]
    used = {cls, LatentIsing} if cls is OneVsRest else {cls}
    return hash_code(f"{here}run_model", *sorted(map(root_of, used)))


def collect_classes(folder: Path, peers: Sequence[Path], archived: Json | None = None) -> Json:
    """Return the archive of a results folder and files of stored scores, added to an old one.

    Stored scores of programs that were run here too are left out.
    """
    old = archived or {}
    found = [*old.get("sets", ()), *read_lines(folder / "sets.jsonl")]
    facts = {fact["set"]: fact for fact in found}
    elsewhere = [
        make_row((row["set"], row["method"], STORED), row["figures"], row["seconds"], row["note"])
        for file in peers
        for row in read_stored(file)
    ]
    given = [*old.get("rows", ()), *read_lines(folder / "rows.jsonl"), *elsewhere]
    rows = {(row["set"], row["kind"], row["method"]): row for row in given if row["set"] in facts}
    ran = {row["method"] for row in rows.values() if row["kind"] == PEERS}
    dropped = {HINDSIGHT, *(name.removeprefix(CROWD_KIT) for name in ran)}
    rows = {key: rows[key] for key in rows if key[1] != STORED or key[2] not in dropped}
    return make_archive(
        sets=[facts[name] for name in sorted(facts)], rows=[rows[key] for key in sorted(rows)]
    )
