"""Pass rates as other programs estimate them, from their public descriptions and formulas.

*Judgy-style*: one judge whose rates of true passes and of true fails are measured on gold labels,
the correction of Rogan and Gladen (1978), and a bootstrap over the gold labels::

    rate = (share passed + TNR - 1) / (TPR + TNR - 1)

*Judgepanel-style*: judges who err independently given the truth (Dawid and Skene 1979), their
confusions and the rate by EM without any gold label, and a bootstrap over the items.

*CJE-style*: the panel's score of an item, the share of judges who pass it, is mapped to the gold
labels by isotonic regression, and the mapped scores of all items are averaged (the direct estimate
of Causal Judge Evaluation), with a bootstrap over the gold labels::

    rate = mean_i f(score_i),   f = argmin over monotone f of sum_gold (y_i - f(score_i))^2
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from unelisa.analysis.rate import Rate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
RESAMPLES, PANEL_RESAMPLES, MAP_RESAMPLES = 2000, 100, 200
STEPS, SETTLED = 200, 1e-5
BAREST = 1e-3  # of TPR + TNR - 1 below which a resample has no answer


def correct_judge(
    truth: Flags, said: Flags, rest: Flags, level: float, rng: np.random.Generator
) -> Rate:
    """Return the rate of passing by Rogan and Gladen, with a percentile interval.

    `truth` and `said` are the gold labels and the judge's verdicts on the same items, `rest` the
    verdicts on the other items. Without both classes among the gold labels, anything is possible.

    Examples
    --------
    A judge who passes all good items and one of four bad ones, and 55 % of the others:

    >>> truth, said = np.arange(8) < 4, np.arange(8) < 5
    >>> rest = np.arange(100) < 55
    >>> round(correct_judge(truth, said, rest, 0.95, np.random.default_rng(0)).share, 2)
    0.4
    """
    n = len(truth)
    if truth.all() or not truth.any():
        return Rate(float(truth.mean()), 0.0, 1.0)
    drawn = rng.integers(0, n, (RESAMPLES, n))
    own = _correct(truth[None], said[None], float(rest.mean()))[0]
    found = _correct(truth[drawn], said[drawn], float(rest.mean()))
    found = found[np.isfinite(found)]
    if not np.isfinite(own) or not found.size:
        return Rate(float(truth.mean()), 0.0, 1.0)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Rate(float(own), float(low), float(high))


def _correct(truth: Flags, said: Flags, passed: float) -> Floats:
    """Return the corrected rate of every row, within 0 and 1; NaN where it is uninformative."""
    good, bad = truth.sum(axis=1), (~truth).sum(axis=1)
    known = (good > 0) & (bad > 0)
    hits = (truth & said).sum(axis=1) / np.maximum(good, 1)
    right = (~truth & ~said).sum(axis=1) / np.maximum(bad, 1)
    merit = hits + right - 1
    known &= merit > BAREST
    rates = (passed + right - 1) / np.where(known, merit, 1.0)
    return np.where(known, np.clip(rates, 0, 1), np.nan)


def map_scores(
    truth: Flags, scores: Floats, everywhere: Floats, level: float, rng: np.random.Generator
) -> Rate:
    """Return the rate of passing by isotonic regression on scores, with a percentile interval.

    `truth` and `scores` are those of the items with gold labels, `everywhere` the scores of all.

    Examples
    --------
    >>> truth, scores = np.arange(40) >= 20, np.arange(40) / 40
    >>> everywhere = np.linspace(0, 1, 400)
    >>> round(map_scores(truth, scores, everywhere, 0.95, np.random.default_rng(0)).share, 1)
    0.5
    """
    n, (values, places) = len(truth), np.unique(everywhere, return_inverse=True)
    counts = np.bincount(places)

    def estimate(drawn: NDArray[np.intp]) -> float:
        seen, own = np.unique(scores[drawn], return_inverse=True)
        weights = np.bincount(own)
        means = np.bincount(own, truth[drawn]) / weights
        mapped = isotonic_regression(means, weights=weights).x
        return float(counts @ np.interp(values, seen, mapped) / counts.sum())

    found = [estimate(rng.integers(0, n, n)) for _ in range(MAP_RESAMPLES)]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    own = estimate(np.arange(n))
    return Rate(own, min(float(low), own), max(float(high), own))


def ask_independent_panel(values: NDArray[np.int8], level: float, seed: int = 0) -> Rate:
    """Return the rate of passing by judges who err independently, with a percentile interval.

    `values` are verdicts, items x judges: +1, -1, 0 none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.where(rng.random(2000) < 0.3, 1, -1)
    >>> right = rng.random((2000, 5)) < 0.8
    >>> said = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    >>> rate = ask_independent_panel(said, 0.95)
    >>> rate.low < 0.3 < rate.high, round(rate.share, 1)
    (np.True_, 0.3)
    """
    rng, n = np.random.default_rng(seed), len(values)
    yes, no = (values > 0).astype(np.float64), (values < 0).astype(np.float64)
    even = np.ones(n)
    own = fit_independent(yes, no, even)
    found = [
        fit_independent(yes, no, np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64))
        for _ in range(PANEL_RESAMPLES)
    ]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Rate(own, low, high)


def fit_independent(yes: Floats, no: Floats, weights: Floats) -> float:
    """Return the rate of passing by EM, started from the share of yes; items have weights."""
    chances = (yes.sum(axis=1) + 0.5) / (yes.sum(axis=1) + no.sum(axis=1) + 1)
    rate = float(np.average(chances, weights=weights))
    for _ in range(STEPS):
        coins = [
            (part @ yes + 0.5) / (part @ (yes + no) + 1)
            for part in (weights * chances, weights * (1 - chances))
        ]
        odds = yes @ (np.log(coins[0]) - np.log(coins[1]))
        odds += no @ (np.log1p(-coins[0]) - np.log1p(-coins[1]))
        chances = expit(odds + logit(np.clip(rate, 1e-6, 1 - 1e-6)))
        before, rate = rate, float(np.average(chances, weights=weights))
        if abs(rate - before) < SETTLED:
            break
    return rate
