"""Calibrated probabilities from log-odds, and how good the labels are that they imply.

Counts of one patient are dependent, so the log-odds s are overconfident: logit P = alpha + beta s,
the logistic regression of the anchors' posterior w on s. A stated prevalence shifts alpha.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.analysis.scoring import bound_frequency
from unelisa.ehr.charts import ReviewedCharts
from unelisa.ehr.counts import Floats
from unelisa.kernels.roots import find_root
from unelisa.paper.em import Z95
from unelisa.schema import stored

FEWEST_CHARTS = 10  # reviewed, to estimate a proportion from them
MODEL = "the model"
# with two anchors, at most 1.6 times as many cases of the simulated datamart (seeds 0 to 2)
# were missed as P(case) without any anchor expects
MISSED = 2.0

# of the cases that the other features suggest where the anchors show nothing; chosen on seeds 200
# to 202 of the two simulators of studies/rules, at three prevalences
UNSEEN = 1 / 3
# of patients without any anchor record, times the share of cases that the other features allow at
# most if unseen cases were like the others; they have milder disease, and fewer signs
SILENT = 3.0
# of the cases, at most, without any anchor record; .02 to .17 in the three simulators of
# studies/rules (seeds 300 and 301)
MOST_SILENT = 0.2
FEWEST_LIKE = 10  # shown cases at a value of g
# of the others, the share whose record may have all anchors by one error, such as a wrong entry
# that is copied: the first, and the second times the correlation of the anchors among cases.
# Chosen, like the next one, on seeds 300 to 309 of the three simulators of studies/rules
SHARED_ERROR, COPIED_ERROR = 0.02, 0.12
# of the errors among flagged patients that the most generous alternative expects: P(case) of likely
# cases is too small if the anchors and the other features say more than they are trusted for
FEWEST_ERRORS = 0.5
# of the cases, flagged at least, where the prevalence is stated; .45 to .97 in the simulators
LEAST_FOUND = 0.4
# spreads of the prior of what charts change: the shift of the log-odds, and their factor
SHIFT, FACTOR = 2.0, 0.4
LOCAL = -0.5  # log-odds; chosen on seeds 100 to 102 of the three simulators of studies/rules
STEEPEST_FALL = 0.95  # of what charts add to log-odds
_GRID = np.linspace(-20, 20, 401)
# a minimum over few patients would follow chance
FEWEST_OTHERS = 20  # patients whom the anchors do not show, at a value of g
DIGITS = 9  # of the other features' log ratios, beyond which they are rounding errors
_QUANTILES = (*np.linspace(0.05, 0.95, 19), 0.975, 0.99, 0.995)


def regress(
    design: Floats,
    target: Floats,
    start: Sequence[float],
    precision: Floats,
    steps: int = 50,
    offset: Floats | float = 0.0,
) -> tuple[Floats, Floats]:
    """Return the coefficients of a logistic regression, normal a priori, and the curvature."""
    solved, damped = np.array(start, dtype=np.float64), np.maximum(precision, 1e-6 * np.eye(2))
    for _ in range(steps):
        fitted = expit(offset + design @ solved)
        score = design.T @ (target - fitted) - precision @ solved
        curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design + damped
        step = np.clip(np.linalg.solve(curvature, score), -1, 1)
        solved += step
        if np.abs(step).max() < 1e-8:
            break
    return solved, curvature


@stored(intercept="finite", slope="finite")
@dataclass(frozen=True)
class Calibration:
    """logit P = intercept + slope s."""

    intercept: float
    slope: float

    @classmethod
    def learn(cls, scores: Floats, chances: Floats) -> "Calibration":
        """Return the calibration that minimizes the cross-entropy to P(case)."""
        design = np.column_stack([np.ones_like(scores), scores])
        level, slope = regress(design, chances, (0.0, 1.0), np.zeros((2, 2)))[0].tolist()
        if slope < 0:  # a higher score never makes a case less likely
            return cls(float(logit(np.clip(chances.mean(), 1e-6, 1 - 1e-6))), 0.0)
        return cls(level, slope)

    def log_odds(self, scores: Floats) -> Floats:
        """Return logit P."""
        return np.asarray(self.intercept + self.slope * scores)

    def moved(self, shift: float) -> "Calibration":
        """Return the calibration with its log-odds shifted."""
        return Calibration(shift + self.intercept, self.slope)


@stored(shift="finite", factor="finite")
class Adjustment(NamedTuple):
    """What reviewed charts change of log-odds z: w(z) (shift + (factor - 1) z) is added.

    w(z) = sigmoid(z - `LOCAL`): few charts are drawn among patients who are hardly ever cases.
    """

    shift: float = 0.0
    factor: float = 1.0

    def apply(self, odds: Floats) -> Floats:
        """Return the corrected log-odds."""
        return np.asarray(odds + _weigh(odds) @ np.array([self.shift, self.factor - 1]))


def _weigh(odds: Floats) -> Floats:
    near = expit(odds - LOCAL)
    return np.column_stack([near, near * odds])


UNADJUSTED = Adjustment()


class Review(NamedTuple):
    """The correction by reviewed charts, and the covariance of its shift and factor."""

    adjustment: Adjustment
    covariance: Floats

    @classmethod
    def learn(cls, odds: Floats, signs: NDArray[np.int8]) -> "Review":
        """Return the posterior mode; a priori the shift is N(0, 2^2) and the factor N(1, .4^2)."""
        seen, precision = odds[signs != 0], np.diag([SHIFT**-2.0, FACTOR**-2.0])
        design = _weigh(seen)
        found, curvature = regress(design, signs[signs != 0] > 0, (0, 0), precision, offset=seen)
        moves = np.diff(_weigh(_GRID) @ found) / np.diff(_GRID)
        shift, factor = (found * min(1.0, STEEPEST_FALL / max(-moves.min(), 1e-12))).tolist()
        covariance = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
        return cls(Adjustment(shift, 1 + factor), covariance)

    def estimate_share(self, odds: Floats, n_charts: int) -> "Estimate":
        """Return the share of cases among patients with these log-odds before the review."""
        chances = expit(self.adjustment.apply(odds))
        noise = chances * (1 - chances)
        gradient = noise @ _weigh(odds) / len(odds)
        variance = gradient @ self.covariance @ gradient + noise.sum() / len(odds) ** 2
        value, reach = float(chances.mean()), Z95 * float(np.sqrt(variance))
        basis = f"{n_charts} reviewed charts and the model"
        return Estimate.within(value, value - reach, value + reach, basis)


def match_share(odds: Floats, bounds: tuple[float, float]) -> float:
    """Return the smallest shift of log-odds for which the mean of P is within some bounds."""
    mean = float(expit(odds).mean())
    wanted = min(max(mean, bounds[0]), bounds[1])
    if wanted == mean:
        return 0.0
    return find_root(lambda shift: float(expit(odds + shift).mean()) - wanted, -40.0, 40.0)


def bound_silent(shown: Floats, others: Floats, silent: NDArray[np.bool_]) -> float:
    """Return the largest share of cases among patients without any anchor record.

    It is `SILENT` times the largest that the other features allow, found as in `judge_strictly`.
    """
    likely = shown > 0.5
    if not likely.any() or silent.sum() < FEWEST_OTHERS:
        return 1.0
    bins, n_bins = _bin(others, np.quantile(others[likely], np.linspace(0, 0.95, 10)))
    ours = np.bincount(bins[likely], shown[likely], n_bins)
    theirs = np.bincount(bins[silent], minlength=n_bins)
    return min(1.0, SILENT * _bound_share(ours, theirs, FEWEST_LIKE))


def _bound_share(part: NDArray[Any], whole: NDArray[Any], fewest: int) -> float:
    """Return the largest share of patients like `part` in `whole`, both counted by bin."""
    enough = part >= fewest
    if not enough.any():
        return 1.0
    highest = (whole + Z95 * (np.sqrt(whole) + 1))[enough] / part[enough]
    return float(highest.min() * part.sum() / max(whole.sum(), 1e-12))


def _bin(others: Floats, cuts: Floats) -> tuple[NDArray[np.intp], int]:
    """Return the bin of each value, and the number of bins; rounding errors split no ties."""
    cuts = np.unique(np.round(cuts, DIGITS))
    return np.searchsorted(cuts, np.round(others, DIGITS), side="right"), len(cuts) + 1


def allow_for_unseen(shown: Floats, blind: Floats, doubtful: float) -> Floats:
    """Return P(case | anchors) with unseen cases, w + (1 - e) (1 - w) B / 3; B: without anchors."""
    return np.asarray(shown + UNSEEN * (1 - doubtful) * (1 - shown) * blind)


def judge_strictly(shown: Floats, others: Floats) -> tuple[Floats, float]:
    """Return the strict judge's P(case), w_i (1 - e f_-(g_i) / f_+(g_i)), and e, from w and g.

    e = min_g f_+(g) / f_-(g) of the distributions of g by weights w and 1 - w (Blanchard, Lee and
    Scott 2010) is the largest share of non-cases among those whom the anchors show.
    """
    bins, n_bins = _bin(others, np.quantile(others, _QUANTILES))
    ours, theirs = (np.bincount(bins, one, n_bins) for one in (shown, 1 - shown))
    if not (theirs >= FEWEST_OTHERS).any():
        return np.zeros_like(shown), 1.0
    doubtful = min(1.0, _bound_share(theirs, ours, FEWEST_OTHERS))
    shares = ours / max(ours.sum(), 1e-12), theirs / max(theirs.sum(), 1e-12)
    false = np.minimum(doubtful * shares[1] / np.maximum(shares[0], 1e-300), 1)
    return np.asarray(shown * (1 - false[bins])), doubtful


@stored(value="float", low="share", high="share", basis="text")
class Estimate(NamedTuple):
    """A proportion with its 95 % interval, and what it is based on."""

    value: float
    low: float
    high: float
    basis: str

    @classmethod
    def within(cls, value: float, low: float, high: float, basis: str) -> "Estimate":
        """Return an estimate whose bounds are between 0 and 1."""
        return cls(value, max(0.0, low), min(1.0, high), basis)

    def widened(self, right: NDArray[np.bool_], wrong: float) -> "Estimate":
        """Return the estimate with an interval that includes that of a few charts (Wilson)."""
        low, high = bound_frequency(right.mean(), len(right)) if len(right) else (0.0, 1.0)
        low, high = min(self.low, low) - wrong, max(self.high, high) + wrong
        return Estimate.within(self.value, low, high, self.basis)


NOTHING = Estimate(float("nan"), 0.0, 1.0, "no patient")


class Performance(NamedTuple):
    """How good the labels are."""

    ppv: Estimate  # proportion of true cases among the flagged patients
    npv: Estimate  # proportion of true non-cases among the others
    sensitivity: Estimate  # proportion of the true cases that are flagged


def share_errors(correlation: float) -> float:
    """Return the share of others who may have all anchors by one error, from their correlation."""
    return SHARED_ERROR + COPIED_ERROR * correlation


def doubt_ppv(
    ppv: Estimate, flagged: float, cases: float, error: float, stated: tuple[float, float] | None
) -> Estimate:
    """Return a PPV whose interval includes what a shared error does, given a stated prevalence.

    With shares f flagged, p of cases and s of errors among the others, it is at least 1 - s (1 - p)
    / f, and within `LEAST_FOUND` p_0 / f and p_1 / f for a prevalence from p_0 to p_1. At most, the
    share of errors is `FEWEST_ERRORS` times what the interval allows already.
    """
    if not flagged:
        return ppv
    low = min(ppv.low, max(0.0, 1 - error * (1 - cases) / flagged))
    high = 1 - FEWEST_ERRORS * (1 - ppv.high)
    if stated is not None:
        low, high = max(low, LEAST_FOUND * stated[0] / flagged), min(high, stated[1] / flagged)
    low, high = min(low, ppv.value), max(high, ppv.value)
    return Estimate(ppv.value, low, high, ppv.basis)


def expect_performance(
    chances: Floats, flagged: NDArray[np.bool_], rivals: Sequence[Floats], blind: Floats
) -> Performance:
    """Return what the model expects, with intervals over alternative models, the `rivals`.

    Intervals extend 1.96 sqrt(sum P (1 - P)) beyond the alternatives: no case is missed, or
    `MISSED` times as many as by `blind`.
    """
    ppv = _bound(chances[flagged], [other[flagged] for other in rivals])
    npv = _bound(1 - chances[~flagged], [1 - MISSED * blind[~flagged], np.ones(1)])
    total, found = float(chances.sum()), float(chances[flagged].sum())
    if total == 0:
        return Performance(ppv, npv, NOTHING)
    reach = Z95 * float(np.sqrt((chances * (1 - chances)).sum())) / total
    seen, missed = blind[flagged].sum(), MISSED * blind[~flagged].sum()
    low = float(seen / (seen + missed))
    low = min(low, found / total) - reach
    return Performance(ppv, npv, Estimate.within(found / total, low, 1.0, MODEL))


def review_performance(
    charts: ReviewedCharts, flagged: NDArray[np.bool_], expected: Performance
) -> Performance:
    """Return the performance by at least ten weighted charts of each kind, or else as expected."""
    ppv = review_share(charts, flagged, 1) or expected.ppv
    npv = review_share(charts, ~flagged, -1) or expected.npv
    if not all(one.basis[0].isdigit() for one in (ppv, npv)) or not flagged.any():
        return Performance(ppv, npv, expected.sensitivity)
    share, pairs = float(flagged.mean()), zip(ppv[:3], npv[:3], strict=True)
    value, low, high = (find_sensitivity(share, p, 1 - share, n) for p, n in pairs)
    return Performance(ppv, npv, Estimate(value, low, high, "reviewed charts"))


def find_sensitivity(flagged: float, ppv: float, others: float, npv: float) -> float:
    """Return f PPV / (f PPV + g (1 - NPV)), f flagged, g others; or, swapped, the specificity."""
    found, missed = flagged * ppv, others * (1 - npv)
    return found / max(found + missed, 1e-12)


def review_share(charts: ReviewedCharts, side: NDArray[np.bool_], sign: int) -> Estimate | None:
    """Return the weighted proportion of a side's charts with this sign; None if under ten."""
    seen = side & (charts.signs != 0)
    if seen.sum() < FEWEST_CHARTS:
        return None
    weights, wrong = charts.weights[seen], charts.doubt(seen)
    share = float(np.average(charts.signs[seen] == sign, weights=weights))
    low, high = bound_frequency(share, float(weights.sum() ** 2 / (weights**2).sum()))
    return Estimate.within(share, low - wrong, high + wrong, f"{seen.sum()} reviewed charts")


def _bound(right: Floats, alternatives: Sequence[Floats]) -> Estimate:
    """Return the mean probability of being right, with an interval over the alternatives' means."""
    if not len(right):
        return NOTHING
    means = [float(one.mean()) for one in (right, *alternatives)]
    reach = Z95 * float(np.sqrt((right * (1 - right)).sum())) / len(right)
    return Estimate.within(means[0], min(means) - reach, max(means) + reach, MODEL)
