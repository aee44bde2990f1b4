"""Systems under test: the pass rate of each, and which differences between them hold.

With b and a the mean probabilities of passing and failing items, a system's own rate is (Rogan and
Gladen 1978)::

    rate = (mean_i p_i - a) / (b - a),   b = sum p^2 / sum p,   a = sum p (1 - p) / sum (1 - p)

The estimate is halfway between mean p and this rate, which corrects too much, and the interval
covers both: item i adds c (p_i - mean p) / n to the error of c mean p, c being 1 or 1 / (b - a).
Systems that answered the same questions are paired; the intervals of all differences hold together.

That no judge favors a system is checked (`find_favors`): for the difference D_s of the shares that
judge s passes of two systems, and m_s the rate of true passes minus that of false ones, D = m delta
+ error. The rest r of weighted least squares and its covariance V over the questions give
Hotelling's::

    T^2 = r' V^-1 r,   V = sum_q a_q a_q'

An interaction widens the differences by (max r - min r) / mean m. With gold labels of a random
sample the rate is prediction-powered (Angelopoulos et al. 2023), p_i not having used them::

    rate = lambda mean p + mean_gold (y_i - lambda p_i)
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, fdtrc, logit, ndtri

from unelisa.analysis.judged import LEVEL, Judged
from unelisa.analysis.rate import find_offset
from unelisa.jury.intervals import FLAT, bound_ranks, compare_all
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
MOST_COMPARED = 60  # systems: 1,770 pairs
LEAST_MERIT = 0.05  # of a judge in the test: rate of true passes minus that of false ones
LEAST_GOLD = 10  # gold labels of each system that correct its rate
FEW = 0.5  # squared labels that are added to the error: few labels may all be alike
MOST_SPREAD, SAME = 10.0, 1e-6
TOGETHER_READ = 4096  # questions whose errors are in memory at once
LEAST_JUDGES, LEAST_ANSWERS, DOUBT = 3, 20, 0.05  # of the test for interactions, and its level
ASSUMPTION = "no judge favors a system; gold labels of each system's answers would check it"
DRAWN = (
    "the answers with gold labels were drawn at random, and not for what the judges said of them"
)


class System(NamedTuple):
    """A system under test: its pass rate, with its error, and other views of it."""

    name: str
    questions: list[str]  # what its items are called in every system
    share: float
    errors: Floats  # what each item contributes to the error of the rate
    shares: Floats  # views: the rate as estimated and corrected, at both ends of all items' rate
    scales: Floats  # of each view: its error in units of that above

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of its pass rate."""
        _, own = np.unique(np.array(self.questions, dtype=object), return_inverse=True)
        sums = np.bincount(own, self.errors)
        reach = ndtri((1 + LEVEL) / 2) * np.sqrt(sums @ sums + FEW / len(self.errors) ** 2)
        low = float((self.shares - reach * self.scales).min())
        return max(low, 0.0), min(float((self.shares + reach * self.scales).max()), 1.0)


class Truth(NamedTuple):
    """Gold labels of items, and probabilities of passing that did not use them."""

    passed: Floats  # 1 or 0 per item, NaN without a gold label
    chances: Floats


def describe_systems(
    judged: Judged,
    passing: Floats,
    systems: Mapping[str, str],
    bounds: tuple[float | None, float | None],
    questions: Mapping[str, str] | None = None,
    truth: Truth | None = None,
) -> dict[str, Any]:
    """Return the rows of the systems under test, the best first, and of all pairs of them."""
    voted, items = judged.voted_on, judged.votes.items
    known = np.array([systems.get(str(item), "") for item in items], dtype=object)
    known[~voted] = ""  # nothing is known of answers that nobody judged
    ends, bounded = [end for end in bounds if end is not None], None not in bounds
    views = _move_together(passing, ends)
    names = sorted(set(known.tolist()) - {""})
    asked = _name_questions(judged, known, questions)
    places = [np.flatnonzero(known == name) for name in names]
    found = [
        rate_system(str(name), [asked[i] for i in own], views, own)
        for own, name in zip(places, names, strict=True)
    ]
    passed = np.full(len(known), np.nan) if truth is None else truth.passed
    counts = [int(np.isfinite(passed[own]).sum()) for own in places]
    corrected = min(counts, default=0) >= LEAST_GOLD
    if corrected and truth is not None:
        trust = tune_trust(truth)
        found = [
            correct_system(one, truth, own, trust) for one, own in zip(found, places, strict=True)
        ]
        bounded = True
    favors = [] if corrected else find_favors(judged, passing, known, asked)
    found.sort(key=lambda one: -one.share)
    pairs = compare_systems(found, favors) if bounded and len(found) <= MOST_COMPARED else []
    places_of = {one.name: k for k, one in enumerate(found)}
    wins = [(places_of[x["better"]], places_of[x["worse"]]) for x in pairs if x["holds"]]
    ranks = bound_ranks(len(found), wins) if pairs else [None] * len(found)
    whole = _join_systems(found) if corrected and (known != "")[voted].all() else {}
    return whole | {
        "systems": [
            _describe_system(one, rank, bounded) for one, rank in zip(found, ranks, strict=True)
        ],
        "differences": pairs,
        "assumption": DRAWN if corrected else ASSUMPTION if len(found) > 1 else "",
        "favors": favors,
    }


def _join_systems(systems: list[System]) -> dict[str, float]:
    sizes = np.array([len(one.errors) for one in systems]) / sum(len(x.errors) for x in systems)
    share, errors = float(sizes @ [one.share for one in systems]), sizes @ list_errors(systems)
    few = sum(FEW * (size / len(x.errors)) ** 2 for size, x in zip(sizes, systems, strict=True))
    reach = float(ndtri((1 + LEVEL) / 2) * np.sqrt(errors @ errors + few))
    return {"share": share, "low": max(share - reach, 0.0), "high": min(share + reach, 1.0)}


def _describe_system(one: System, rank: tuple[int, int] | None, bounded: bool) -> dict[str, Any]:
    low, high = one.interval if bounded else (None, None)
    return {
        "system": one.name,
        "items": len(one.errors),
        "questions": len(set(one.questions)),
        "share": one.share,
        "low": low,
        "high": high,
        "rank": None if rank is None else [*rank],
        "rank_low": None if rank is None else rank[0],
        "rank_high": None if rank is None else rank[1],
    }


def _name_questions(
    judged: Judged, known: NDArray[Any], questions: Mapping[str, str] | None
) -> list[str]:
    items = [str(item) for item in judged.votes.items]
    if questions:
        return [questions.get(item, item) for item in items]
    return [item.removeprefix(f"{name} / ") for item, name in zip(items, known, strict=True)]


def tune_trust(truth: Truth) -> float:
    """Return how far the probabilities are followed: the lambda of the smallest variance."""
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
    apart = (gaps - gaps.mean()) / n
    spread = np.sqrt((float(apart @ apart) + FEW / n**2) / max(float(apart @ apart), FLAT))
    parts[known] += apart * min(float(spread), MOST_SPREAD) * np.sqrt(n / (n - 1))
    return System(one.name, one.questions, rate, parts, np.array([rate]), np.ones(1))


def find_favors(
    judged: Judged, passing: Floats, known: NDArray[Any], asked: list[str]
) -> list[dict[str, Any]]:
    """Return the systems with a judge x system interaction; of two, only the first."""
    names, votes = sorted(set(known.tolist()) - {""}), judged.votes
    merit = _measure_merit(votes, passing)
    questions = np.unique(np.array(asked, dtype=object), return_inverse=True)[1]
    tested = names[: -1 if len(names) < 3 else None]
    found = []
    for name in tested:
        signs = np.where(known == name, 1, np.where(known == "", 0, -1)).astype(np.int8)
        favor = _test_system(votes, signs, merit, questions)
        if favor and favor["p_value"] < DOUBT / len(tested):
            found.append({"system": str(name), **favor})
    return found


def _measure_merit(votes: Votes, passing: Floats) -> Floats:
    passes, merit = encode_classes(votes.n_classes)[-1], np.zeros(votes.n_voters)
    for s in range(votes.n_voters):
        column = votes.values[:, s]
        voted = column != 0
        t, x = passing[voted], column[voted] == passes
        merit[s] = t @ x / max(t.sum(), FLAT) - (1 - t) @ x / max((1 - t).sum(), FLAT)
    return merit


def _test_system(
    votes: Votes, signs: NDArray[np.int8], merit: Floats, questions: NDArray[np.intp]
) -> dict[str, Any]:
    """Return the interaction of one system (sign 1) and the others (-1); nothing if untestable."""
    passes, sides = encode_classes(votes.n_classes)[-1], (signs == 1, signs == -1)
    counts = np.array([(votes.values[side] != 0).sum(axis=0) for side in sides])
    shares = np.array([(votes.values[side] == passes).sum(axis=0) for side in sides])
    kept = np.flatnonzero((counts.min(axis=0) >= LEAST_ANSWERS) & (merit > LEAST_MERIT))
    if len(kept) < LEAST_JUDGES:
        return {}
    counts, merit = counts[:, kept], merit[kept]
    shares = shares[:, kept] / counts
    covariance, order = np.zeros((len(kept), len(kept))), np.argsort(questions, kind="stable")
    n = int(questions.max()) + 1
    bounds = np.searchsorted(questions[order], np.arange(0, n + TOGETHER_READ, TOGETHER_READ))
    for k, rows in enumerate(np.split(order, bounds[1:-1])):
        parts = np.zeros((TOGETHER_READ, len(kept)))
        for sign, share, count in zip((1, -1), shares, counts, strict=True):
            own = rows[signs[rows] == sign]
            said = votes.values[np.ix_(own, kept)]
            gaps = sign * ((said == passes) - share) * (said != 0) / count
            np.add.at(parts, questions[own] - k * TOGETHER_READ, gaps)
        covariance += parts.T @ parts
    return _test_gaps(votes.voters[kept], shares[0] - shares[1], merit, covariance, n)


def _test_gaps(
    judges: NDArray[Any], gaps: Floats, merit: Floats, covariance: Floats, n: int
) -> dict[str, Any]:
    """Return what differs between judges with its p-value; nothing with too few questions."""
    freedom = int(np.linalg.matrix_rank(covariance, hermitian=True)) - 1
    if freedom < 1 or n <= 2 * freedom:
        return {}
    inverse = np.linalg.pinv(covariance, hermitian=True)
    left = gaps - merit * (merit @ inverse @ gaps) / (merit @ inverse @ merit)
    statistic = float(left @ inverse @ left) * (n - freedom) / (freedom * (n - 1))
    most, least = int(left.argmax()), int(left.argmin())
    return {
        "p_value": float(fdtrc(freedom, n - freedom, statistic)),
        "spread": float(np.ptp(left) / merit.mean()),
        **{"judge": str(judges[most]), "more": float(left[most])},
        **{"strictest": str(judges[least]), "less": float(left[least])},
    }


def _move_together(passing: Floats, ends: list[float]) -> list[Floats]:
    """Return the probabilities, and those with which the pass rate is at either end."""
    odds = logit(np.clip(passing, FLAT, 1 - FLAT))
    offsets = [find_offset(np.sort(odds), end) or 0.0 for end in ends]
    return [passing, *(expit(odds + offset) for offset in offsets)]


def shift_mean(passing: Floats, items: NDArray[np.bool_], share: float) -> Floats:
    """Return probabilities whose mean over some items is a share: all log-odds move together."""
    odds = logit(np.clip(passing, FLAT, 1 - FLAT))
    if abs(passing[items].mean() - share) < SAME:
        return passing
    return np.asarray(expit(odds + (find_offset(np.sort(odds[items]), share) or 0.0)))


def rate_system(
    name: str, questions: list[str], views: list[Floats], items: NDArray[np.intp]
) -> System:
    """Return the pass rate of one system, as each view of all items' probabilities has it."""
    shares, scales = [], []
    for p in views:
        good = float(p @ p) / max(float(p.sum()), FLAT)
        bad = float(p @ (1 - p)) / max(float((1 - p).sum()), FLAT)
        scale = 1 / max(good - bad, LEAST_MERIT)
        own = float(p[items].mean())
        corrected = float(np.clip(p.mean() + scale * (own - p.mean()), 0, 1))
        shares += [own, corrected]
        scales += [1.0, scale]
    share, scale = (shares[0] + shares[1]) / 2, (1 + scales[1]) / 2
    chances = views[0][items]
    errors = scale * (chances - chances.mean()) / len(items)
    return System(name, questions, share, errors, np.array(shares), np.array(scales) / scale)


def compare_systems(
    systems: list[System], favors: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return one row per pair of systems, the largest difference first; all hold together."""
    errors = list_errors(systems)
    disputed = {favor["system"]: favor["spread"] for favor in favors}
    rows = []
    shares = np.array([one.share for one in systems])
    for a, b, difference, far in compare_all(shares, errors @ errors.T):
        one, other = systems[a], systems[b]
        favored = max(disputed.get(one.name, 0.0), disputed.get(other.name, 0.0))
        views = one.shares - other.shares
        reach = far * np.maximum(one.scales, other.scales)
        low, high = float((views - reach).min()) - favored, float((views + reach).max()) + favored
        rows.append(
            {
                "better": one.name,
                "worse": other.name,
                "difference": difference,
                "low": max(low, -1.0),
                "high": min(high, 1.0),
                "paired": len(set(one.questions) & set(other.questions)),
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
