"""Calibrated probabilities from log-odds, and the positive predictive value they imply.

The counts of one patient are more dependent than any model assumes, so the log-odds s are
overconfident. They are calibrated by

    logit P = alpha + beta s,

the logistic regression of the anchors' posterior on s; the mean of P is then the prevalence.
Reviewed charts shift alpha.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.em import Z95
from unelisa.phenotyping.counts import Floats
from unelisa.schema import stored
from unelisa.scoring import bound_frequency

FEWEST_CHARTS = 10  # reviewed and flagged, to estimate the positive predictive value from them


@stored(intercept="finite", slope="finite")
@dataclass(frozen=True)
class Calibration:
    """logit P = intercept + slope s."""

    intercept: float
    slope: float

    @classmethod
    def learn(cls, scores: Floats, chances: Floats) -> "Calibration":
        """Return the calibration that minimizes the cross-entropy to P(case).

        Examples
        --------
        >>> scores = np.linspace(-3, 3, 200)
        >>> found = Calibration.learn(scores, expit(2 * scores - 1))
        >>> round(found.intercept, 3), round(found.slope, 3)
        (-1.0, 2.0)
        """
        design = np.column_stack([np.ones_like(scores), scores])
        solved = np.array([0.0, 1.0])
        for _ in range(50):
            fitted = expit(design @ solved)
            curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design
            step = np.linalg.solve(curvature + 1e-6 * np.eye(2), design.T @ (chances - fitted))
            solved += np.clip(step, -1, 1)
            if np.abs(step).max() < 1e-8:
                break
        return cls(float(solved[0]), float(solved[1]))

    def log_odds(self, scores: Floats) -> Floats:
        """Return logit P."""
        return np.asarray(self.intercept + self.slope * scores)

    def shift(self, scores: Floats, signs: NDArray[np.int8]) -> "Calibration":
        """Return the calibration with its intercept shifted by reviewed charts.

        The shift maximizes their likelihood under a N(0, 1) prior, so a single chart has little
        effect. Charts are assumed reviewed at random, given the log-odds.
        """
        odds, cases = self.log_odds(scores)[signs != 0], signs[signs != 0] > 0
        shift = 0.0
        for _ in range(50):
            chances = expit(odds + shift)
            step = (np.sum(cases - chances) - shift) / (np.sum(chances * (1 - chances)) + 1)
            shift += float(step)
            if abs(step) < 1e-8:
                break
        return replace(self, intercept=self.intercept + shift)


@stored(value="float", low="share", high="share", basis="text")
class Estimate(NamedTuple):
    """A proportion with its 95 % interval, and what it is based on."""

    value: float
    low: float
    high: float
    basis: str


def expected_ppv(
    chances: Floats, flagged: NDArray[np.bool_], alternatives: Sequence[Floats] = ()
) -> Estimate:
    """Return the mean P(case) of the flagged patients, with an interval over alternative models.

    The alternatives are P(case) without one of the anchors, and before calibration. The number of
    true cases is a sum of independent Bernoulli variables, with standard deviation
    sqrt(sum P (1 - P)). The interval extends 1.96 times that beyond the smallest and the largest
    mean of the alternatives. Reviewed charts are more reliable than either.
    """
    inside = chances[flagged]
    if not len(inside):
        return Estimate(float("nan"), 0.0, 1.0, "no patient")
    value = float(inside.mean())
    means = [value, *(float(other[flagged].mean()) for other in alternatives)]
    reach = Z95 * float(np.sqrt((inside * (1 - inside)).sum())) / len(inside)
    low, high = max(0.0, min(means) - reach), min(1.0, max(means) + reach)
    return Estimate(value, low, high, "the model")


def reviewed_ppv(signs: NDArray[np.int8], flagged: NDArray[np.bool_]) -> Estimate | None:
    """Return the proportion of cases among the flagged, reviewed patients (Wilson interval).

    Returns None if fewer than ten charts of flagged patients were reviewed.

    Examples
    --------
    >>> signs = np.array([1, -1, 1] * 4, dtype=np.int8)
    >>> reviewed_ppv(signs, np.ones(12, dtype=bool)).basis
    '12 reviewed charts'
    """
    seen = flagged & (signs != 0)
    n = int(seen.sum())
    if n < FEWEST_CHARTS:
        return None
    share = float((signs[seen] > 0).mean())
    return Estimate(share, *bound_frequency(share, n), f"{n} reviewed charts")
