"""Counts expected at a given utilization, and the rates and votes of patients relative to them.

Any feature is frequent in a long record, so the raw count mostly reflects how much care a patient
gets. The question here is whether a record contains a feature more often than records of its
length do.
"""

from dataclasses import dataclass

import numpy as np

from unelisa.ehr.counts import Counts, CountTable, Floats
from unelisa.schema import stored
from unelisa.votes import Votes

STEEPEST = 1.5  # growth beyond this power is not explained by utilization


@stored(scales="finite[features]", slopes="finite[features]")
@dataclass(frozen=True)
class ExpectedCounts:
    """Mean count of each feature given utilization u: m_j(u) = c_j (1 + u)^b_j."""

    # scales, slopes: c_j and b_j per feature
    scales: Floats
    slopes: Floats

    @classmethod
    def learn(cls, counts: CountTable) -> "ExpectedCounts":
        """Return the slopes of Poisson regressions on log(1 + u), with scales that match the means.

        The Poisson score equations give a consistent slope whatever the dispersion of the counts.
        """
        levels, codes = np.unique(counts.log_use, return_inverse=True)
        sizes = np.bincount(codes).astype(np.float64)
        scales, slopes = np.empty(len(counts.features)), np.empty(len(counts.features))
        for place in range(len(counts.features)):
            totals = np.bincount(codes, counts.values[:, place]).astype(np.float64)
            slopes[place] = _poisson_slope(totals, sizes, levels)
            scales[place] = totals.sum() / (sizes * np.exp(slopes[place] * levels)).sum()
        return cls(scales, slopes)

    def expect(self, counts: CountTable, feature: int) -> Floats:
        """Return m_j(u) for every patient."""
        return np.asarray(self.scales[feature] * np.exp(self.slopes[feature] * counts.log_use))

    def rates(self, counts: CountTable) -> Counts:
        """Return log((x + 1) / (m(u) + 1)): 0 for a count equal to its expectation."""
        rates = np.empty_like(counts.values)
        for feature in range(len(counts.features)):
            expected = self.expect(counts, feature)
            rates[:, feature] = np.log((counts.values[:, feature] + 1) / (expected + 1))
        return rates

    def votes(self, counts: CountTable) -> Votes:
        """Return one voter per feature: yes if the count exceeds m(u)."""
        values = np.empty(counts.values.shape, dtype=np.int8, order="F")
        for feature in range(len(counts.features)):
            above = counts.values[:, feature] > self.expect(counts, feature)
            values[:, feature] = np.where(above, 1, -1)
        return Votes.of_values(values, counts.patients, counts.features, (-1, 1))


def _poisson_slope(totals: Floats, sizes: Floats, levels: Floats) -> float:
    """Return b of E x = exp(a + b l); patients with equal l are one observation."""
    centered = levels - np.average(levels, weights=sizes)
    if not totals.any() or not centered.any():
        return 0.0
    level, slope = float(np.log(totals.sum() / sizes.sum())), 0.5
    for _ in range(25):
        mean = sizes * np.exp(np.clip(level + slope * centered, -20, 12))
        score = np.array([(totals - mean).sum(), ((totals - mean) * centered).sum()])
        mixed = (mean * centered).sum()
        curvature = np.array([[mean.sum(), mixed], [mixed, (mean * centered**2).sum()]])
        step = np.clip(np.linalg.solve(curvature + 1e-9 * np.eye(2), score), -1, 1)
        level, slope = level + float(step[0]), slope + float(step[1])
        if np.abs(step).max() < 1e-6:
            break
    return min(max(slope, 0.0), STEEPEST)
