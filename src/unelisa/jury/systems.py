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

That no judge favors a system is an assumption, which the votes alone cannot test fully:
`find_favors` flags a judge who passes one system's answers more often than its own rates of true
and false passes explain, compared with the other judges. With gold labels of a random sample of
each system's items it is not needed: the rate is then prediction-powered (Angelopoulos et al.
2023), with probabilities p_i that did not use these labels, and N items, n of them with gold::

    rate = lambda mean p + mean_gold (y_i - lambda p_i)
"""

from collections.abc import Mapping
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from unelisa.analysis.judged import LEVEL, Judged
from unelisa.analysis.prevalence import find_offset
from unelisa.paper.em import bound_share
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
TOGETHER, DRAWS = 0.95, 10_000  # level of all differences together
FLAT = 1e-12  # variance below which a difference has no error
SHIFTS, SETTLED = 200, 1e-6  # steps of EM, and the change at which it ends
LEAST_RATE = 1e-6
MOST_COMPARED = 60  # systems: 1,770 pairs
LEAST_GOLD = 10  # gold labels of each system that correct its rate
MOST_SPREAD = 10.0
LEAST_JUDGES, LEAST_ANSWERS, LEAST_FAVOR = 3, 20, 0.05  # of the check for favors
ASSUMPTION = "no judge favors a system; gold labels of each system's answers would check it"


class System(NamedTuple):
    """A system under test."""

    name: str
    questions: list[str]  # what its items are called in every system
    chances: Floats  # tau of its items
    shares: Floats  # its pass rate, and those at the ends of the interval of all items' pass rate
    rate: float | None = None  # with gold labels
    parts: Floats | None = None  # with gold labels: what each item contributes to the error

    @property
    def share(self) -> float:
        """Its pass rate."""
        return float(self.chances.mean()) if self.rate is None else self.rate

    @property
    def errors(self) -> Floats:
        """What each item contributes to the error of the rate."""
        if self.parts is not None:
            return self.parts
        apart = self.chances - self.share
        scale = self.share * (1 - self.share) / max(float(apart @ apart), FLAT)
        return np.asarray(scale * apart)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of its pass rate."""
        if self.parts is not None:
            _, own = np.unique(np.array(self.questions, dtype=object), return_inverse=True)
            reach = ndtri((1 + LEVEL) / 2) * float(np.linalg.norm(np.bincount(own, self.parts)))
            return max(self.share - reach, 0.0), min(self.share + reach, 1.0)
        information = max(float(np.sum((self.chances - self.share) ** 2)), FLAT)
        low, high = np.clip([self.shares.min(), self.shares.max()], FLAT, 1 - FLAT).tolist()
        return bound_share(low, information, LEVEL)[0], bound_share(high, information, LEVEL)[1]


class Truth(NamedTuple):
    """Gold labels of items, and probabilities of passing that did not use them."""

    passed: Floats  # 1 or 0 per item, NaN without a gold label
    chances: Floats


class Favor(NamedTuple):
    """A judge who passes one system's answers more often than the others', by so much."""

    judge: str
    system: str
    lean: float


def describe_systems(
    judged: Judged,
    passing: Floats,
    systems: Mapping[str, str],
    bounds: tuple[float | None, float | None],
    questions: Mapping[str, str] | None = None,
    truth: Truth | None = None,
) -> dict[str, Any]:
    """Return the rows of the systems under test, the best first, and of all pairs of them.

    `passing` is P(pass) per item, `systems` names the system of an item and `questions` what was
    asked, and `bounds` is the interval of the pass rate of all items: without one the systems have
    none, unless there is a `truth`.
    """
    known = np.array([systems.get(str(item), "") for item in judged.votes.items], dtype=object)
    ends, told = [end for end in bounds if end is not None], None not in bounds
    views = _move_together(passing, ends)
    names = sorted(set(known.tolist()) - {""})
    asked = _name_questions(judged, known, questions)
    places = [np.flatnonzero(known == name) for name in names]
    found = [
        _rate_system(asked, views, own, str(name)) for own, name in zip(places, names, strict=True)
    ]
    corrected = truth is not None and all(_has_gold(truth, own) for own in places) and bool(names)
    if corrected and truth is not None:
        trust = tune_trust(truth)
        found = [
            correct_system(one, truth, own, trust) for one, own in zip(found, places, strict=True)
        ]
        told = True
    favors = [] if corrected else find_favors(judged, passing, known)
    found.sort(key=lambda one: -one.share)
    pairs = compare_systems(found) if told and len(found) <= MOST_COMPARED else []
    disputed = {favor.system for favor in favors}
    for pair in pairs:
        pair["holds"] = pair["holds"] and not disputed & {pair["better"], pair["worse"]}
    rows = [_describe_system(one, pairs, len(found), told) for one in found]
    return {
        "systems": rows,
        "differences": pairs,
        "assumption": "" if corrected or len(found) < 2 else ASSUMPTION,
        "favors": [favor._asdict() for favor in favors],
    }


def _describe_system(
    one: System, pairs: list[dict[str, Any]], n: int, told: bool
) -> dict[str, Any]:
    rank = rank_system(one.name, pairs, n) if pairs else None
    return {
        "system": one.name,
        "items": len(one.chances),
        "questions": len(set(one.questions)),
        "share": one.share,
        **dict(zip(("low", "high"), one.interval if told else (None, None), strict=True)),
        "rank": rank,
        "rank_low": None if rank is None else rank[0],
        "rank_high": None if rank is None else rank[1],
    }


def _name_questions(
    judged: Judged, known: NDArray[Any], questions: Mapping[str, str] | None
) -> list[str]:
    """Return what each item answers: as given, or its name without that of its system."""
    items = [str(item) for item in judged.votes.items]
    if questions:
        return [questions.get(item, item) for item in items]
    return [item.removeprefix(f"{name} / ") for item, name in zip(items, known, strict=True)]


def _has_gold(truth: Truth, items: NDArray[np.intp]) -> bool:
    return int(np.isfinite(truth.passed[items]).sum()) >= LEAST_GOLD


def tune_trust(truth: Truth) -> float:
    """Return how far the probabilities are followed: the lambda of the smallest variance.

    Examples
    --------
    >>> passed, chances = np.array([1, 0, 1, 0, np.nan]), np.array([0.9, 0.1, 0.9, 0.1, 0.9])
    >>> round(tune_trust(Truth(passed, chances)), 2)
    0.69
    """
    known = np.isfinite(truth.passed)
    y, p = truth.passed[known], truth.chances[known]
    spread = float(np.var(p))
    if spread < FLAT:
        return 0.0
    slope = float(np.mean((y - y.mean()) * (p - p.mean()))) / spread
    return float(np.clip(slope / (1 + len(y) / len(truth.passed)), 0, 1))


def correct_system(one: System, truth: Truth, items: NDArray[np.intp], trust: float) -> System:
    """Return a system's rate by its own gold labels, as the head of this module has it."""
    y, p = truth.passed[items], trust * truth.chances[items]
    known = np.isfinite(y)
    n = int(known.sum())
    gaps = y[known] - p[known]
    rate = float(np.clip(p.mean() + gaps.mean(), 0, 1))
    parts = (p - p.mean()) / len(p)
    # as if two more labels had been half right and half wrong: few labels may all be right
    apart = (gaps - gaps.mean()) / n
    spread = np.sqrt((float(apart @ apart) + 0.5 / n**2) / max(float(apart @ apart), FLAT))
    parts[known] += apart * min(float(spread), MOST_SPREAD) * np.sqrt(n / (n - 1))
    return one._replace(rate=rate, parts=parts, shares=np.array([rate]))


def find_favors(judged: Judged, passing: Floats, known: NDArray[Any]) -> list[Favor]:
    """Return the judges who pass a system's answers more or less often than their rates explain.

    Of judge s with the rates e1 of true and e0 of false passes, item i leaves the residual
    x_is - tau_i e1 - (1 - tau_i) e0, whose mean over a system's items is compared with the median
    over all judges.
    """
    names, votes = sorted(set(known.tolist()) - {""}), judged.votes
    if len(names) < 2 or votes.n_voters < LEAST_JUDGES:
        return []
    tau = passing.copy()
    for name in names:
        own = known == name
        tau[own] = shift_chances(passing[own], float(passing.mean()))
    means = np.full((votes.n_voters, len(names)), np.nan)
    errors = np.full_like(means, np.inf)
    passes = encode_classes(votes.n_classes)[-1]
    for s in range(votes.n_voters):
        column = votes.values[:, s]
        voted = column != 0
        t, x = tau[voted], (column[voted] == passes).astype(np.float64)
        rates = (t @ x / max(t.sum(), FLAT), (1 - t) @ x / max((1 - t).sum(), FLAT))
        gaps = x - t * rates[0] - (1 - t) * rates[1]
        for g, name in enumerate(names):
            own = gaps[known[voted] == name]
            if len(own) >= LEAST_ANSWERS:
                means[s, g] = own.mean()
                errors[s, g] = max(float(np.sqrt(own @ own)) / len(own), FLAT)
    apart = means - np.nanmedian(np.where(np.isfinite(errors), means, 0.0), axis=0)
    limit = ndtri(1 - (1 - TOGETHER) / (2 * means.size))
    flagged = np.isfinite(errors) & (np.abs(apart) > limit * errors) & (np.abs(apart) > LEAST_FAVOR)
    return [
        Favor(str(votes.voters[s]), str(names[g]), float(apart[s, g]))
        for s, g in np.argwhere(flagged)
    ]


def _move_together(passing: Floats, ends: list[float]) -> list[Floats]:
    """Return the probabilities, and those with which the pass rate is at either end."""
    odds = logit(np.clip(passing, FLAT, 1 - FLAT))
    offsets = [find_offset(np.sort(odds), end) or 0.0 for end in ends]
    return [passing, *(expit(odds + offset) for offset in offsets)]


def _rate_system(
    asked: list[str], views: list[Floats], items: NDArray[np.intp], name: str
) -> System:
    """Return the pass rate of one system, as each view of all probabilities has it."""
    own = [shift_chances(view[items], float(view.mean())) for view in views]
    shares = np.array([chances.mean() for chances in own])
    return System(name, [asked[i] for i in items], own[0], shares)


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
