"""Voters from counts: the paper's recipe, and one that allows for how much care a patient gets.

The paper cuts every feature at nine percentiles and by k-means. Cuts of one feature are nested and
explain each other, so that a graph of them is a graph of features with themselves; and any feature
is frequent in a long record. The sound recipe asks one question per feature: does the record hold
it more often than records of this length do? All cuts of one feature together are one ordinal
voter: the level that a patient reaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.sources.counts import Counts, CountTable, Floats
from unelisa.votes import Votes

PERCENTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
STEEPEST = 1.5  # a count that grows faster with utilisation than this is no matter of utilisation
Levels = NDArray[np.int8]


class FeatureVotes(NamedTuple):
    """Votes, and for every voter the place of the feature it was made from."""

    votes: Votes
    features: NDArray[np.intp]


def votes_from_percentiles(
    counts: CountTable, percentiles: Sequence[float] = PERCENTILES, k_means: bool = True
) -> FeatureVotes:
    """Return the paper's voters: count > percentile for each of them, and k-means with two means.

    Percentiles that coincide (most counts are 0) are one voter; one that everybody or nobody passes
    is none.

    Examples
    --------
    >>> import pandas as pd
    >>> from unelisa.sources.counts import read_counts
    >>> table = read_counts(pd.DataFrame({"ICD:714.0": [0, 0, 0, 1, 2, 2, 30, 40]}))
    >>> votes_from_percentiles(table, [.25, .5]).votes.voters
    array(['ICD:714.0 > 0', 'ICD:714.0 > 1.5', 'ICD:714.0 > 16 (k-means)'],
          dtype=object)
    """
    columns, names, features = list[NDArray[np.int8]](), list[str](), list[int]()
    for place, feature in enumerate(counts.features):
        column = counts.values[:, place]
        cuts = [(float(cut), "") for cut in np.unique(np.quantile(column, percentiles))]
        cuts += [(two_means(column), " (k-means)")] if k_means else []
        for cut, by in cuts:
            above = column > cut
            if above.any() and not above.all():
                columns.append(np.where(above, 1, -1).astype(np.int8))
                names.append(f"{feature} > {cut:.3g}{by}")
                features.append(place)
    values = np.empty((counts.n_patients, len(columns)), dtype=np.int8, order="F")
    for voter, vote in enumerate(columns):
        values[:, voter] = vote
    votes = Votes(values, counts.patients, np.array(names, dtype=object), (-1, 1))
    return FeatureVotes(votes, np.array(features, dtype=np.intp))


def two_means(column: Counts) -> float:
    """Return the cut of the best two means on a line: the largest sum of squares between them.

    Examples
    --------
    >>> two_means(np.array([0, 1, 10, 11], dtype=np.float32))
    5.5
    """
    values, counts = np.unique(column.astype(np.float64), return_counts=True)
    if len(values) < 2:
        return float(values[0])
    below, total = np.cumsum(counts)[:-1], np.cumsum(counts * values)
    above = counts.sum() - below
    between = below * above * (total[:-1] / below - (total[-1] - total[:-1]) / above) ** 2
    best = int(np.argmax(between))
    return float(values[best] + values[best + 1]) / 2


@dataclass(frozen=True)
class ExpectedCounts:
    """What a record of some length holds of each feature: m_j(u) = c_j (1 + u)^b_j.

    Attributes
    ----------
    scales, slopes
        c_j and b_j per feature.
    """

    scales: Floats
    slopes: Floats

    @classmethod
    def learn(cls, counts: CountTable) -> "ExpectedCounts":
        """Return the slopes of Poisson regressions on log(1 + u) and the scales that fit the means.

        Poisson score equations give the right slope whatever the spread of the counts.
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
        """Return log((x + 1) / (m(u) + 1)): 0 where a record holds what its length lets expect."""
        rates = np.empty_like(counts.values)
        for feature in range(len(counts.features)):
            expected = self.expect(counts, feature)
            rates[:, feature] = np.log((counts.values[:, feature] + 1) / (expected + 1))
        return rates

    def votes(self, counts: CountTable) -> Votes:
        """Return one voter per feature: yes where the count is above m(u)."""
        values = np.empty(counts.values.shape, dtype=np.int8, order="F")
        for feature in range(len(counts.features)):
            above = counts.values[:, feature] > self.expect(counts, feature)
            values[:, feature] = np.where(above, 1, -1)
        return Votes(values, counts.patients, counts.features, (-1, 1))


def _poisson_slope(totals: Floats, sizes: Floats, levels: Floats) -> float:
    """Return b of E x = exp(a + b l), groups of patients with equal l being one observation."""
    centred = levels - np.average(levels, weights=sizes)
    if not totals.any() or not centred.any():
        return 0.0
    level, slope = float(np.log(totals.sum() / sizes.sum())), 0.5
    for _ in range(25):
        mean = sizes * np.exp(np.clip(level + slope * centred, -20, 12))
        score = np.array([(totals - mean).sum(), ((totals - mean) * centred).sum()])
        mixed = (mean * centred).sum()
        curvature = np.array([[mean.sum(), mixed], [mixed, (mean * centred**2).sum()]])
        step = np.clip(np.linalg.solve(curvature + 1e-9 * np.eye(2), score), -1, 1)
        level, slope = level + float(step[0]), slope + float(step[1])
        if np.abs(step).max() < 1e-6:
            break
    return min(max(slope, 0.0), STEEPEST)


@dataclass(frozen=True)
class OrdinalVoters:
    """The cuts of each feature's rate, together one voter whose answer is a level 0, 1, 2, ...

    Attributes
    ----------
    cuts
        Per feature the distinct percentiles of its rates.
    """

    cuts: tuple[Floats, ...]

    @classmethod
    def learn(cls, rates: Counts, percentiles: Sequence[float] = PERCENTILES) -> "OrdinalVoters":
        """Return the cuts at the percentiles of each column."""
        columns = range(rates.shape[1])
        return cls(tuple(np.unique(np.quantile(rates[:, j], percentiles)) for j in columns))

    def levels(self, rates: Counts) -> Levels:
        """Return how many of its feature's cuts each patient passes."""
        levels = np.empty(rates.shape, dtype=np.int8, order="F")
        for feature, cuts in enumerate(self.cuts):
            levels[:, feature] = np.searchsorted(cuts, rates[:, feature], side="left")
        return levels
