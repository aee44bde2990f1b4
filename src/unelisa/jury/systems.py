"""Systems under test: the pass rate of each, and which differences between them hold.

The probabilities p_i of a model rest on the pass rate of all items together, which pulls every
system toward it. A system's own rate is the fixed point of EM with the judges as they are (Saerens,
Latinne and Decaestecker 2002)::

    rate = mean_i tau_i,   odds(tau_i) = odds(p_i) odds(rate) / odds(mean p)

Item i of question q then contributes to the error of the rate::

    a_q = (tau_i - rate) rate (1 - rate) / sum_j (tau_j - rate)^2

Two systems may share questions; a_q is 0 where a system has no answer. Certain labels make the
variance rate (1 - rate) / n, uncertain ones a larger one. A difference of two systems has the
variance sum_q (a_q - b_q)^2: what a question does to both cancels, so that systems that answered
the same questions are compared question by question (paired).

All pairs are compared at once: the intervals of all differences hold together with the stated
probability (max-t, from draws of the errors' joint normal distribution). They are widened by how
far the difference varies while all log-odds move together, so that the pass rate of all items is at
either end of its interval.
"""

from collections.abc import Mapping
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.analysis.judged import LEVEL, Judged
from unelisa.analysis.prevalence import find_offset
from unelisa.paper.em import bound_share

Floats = NDArray[np.float64]
TOGETHER, DRAWS = 0.95, 10_000  # level of all differences together
FLAT = 1e-12  # variance below which a difference has no error
SHIFTS, SETTLED = 200, 1e-6  # steps of EM, and the change at which it ends
LEAST_RATE = 1e-6
MOST_COMPARED = 60  # systems: 1,770 pairs


class System(NamedTuple):
    """A system under test."""

    name: str
    questions: list[str]  # what its items are called in every system
    chances: Floats  # tau of its items
    shares: Floats  # its pass rate, and those at the ends of the interval of all items' pass rate

    @property
    def share(self) -> float:
        """Its pass rate."""
        return float(self.chances.mean())

    @property
    def errors(self) -> Floats:
        """What each item contributes to the error of the rate."""
        apart = self.chances - self.share
        scale = self.share * (1 - self.share) / max(float(apart @ apart), FLAT)
        return np.asarray(scale * apart)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of its pass rate."""
        information = max(float(np.sum((self.chances - self.share) ** 2)), FLAT)
        low, high = np.clip([self.shares.min(), self.shares.max()], FLAT, 1 - FLAT).tolist()
        return bound_share(low, information, LEVEL)[0], bound_share(high, information, LEVEL)[1]


def describe_systems(
    judged: Judged,
    passing: Floats,
    systems: Mapping[str, str],
    bounds: tuple[float | None, float | None],
) -> dict[str, Any]:
    """Return the rows of the systems under test, the best first, and of all pairs of them.

    `passing` is P(pass) per item, `systems` names the system of an item, and `bounds` is the
    interval of the pass rate of all items: without one the systems have none.
    """
    known = np.array([systems.get(str(item), "") for item in judged.votes.items], dtype=object)
    ends, told = [end for end in bounds if end is not None], None not in bounds
    views = _move_together(passing, ends)
    found = [
        _rate_system(judged, views, np.flatnonzero(known == name), str(name))
        for name in sorted(set(known.tolist()) - {""})
    ]
    found.sort(key=lambda one: -one.share)
    pairs = compare_systems(found) if told and len(found) <= MOST_COMPARED else []
    rows = [
        {
            "system": one.name,
            "items": len(one.chances),
            "share": one.share,
            **dict(zip(("low", "high"), one.interval if told else (None, None), strict=True)),
            "rank": rank_system(one.name, pairs, len(found)) if pairs else None,
        }
        for one in found
    ]
    return {"systems": rows, "differences": pairs}


def _move_together(passing: Floats, ends: list[float]) -> list[Floats]:
    """Return the probabilities, and those with which the pass rate is at either end."""
    odds = logit(np.clip(passing, FLAT, 1 - FLAT))
    offsets = [find_offset(np.sort(odds), end) or 0.0 for end in ends]
    return [passing, *(expit(odds + offset) for offset in offsets)]


def _rate_system(judged: Judged, views: list[Floats], items: NDArray[np.intp], name: str) -> System:
    """Return the pass rate of one system, as each view of all probabilities has it."""
    names = [str(item).removeprefix(f"{name} / ") for item in judged.votes.items[items]]
    own = [shift_chances(view[items], float(view.mean())) for view in views]
    return System(name, names, own[0], np.array([chances.mean() for chances in own]))


def shift_chances(chances: Floats, base: float) -> Floats:
    """Return the probabilities of some items by their own rate instead of that of all items.

    Examples
    --------
    Half of all items pass. Three of these four look good to judges who are right in four of five
    cases, or in nine of ten; the better the judges, the less there is to correct:

    >>> shift_chances(np.array([0.8, 0.8, 0.8, 0.2]), 0.5).mean().round(2)
    np.float64(0.92)
    >>> shift_chances(np.array([0.9, 0.9, 0.9, 0.1]), 0.5).mean().round(2)
    np.float64(0.81)
    """
    odds = logit(np.clip(chances, FLAT, 1 - FLAT)) - logit(np.clip(base, FLAT, 1 - FLAT))
    found = chances
    for _ in range(SHIFTS):
        rate = float(found.mean())
        if not LEAST_RATE < rate < 1 - LEAST_RATE:
            break
        found = expit(odds + logit(rate))
        if abs(float(found.mean()) - rate) < SETTLED:
            break
    return np.asarray(found)


def compare_systems(systems: list[System]) -> list[dict[str, Any]]:
    """Return one row per pair of systems, the largest difference first; all hold together.

    `paired` counts the questions that both have answered.
    """
    pairs = list(combinations(range(len(systems)), 2))
    if not pairs:
        return []
    errors = list_errors(systems)
    spread = errors @ errors.T
    variances = np.array([spread[a, a] + spread[b, b] - 2 * spread[a, b] for a, b in pairs])
    reach = find_reach(spread, pairs, variances) * np.sqrt(variances)
    rows = []
    for (a, b), half in zip(pairs, reach, strict=True):
        difference = systems[a].share - systems[b].share
        models = systems[a].shares - systems[b].shares
        low = difference + float((models - models[0]).min()) - half
        high = difference + float((models - models[0]).max()) + half
        rows.append(
            {
                "better": systems[a].name,
                "worse": systems[b].name,
                "difference": difference,
                "low": max(low, -1.0),
                "high": min(high, 1.0),
                "paired": len(set(systems[a].questions) & set(systems[b].questions)),
                "holds": bool(low > 0),
            }
        )
    return sorted(rows, key=itemgetter("difference"), reverse=True)


def list_errors(systems: list[System]) -> Floats:
    """Return what every question contributes to the error of every system: systems x questions."""
    names = dict.fromkeys(name for one in systems for name in one.questions)
    place = {name: q for q, name in enumerate(names)}
    errors = np.zeros((len(systems), len(place)))
    for row, one in zip(errors, systems, strict=True):
        np.add.at(row, [place[name] for name in one.questions], one.errors)
    return errors


def find_reach(spread: Floats, pairs: list[tuple[int, int]], variances: Floats) -> float:
    """Return the standard errors that all differences stay within with probability `TOGETHER`.

    Examples
    --------
    One difference has the usual 1.96; of three systems' three differences the largest is Tukey's
    2.34:

    >>> round(find_reach(np.eye(2), [(0, 1)], np.array([2.0])), 1)
    2.0
    >>> round(find_reach(np.eye(3), [(0, 1), (0, 2), (1, 2)], np.full(3, 2.0)), 1)
    2.3
    """
    values, vectors = np.linalg.eigh(spread)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(spread))) @ root.T
    largest = np.zeros(DRAWS)
    for (a, b), variance in zip(pairs, variances, strict=True):
        if variance > FLAT:
            np.maximum(largest, np.abs(draws[:, a] - draws[:, b]) / np.sqrt(variance), out=largest)
    return float(np.quantile(largest, TOGETHER))


def rank_system(name: str, pairs: list[dict[str, Any]], n_systems: int) -> list[int]:
    """Return the best and the worst rank of a system that the differences allow.

    Examples
    --------
    >>> pairs = [{"better": "a", "worse": "b", "holds": True}]
    >>> rank_system("a", pairs, 2), rank_system("b", pairs, 2)
    ([1, 1], [2, 2])
    """
    above = sum(pair["holds"] for pair in pairs if pair["worse"] == name)
    below = sum(pair["holds"] for pair in pairs if pair["better"] == name)
    return [1 + above, n_systems - below]
