"""Worlds summarized: per kind, how ours compares with majority vote, Dawid-Skene and the rest."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from studies.fingerprints import common_code
from studies.markdown import group_by
from studies.records import Json, make_archive
from studies.worlds.kinds import KINDS
from studies.worlds.runs import DAWID_SKENE, MAJORITY, OURS, REST, Row, read_rows
from unelisa.errors import VotesWarning

LOSS, LARGE_LOSS = 0.02, 0.05
TOO_SURE = 0.1
SHARES = ("losing", "silent", "reliable", "too_sure")
INTERVALS = ("expected", "rate", "voters")
FIGURES = ("accuracy", "log_loss")
_NEEDED = (OURS, MAJORITY, DAWID_SKENE)
_DIGITS = 5


class KindSummary(TypedDict):
    """The worlds of one kind on which ours, majority vote and Dawid-Skene have an answer.

    difference is the mean accuracy of ours minus that of the better of the two (the better one over
    all worlds of the kind); by_world has the mean, the standard error and the 5 % and 95 % quantile
    of the difference to the better of the two on each world. losing is the share of worlds where
    that is below -.02, silent the share where it is below -.05 without a flag (`is_flagged`).
    reliable is the share of worlds called so, too_sure the share where besides `expected_accuracy_`
    is more than .10 above the accuracy. intervals has of each sort the number of worlds that have
    them, and the sums over these of the share that hold and of the mean width. unanswered counts
    the worlds left out; commits are those of the code that ran, code the hash of what each method
    depends on.
    """

    part: str
    kind: str
    worlds: int
    unanswered: int
    commits: list[str]
    code: dict[str, str | None]
    methods: dict[str, dict[str, float]]
    difference: float
    by_world: list[float]
    losing: float
    silent: float
    reliable: float
    too_sure: float
    intervals: dict[str, list[float]]


class PartSummary(NamedTuple):
    """All kinds of a part together; means are over the kinds, shares over the worlds."""

    kinds: int
    worlds: int
    unanswered: int
    worst: tuple[str, float]
    worst_by_world: tuple[str, float]
    shares: dict[str, float]
    intervals: dict[str, list[float]]
    worse_log_loss: list[str]
    means: dict[str, dict[str, float]]
    best_of_the_rest: str | None


def collect_worlds(folder: Path, stored: Json | None = None) -> Json:
    """Return the archive of a results folder, added to a stored one; the newer kinds win."""
    old = {(row["part"], row["kind"]): row for row in (stored or {"kinds": []})["kinds"]}
    new = {(row["part"], row["kind"]): row for row in summarize_kinds(read_rows(folder))}
    rows: dict[tuple[str, str], Any] = {**old, **new}
    order = [(part, kind) for part, kinds in KINDS.items() for kind in kinds]
    return make_archive(kinds=[rows[key] for key in order if key in rows])


def summarize_kinds(rows: Iterable[Row]) -> list[KindSummary]:
    """Return the summary of every kind with a world that all three methods have answered."""
    found = []
    for (part, kind), mine in group_by(rows, "part", "kind").items():
        worlds = group_by(mine, "number").values()
        tried = [{row["method"]: row for row in world} for world in worlds]
        tried = [world for world in tried if set(_NEEDED) <= set(world)]
        answered = [world for world in tried if all(world[name]["figures"] for name in _NEEDED)]
        if answered:
            found.append(_summarize_kind((part, kind), answered, len(tried) - len(answered)))
    return found


def _summarize_kind(
    where: tuple[str, str], worlds: Sequence[Mapping[str, Row]], unanswered: int
) -> KindSummary:
    ours, majority, skene = (_collect(worlds, name, "accuracy") for name in _NEEDED)
    differences = ours - np.maximum(majority, skene)
    mine = [world[OURS] for world in worlds]
    flagged = np.array([is_flagged(row) for row in mine])
    reliable = np.array([bool(row["reliable"]) for row in mine])
    expected = np.array([row["figures"].get("expected", np.nan) for row in mine])
    spread = float(differences.std(ddof=1)) / len(worlds) ** 0.5 if len(worlds) > 1 else 0.0
    quantiles = np.quantile(differences, [0.05, 0.95])
    return {
        "part": where[0],
        "kind": where[1],
        "worlds": len(worlds),
        "unanswered": unanswered,
        "commits": sorted({row["commit"] for row in mine}),
        "code": {name: common_code(world[name] for world in worlds) for name in worlds[0]},
        "methods": {name: _average(worlds, name) for name in worlds[0]},
        "difference": _round(ours.mean() - max(majority.mean(), skene.mean())),
        "by_world": [_round(x) for x in (differences.mean(), spread, *quantiles)],
        "losing": _round(np.mean(differences < -LOSS)),
        "silent": _round(np.mean((differences < -LARGE_LOSS) & ~flagged)),
        "reliable": _round(reliable.mean()),
        "too_sure": _round(np.mean(reliable & (expected - ours > TOO_SURE))),
        "intervals": {name: _sum_intervals(worlds, name) for name in INTERVALS},
    }


def _sum_intervals(worlds: Sequence[Mapping[str, Row]], name: str) -> list[float]:
    held, width = (_collect(worlds, OURS, f"{name}_{figure}") for figure in ("held", "width"))
    return [len(held), _round(held.sum()), _round(width.sum())]


def is_flagged(row: Row) -> bool:
    """Return whether a method does not call its answer reliable, or warns of it.

    A `VotesWarning` is about the votes, such as a voter who always says yes, not about the answer.
    """
    return not row["reliable"] or any(name != VotesWarning.__name__ for name in row["warnings"])


def _collect(worlds: Sequence[Mapping[str, Row]], method: str, figure: str) -> Any:
    """Return a figure of a method on the worlds where it is defined."""
    rows = [world[method] for world in worlds if method in world]
    return np.array([row["figures"][figure] for row in rows if figure in row["figures"]])


def _average(worlds: Sequence[Mapping[str, Row]], method: str) -> dict[str, float]:
    """Return a method's mean figures, and the median of its CPU seconds."""
    values = {name: _collect(worlds, method, name) for name in FIGURES}
    means = {name: _round(found.mean()) for name, found in values.items() if len(found)}
    spent = [world[method]["seconds"] for world in worlds if method in world]
    seconds = [x for x in spent if x is not None]
    return {**means, "seconds": _round(np.median(seconds))} if seconds else means


def _round(value: Any) -> float:
    return round(float(value), _DIGITS)


def summarize_part(kinds: Sequence[KindSummary]) -> PartSummary:
    """Return the summary of a part from those of its kinds."""
    worlds = [row["worlds"] for row in kinds]
    rows: Sequence[Json] = [dict(row) for row in kinds]
    shares = {name: [row[name] for row in rows] for name in SHARES}
    sums = {name: np.array([row["intervals"][name] for row in kinds]) for name in INTERVALS}
    worst = min(kinds, key=lambda row: row["difference"])
    by_world = min(kinds, key=lambda row: row["by_world"][0])
    means = _average_kinds(kinds)
    rest = [name for name in REST if name in means]
    return PartSummary(
        kinds=len(kinds),
        worlds=sum(worlds),
        unanswered=sum(row["unanswered"] for row in kinds),
        worst=(worst["kind"], worst["difference"]),
        worst_by_world=(by_world["kind"], by_world["by_world"][0]),
        shares={name: float(np.average(found, weights=worlds)) for name, found in shares.items()},
        intervals={name: sums[name].sum(axis=0).tolist() for name in INTERVALS},
        worse_log_loss=[row["kind"] for row in kinds if exceeds_share(row)],
        means=means,
        best_of_the_rest=max(rest, key=lambda name: means[name]["accuracy"], default=None),
    )


def exceeds_share(row: KindSummary) -> bool:
    """Return whether the log loss of ours is above that of the share of votes."""
    ours, share = (row["methods"][name]["log_loss"] for name in (OURS, MAJORITY))
    return ours > share


def _average_kinds(kinds: Sequence[KindSummary]) -> dict[str, dict[str, float]]:
    """Return the means over the kinds of each method that has an answer in all of them."""
    means = {}
    for name in (*_NEEDED, *REST):
        mine = [row["methods"].get(name, {}) for row in kinds]
        shared = [figure for figure in (*FIGURES, "seconds") if all(figure in x for x in mine)]
        if "accuracy" in shared:
            means[name] = {key: float(np.mean([x[key] for x in mine])) for key in shared}
    return means
