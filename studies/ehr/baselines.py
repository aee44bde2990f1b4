"""Published methods without labels, written from the formulas in their papers.

MAP-like: Liao et al., High-throughput multimodal automated phenotyping, JAMIA 2019.
PheNorm-like: Yu et al., Enabling phenotypic big data with PheNorm, JAMIA 2018.
"Like", because the papers leave initialization, limits and details open; their code is not used.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from studies.ehr.voters import two_means
from unelisa.ehr.counts import CountTable

Floats = NDArray[np.float64]
ROUNDS = 200
DROPOUT = 0.3  # PheNorm's share of hidden values
_POWERS = np.linspace(0.0, 1.0, 21)  # of the note count in PheNorm


def score_rule(counts: CountTable, anchors: NDArray[np.intp]) -> Floats:
    """Return the sum of log(1 + count) over some features, minus a cut between two means."""
    total = np.log1p(counts.values[:, anchors].astype(np.float64)).sum(axis=1)
    return np.asarray(total - two_means(total.astype(np.float32)))


def score_map(counts: CountTable, anchors: NDArray[np.intp]) -> Floats:
    """Return MAP's mean posterior over Poisson and lognormal mixtures, minus its cut.

    Each of the anchors and their sum: S ~ Poisson(exp(m_y + a l)) and log(1 + S) ~ N(m_y + a l,
    s^2), l = log(1 + notes). The share of patients above the cut is the mean posterior.
    """
    use = counts.log_use - counts.log_use.mean()
    chances = np.mean(
        [
            fit(surrogate, use)
            for surrogate in _surrogates(counts, anchors)
            for fit in (_poisson_mixture, _normal_mixture)
        ],
        axis=0,
    )
    return np.asarray(chances - np.quantile(chances, 1 - chances.mean()))


def score_phenorm(counts: CountTable, anchors: NDArray[np.intp]) -> Floats:
    """Return PheNorm's mean posterior over the anchors and their sum, minus one half.

    1. z = log(1 + S) - a log(1 + notes), with the a that makes z most like two normals.
    2. z is regressed on the log counts of all features with a share r of the values hidden at
       random; in expectation that is ((1 - r) G + r diag G)^-1 X'z with the Gram matrix G.
    3. A mixture of two normals is fitted to the fitted values and gives the posterior.
    """
    logs = np.log1p(counts.values)
    logs = np.column_stack([logs - logs.mean(axis=0), counts.log_use - counts.log_use.mean()])
    gram = (logs.T @ logs).astype(np.float64)
    hidden = (1 - DROPOUT) * gram + np.diag(DROPOUT * np.diag(gram) + 1e-6)
    flat = np.zeros(counts.n_patients)
    chances = []
    for surrogate in _surrogates(counts, anchors):
        target = _best_normalized(np.log1p(surrogate), counts.log_use)
        weights = np.linalg.solve(hidden, logs.T @ (target - target.mean()))
        chances.append(_two_normals(logs @ weights, flat).chances)
    return np.asarray(np.mean(chances, axis=0) - 0.5)


def _surrogates(counts: CountTable, anchors: NDArray[np.intp]) -> list[Floats]:
    columns = [counts.values[:, anchor].astype(np.float64) for anchor in anchors]
    return [*columns, np.sum(columns, axis=0)] if len(columns) > 1 else columns


def _best_normalized(logs: Floats, use: Floats) -> Floats:
    """Return log S - a l with the a for which two normals fit best."""
    flat = np.zeros(len(use))
    fits = []
    for power in _POWERS:
        target = np.sort(logs - power * use)
        fits.append((_two_normals(target, flat).distance(target), power))
    return np.asarray(logs - min(fits)[1] * use)


class _Normals(NamedTuple):
    """A mixture of N(m_0 + a l, s^2) and N(m_1 + a l, s^2), and P(upper) of every value."""

    chances: Floats
    share: float
    means: tuple[float, float]
    spread: float

    def distance(self, ordered: Floats) -> float:
        """Return the mean squared distance between the empirical and the fitted distribution."""
        shares = (1 - self.share, self.share)
        fitted = sum(
            w * ndtr((ordered - m) / self.spread) for w, m in zip(shares, self.means, strict=True)
        )
        return float(np.mean((fitted - (np.arange(len(ordered)) + 0.5) / len(ordered)) ** 2))


def _two_normals(values: Floats, use: Floats) -> _Normals:
    """Return the mixture by EM, initialized with the upper 30 % of the values as class 1."""
    chances = np.where(values > np.quantile(values, 0.7), 0.9, 0.1)
    share, low, gap, variance, last = 0.3, 0.0, 1.0, 1.0, chances
    for _ in range(ROUNDS):
        share = float(np.clip(chances.mean(), 1e-3, 1 - 1e-3))
        design = np.column_stack([np.ones_like(use), chances, use])
        gram = design.T @ design
        gram[1, 1] = chances.sum()  # E y^2 = E y
        low, gap, slope = np.linalg.solve(gram + 1e-9 * np.eye(3), design.T @ values).tolist()
        base = low + slope * use
        within = (1 - chances) * (values - base) ** 2 + chances * (values - base - gap) ** 2
        variance = float(within.mean()) + 1e-9
        chances = expit(logit(share) + gap * (values - base - gap / 2) / variance)
        if np.abs(chances - last).max() < 1e-4:
            break
        last = chances
    found = chances if gap >= 0 else 1 - chances
    return _Normals(found, share, (low, low + gap), float(np.sqrt(variance)))


def _normal_mixture(counts: Floats, use: Floats) -> Floats:
    return _two_normals(np.log1p(counts), use).chances


def _poisson_mixture(counts: Floats, use: Floats) -> Floats:
    """Return P(upper) of a mixture of Poisson(exp(m_y + a l)), y = 0, 1, by EM."""
    adjusted = np.log1p(counts) - 0.5 * use
    chances = np.where(adjusted > np.quantile(adjusted, 0.7), 0.9, 0.1)
    slope, last = 0.5, chances
    for _ in range(ROUNDS):
        share = float(np.clip(chances.mean(), 1e-3, 1 - 1e-3))
        grown = np.exp(slope * use)
        low = ((1 - chances) @ counts + 1e-6) / ((1 - chances) @ grown)
        high = (chances @ counts + 1e-6) / (chances @ grown)
        mean = ((1 - chances) * low + chances * high) * grown
        slope += float(np.clip(((counts - mean) @ use) / (mean @ use**2 + 1e-9), -0.3, 0.3))
        grown = np.exp(slope * use)
        chances = expit(logit(share) + counts * np.log(high / low) - (high - low) * grown)
        if np.abs(chances - last).max() < 1e-4:
            break
        last = chances
    return chances if high >= low else 1 - chances


# counts and positions of the anchors -> scores, by name in the tables
BASELINES: dict[str, Callable[[CountTable, NDArray[np.intp]], Floats]] = {
    "log ICD": lambda counts, anchors: score_rule(counts, anchors[:1]),
    "log NLP": lambda counts, anchors: score_rule(counts, anchors[1:2]),
    "log ICD + log NLP": score_rule,
    "MAP-like": score_map,
    "PheNorm-like": score_phenorm,
}
