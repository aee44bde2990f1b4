"""The paper's voters: every feature cut at nine percentiles and by k-means.

The cuts of one feature are nested and explain each other, so a graph of such voters mostly connects
features with themselves; and long records have many of every feature.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.counts import Counts, CountTable
from unelisa.votes import Votes

PERCENTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class FeatureVotes(NamedTuple):
    """Votes, and for every voter the position of the feature it was made from."""

    votes: Votes
    features: NDArray[np.intp]


def votes_from_percentiles(
    counts: CountTable, percentiles: Sequence[float] = PERCENTILES, k_means: bool = True
) -> FeatureVotes:
    """Return the paper's voters: count > percentile for each of them, and k-means with two means.

    Percentiles that coincide (most counts are 0) make one voter; constant voters are dropped.

    Examples
    --------
    >>> import pandas as pd
    >>> from unelisa.ehr.counts import read_counts
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
    votes = Votes.of_values(values, counts.patients, np.array(names, dtype=object), (-1, 1))
    return FeatureVotes(votes, np.array(features, dtype=np.intp))


def two_means(column: Counts) -> float:
    """Return the cut between the best two means on a line, which maximizes the sum of squares.

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
