"""From log odds to a probability that can be believed, and what it says of the flagged patients.

Counts of one patient vary together more than any model says, so that log odds s are too sure. With

    logit P = alpha + beta s,

(alpha, beta) being the logistic regression of the anchors' posterior on s, the mean of P is the
prevalence. Reviewed charts then move alpha.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.em import Z95
from unelisa.scoring import bound_frequency
from unelisa.sources.counts import Floats


@dataclass(frozen=True)
class Calibration:
    """logit P = intercept + slope s."""

    intercept: float
    slope: float

    def log_odds(self, scores: Floats) -> Floats:
        """Return logit P."""
        return np.asarray(self.intercept + self.slope * scores)

    def shift(self, scores: Floats, signs: NDArray[np.int8]) -> "Calibration":
        """Return the calibration with its intercept moved by reviewed charts.

        The move d maximises their likelihood times N(0, 1): some charts refine, one decides little.
        They are taken as reviewed at random, or at random among patients of like odds.
        """
        odds, cases = self.log_odds(scores)[signs != 0], signs[signs != 0] > 0
        move = 0.0
        for _ in range(50):
            chances = expit(odds + move)
            step = (np.sum(cases - chances) - move) / (np.sum(chances * (1 - chances)) + 1)
            move += float(step)
            if abs(step) < 1e-8:
                break
        return replace(self, intercept=self.intercept + move)


def calibrate(scores: Floats, chances: Floats) -> Calibration:
    """Return the calibration that fits P(case) best by cross-entropy.

    Examples
    --------
    >>> scores = np.linspace(-3, 3, 200)
    >>> found = calibrate(scores, expit(2 * scores - 1))
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
    return Calibration(float(solved[0]), float(solved[1]))


class Estimate(NamedTuple):
    """A share with its 95 % interval, and what it rests on."""

    value: float
    low: float
    high: float
    basis: str


def expected_ppv(
    chances: Floats, flagged: NDArray[np.bool_], readings: Sequence[Floats] = ()
) -> Estimate:
    """Return the mean P(case) of the flagged patients, with an interval over other readings.

    The number of true cases among them is a sum of independent coins: its standard deviation is
    sqrt(sum P (1 - P)). Around that, the interval reaches from the least to the greatest mean of
    the readings: other P(case) that the same records allow. Reviewed charts are better than both.

    Parameters
    ----------
    chances
        P(case) per patient.
    flagged
        Who is taken for a case.
    readings
        P(case) per patient with one anchor left out, and before the calibration.
    """
    inside = chances[flagged]
    if not len(inside):
        return Estimate(float("nan"), 0.0, 1.0, "no patient")
    value = float(inside.mean())
    means = [value, *(float(reading[flagged].mean()) for reading in readings)]
    reach = Z95 * float(np.sqrt((inside * (1 - inside)).sum())) / len(inside)
    low, high = max(0.0, min(means) - reach), min(1.0, max(means) + reach)
    return Estimate(value, low, high, "the model")


def reviewed_ppv(signs: NDArray[np.int8], flagged: NDArray[np.bool_]) -> Estimate:
    """Return the share of cases among the flagged patients whose charts were reviewed (Wilson).

    Examples
    --------
    >>> signs = np.array([1, 1, 1, -1, 0], dtype=np.int8)
    >>> reviewed_ppv(signs, np.ones(5, dtype=bool)).basis
    '4 reviewed charts'
    """
    seen = flagged & (signs != 0)
    n = int(seen.sum())
    if n == 0:
        return Estimate(float("nan"), 0.0, 1.0, "no patient")
    share = float((signs[seen] > 0).mean())
    return Estimate(share, *bound_frequency(share, n), f"{n} reviewed charts")
