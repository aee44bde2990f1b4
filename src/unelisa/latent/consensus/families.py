"""Families: voters who repeat each other, proposed by clustering what the truth does not explain.

Given the hidden states of every item, the residuals of two voters are correlated only where one
repeats the other, or both repeat a third. Average linkage of these correlations, cut at several
heights, gives the families that are tried.

In a crowd for hire voters choose what they answer, and two of them meet on batches of items whose
topic looks like kinship: there relatives must share most of their items. On a panel whose votes are
incomplete, because not everybody is asked about everything, a few items are enough for a strong
tie.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from unelisa.kernels.ballots import tally_ballots
from unelisa.latent.consensus.coefficients import Coefficients
from unelisa.latent.consensus.model import Consensus, Families, Floats
from unelisa.latent.crowd import Sample

COMMON = 100  # items that two voters must share to be related
OVERLAP = 0.5  # share of the busier one's items: who repeats another votes on the same items
PANEL = 0.1  # share of the items that the median voter of a panel has answered
PANEL_COMMON = 30  # items that two members of a panel must share to be related
PANEL_STRENGTH = 0.5  # least correlation of members of a panel who share no more than that
REPEATS = 0.8  # least a_s of a family's voter: it says what its family says in 83 % of the cases
# correlations at which the tree is cut
CUTS = (0.8, 0.65, 0.5, 0.35, 0.25, 0.15)
LEAST_ERRORS = 4.0  # standard errors of a correlation between relatives
MOST_VOTERS = 2000  # who are clustered: those with the strongest ties
CENTER, SPREAD = np.array([0.0, 0.5, 0.0]), np.full(3, 0.7)  # prior of the residuals' regressions


class Ties(NamedTuple):
    """Pairs of voters whose residuals are clearly and positively correlated."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    strengths: Floats


def find_ties(sample: Sample, posterior: Floats, states: Floats) -> Ties:
    """Return who goes together beyond what the hidden states explain."""
    expected = expect_votes(sample, posterior, states)
    return pick_ties(sample, sample.correlate(expected).astype(np.float64))


def pick_ties(sample: Sample, correlations: Floats) -> Ties:
    """Return the pairs whose residuals are clearly and positively correlated."""
    first, second, common = sample.pairs
    counts = np.bincount(sample.ballots.voters, minlength=sample.n_voters)
    busier = np.maximum(counts[first], counts[second])
    often = (common >= COMMON) & (common >= OVERLAP * busier)
    met = often | (common >= PANEL_COMMON) if _is_panel(sample, counts) else often
    # the largest of so many chance correlations, and one more
    errors = max(LEAST_ERRORS, np.sqrt(2 * np.log(max(int(np.count_nonzero(met)), 1))) + 1)
    clear = met & (correlations * np.sqrt(common) > errors)
    clear &= often | (correlations >= PANEL_STRENGTH)
    return Ties(first[clear], second[clear], np.minimum(correlations[clear], 1.0))


def _is_panel(sample: Sample, counts: NDArray[np.integer]) -> bool:
    """Return whether at least half of the voters have each answered a tenth of enough items."""
    answered = np.count_nonzero(sample.ballots.counts)
    return bool(answered >= COMMON and np.median(counts[counts > 0]) >= PANEL * answered)


def expect_votes(sample: Sample, posterior: Floats, states: Floats) -> Floats:
    """Return the expectation of every vote when each voter hangs on the states alone."""
    ballots, parts = sample.ballots, states.shape[1]
    signed, observed = tally_ballots(*ballots[:3], posterior, sample.n_voters)
    said = np.stack([observed - signed, observed + signed], axis=1) / 2
    first = np.tile(CENTER[:parts], (sample.n_voters, 1))
    covariances = np.tile(np.diag(SPREAD[:parts] ** 2), (sample.n_voters, 1, 1))
    voters = Coefficients(first, covariances, CENTER[:parts], SPREAD[:parts])
    effects = np.tanh(voters.moved(said, states, 8, -np.inf).means @ states.T)
    return np.asarray((effects[ballots.voters] * posterior[ballots.items]).sum(axis=1))


def propose_families(ties: Ties, n_voters: int) -> list[Families]:
    """Return the distinct partitions of the voters at all cuts, most families' ties first."""
    total = np.zeros(n_voters)
    np.maximum.at(total, ties.first, ties.strengths)
    np.maximum.at(total, ties.second, ties.strengths)
    tied = np.sort(np.argsort(-total, kind="stable")[: min(np.count_nonzero(total), MOST_VOTERS)])
    if len(tied) < 2:
        return []
    place = np.full(n_voters, -1)
    place[tied] = np.arange(len(tied))
    apart = np.ones((len(tied), len(tied)))
    s, t = place[ties.first], place[ties.second]
    both = (s >= 0) & (t >= 0)
    apart[s[both], t[both]] = apart[t[both], s[both]] = 1 - ties.strengths[both]
    tree = linkage(apart[np.triu_indices(len(tied), 1)], "average")
    found: dict[bytes, Families] = {}
    for cut in CUTS:
        groups = np.full(n_voters, -1, dtype=np.int64)
        groups[tied] = fcluster(tree, 1 - cut, "distance")
        family = number_families(groups)
        if family.max() >= 0:
            found.setdefault(family.tobytes(), family)
    return list(found.values())


def prune_families(model: Consensus) -> Families:
    """Return the families without voters who hardly repeat them."""
    kept = model.lone | (model.members.means[:, 1] >= REPEATS)
    return number_families(np.where(kept, model.family, -1))


def number_families(groups: NDArray[np.integer]) -> Families:
    """Return families 0, 1, ... in the order of their first voters; a group of one is none.

    Examples
    --------
    >>> number_families(np.array([7, -1, 3, 7, 5, 3]))
    array([ 0, -1,  1,  0, -1,  1], dtype=int32)
    """
    _, first, place, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    kept = (groups[first] >= 0) & (sizes > 1)
    numbers = np.full(len(first), -1, dtype=np.int32)
    numbers[kept] = np.argsort(np.argsort(first[kept]))
    return numbers[place]


def count_once(sample: Sample) -> Floats:
    """Return weights with which voters who repeat each other count about once.

    1 / (1 + sum_t r_st^4), over the clear correlations r of the votes themselves: half for each of
    two copies, nearly 1 for voters who merely agree.
    """
    even = np.ones((sample.ballots.n_items, 1))
    return weigh_once(find_ties(sample, even, np.array([[1.0, 0.0]])), sample.n_voters)


def weigh_once(ties: Ties, n_voters: int) -> Floats:
    """Return 1 / (1 + sum_t r_st^4) per voter, over its ties."""
    repeats = np.zeros(n_voters)
    np.add.at(repeats, ties.first, ties.strengths**4)
    np.add.at(repeats, ties.second, ties.strengths**4)
    return np.asarray(1 / (1 + repeats))
