"""Repeaters: voters who follow each other beyond what everybody else explains, and their counts.

    count_s = 1 / (1 + sum_t excess_st)    (t: other voters, copies as one)
    excess_st = min(max(r_st - m / sqrt(n_st) - REPEATS, 0) / RAMP, 1),   m = sqrt(2 log pairs)

r_st is the partial correlation of the votes of s and t on their n_st common items given the mean
vote of the others; m / sqrt(n_st) is about its maximum by chance. Over two classes it is the mean
over the indicators of "says c", weighted by share_c (1 - share_c).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.latent import prior
from unelisa.latent.crowd import LEAST_ITEMS, Crowd, Heads, Sample
from unelisa.votes.ballots import Floats

Singles = NDArray[np.float32]
Ties = tuple[NDArray[np.int32], NDArray[np.int32], Floats]  # first, second, excess of each pair

PART_ITEMS = 5000  # on which voters are compared
MOST_VOTERS = 2000  # who are compared, the busiest
MOST_WORK = 2e9  # items x voters^2 that are compared
FEWEST = 10  # votes, and common items
ALIKE = 4  # power of correlations with which voters share their weight
RARE = 0.02  # share of the votes below which a class is left out
FEW_MET = 0.002  # share of all pairs who met on an item, below which they are counted first
TINY = 1e-6  # variance of votes or of residuals
MOSTLY = 0.5  # excess from which two voters are in one family


class Repeaters(NamedTuple):
    """How much each voter counts, and who repeats whom."""

    counts: Floats  # 1: nobody is repeated; 0: says the same of every item
    family: NDArray[np.int32]  # -1: none
    # first, second, excess: pairs of voters with any excess
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    excess: Floats
    n_copies: int  # of these pairs, the first, are exact copies

    @classmethod
    def of(cls, crowd: Crowd, pairs: Ties, n_copies: int) -> "Repeaters":
        """Return the counts of the voters, of the pairs that repeat each other."""
        (first, second, excess), heads, n_voters = pairs, crowd.heads, len(crowd.heads)
        sizes = np.bincount(heads, minlength=n_voters)[heads]
        # a relative and its copies are one relative
        near = slice(n_copies, None)
        total = np.bincount(first[near], (excess / sizes[second])[near], n_voters)
        total += np.bincount(second[near], (excess / sizes[first])[near], n_voters)
        counts = 1 / (sizes * (1 + total))
        constant = (crowd.cast == crowd.ballots.n_items).any(axis=1)
        if not constant.all():
            counts[constant] = 0.0  # votes that do not distinguish items
        ends = first[excess > MOSTLY], second[excess > MOSTLY]
        return cls(counts, _join_families(*ends, n_voters), first, second, excess, n_copies)

    def only_copies(self, crowd: Crowd) -> "Repeaters":
        """Return the same with only exact copies."""
        n = self.n_copies
        return Repeaters.of(crowd, (self.first[:n], self.second[:n], self.excess[:n]), n)


def find_repeaters(crowd: Crowd, compared: "Compared | None", *, surely: bool = True) -> Repeaters:
    """Return who repeats whom (not `surely`: also who share few items and nearly always agree)."""
    copies = _list_copies(crowd.heads)
    if compared is None:
        return Repeaters.of(crowd, copies, len(copies[0]))
    bounds = compared.bound_surely() if surely else compared.bound_perhaps()
    excess = np.clip((bounds - prior.REPEATS) / prior.RAMP, 0, 1)
    s, t = np.nonzero(np.triu(excess, 1))
    # a copy of s repeats whom s repeats
    alike = [np.flatnonzero(crowd.heads == head) for head in compared.voters]
    pairs = [
        (a, b, excess[i, j])
        for i, j in zip(s.tolist(), t.tolist(), strict=True)
        for a in alike[i]
        for b in alike[j]
    ]
    found = np.array(pairs, dtype=np.float64).reshape(-1, 3).T
    first, second = (np.append(copies[k], found[k]).astype(np.int32) for k in (0, 1))
    return Repeaters.of(crowd, (first, second, np.append(copies[2], found[2])), len(copies[0]))


def _join_families(first: Any, second: Any, n_voters: int) -> NDArray[np.int32]:
    """Return the family of every voter, -1 for none, given pairs of relatives."""
    family = np.full(n_voters, -1, dtype=np.int32)
    if not len(first):
        return family
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - takes .05 seconds

    graph = sp.coo_array((np.ones(len(first)), (first, second)), shape=(n_voters, n_voters))
    label = connected_components(graph, directed=False)[1]
    shared = np.bincount(label)[label] > 1
    family[shared] = np.unique(label[shared], return_inverse=True)[1]
    return family


def _list_copies(heads: Heads) -> Ties:
    # most voters have no copy, and there may be many voters
    several = np.flatnonzero((np.bincount(heads, minlength=len(heads)) > 1)[heads])
    if not several.size:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
    order = several[np.argsort(heads[several], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(heads[order])) + 1)
    pairs = [np.triu_indices(len(group), 1) for group in groups]
    first, second = (
        np.concatenate([g[p[k]] for g, p in zip(groups, pairs, strict=True)]).astype(np.int32)
        for k in (0, 1)
    )
    return first, second, np.ones(len(first))


def compare_voters(crowd: Crowd) -> "Compared":
    """Return the partial correlations of the voters with enough votes, the busiest of many."""
    n_active = int(np.count_nonzero(crowd.votes * crowd.distinct))
    n_compared = min(n_active, MOST_VOTERS)
    sample = crowd.draw(int(np.clip(MOST_WORK / max(n_compared, 1) ** 2, LEAST_ITEMS, PART_ITEMS)))
    votes = np.bincount(sample.ballots.voters, minlength=len(crowd.heads))
    voters = np.flatnonzero(crowd.distinct & (votes >= FEWEST))
    voters = np.sort(voters[np.argsort(-votes[voters], kind="stable")[:MOST_VOTERS]])
    margin = float(np.sqrt(2 * np.log(max(n_active * (n_active - 1) / 2, 2))))
    if not _met_enough(sample, voters, margin):
        nothing = np.zeros((len(voters), len(voters)))
        return Compared(voters, nothing, nothing, margin)
    found = measure_partial(sample, crowd.distinct, voters, crowd.n_classes)
    return Compared(voters, *found, margin)


def _met_enough(sample: Sample, voters: NDArray[np.intp], margin: float) -> bool:
    """Return whether any two share enough items for a correlation that could exceed `REPEATS`."""
    run = sample.ballots
    if run.counts @ run.counts > FEW_MET * run.n_items * len(voters) ** 2:
        return True
    shape = run.n_items, sample.n_voters
    there = sp.csc_array(sp.csr_array((np.ones(len(run.voters)), run.voters, run.starts), shape))
    met = there[:, voters].T @ there[:, voters]
    met.setdiag(0)
    most = Compared(voters, np.ones(1), np.array([met.max()]), margin)
    return bool(max(most.bound_surely()[0], most.bound_perhaps()[0]) > prior.REPEATS)


class Compared(NamedTuple):
    """Partial correlations of some voters, and the numbers of their common items."""

    voters: NDArray[np.intp]
    correlations: Floats
    common: Floats
    margin: float  # standard errors that chance alone reaches among so many pairs

    def bound_surely(self) -> Floats:
        """Return lower bounds with the standard error of independent votes, 1 / sqrt(n)."""
        return np.asarray(self.correlations - self.margin / np.sqrt(np.maximum(self.common, 1)))

    def bound_perhaps(self) -> Floats:
        """Return lower bounds by Fisher's z, which are close to correlations near 1."""
        common = self.common
        most = 1 - 1 / np.maximum(common, 2)
        z = np.arctanh(np.clip(self.correlations, -most, most))
        z -= self.margin / np.sqrt(np.maximum(common - 3, 1))
        return np.where(common >= FEWEST, np.tanh(z), 0.0)


def measure_partial(
    sample: Sample, heard: NDArray[np.bool_], voters: NDArray[np.intp], n_classes: int
) -> tuple[Floats, Floats]:
    """Return partial correlations given the mean of the others, and numbers of common items."""
    found, total, common = np.zeros((len(voters), len(voters))), 0.0, np.empty(0)
    if len(voters) < 2:
        return found, found
    answers = sample.ballots.answer(n_classes)
    for c in range(n_classes) if n_classes > 2 else (1,):
        share = float(np.mean(answers == c)) if len(answers) else 0.0
        if n_classes > 2 and share < RARE:
            continue
        signs = np.where(answers == c, 1, -1).astype(np.float32)
        panel = _arrange_panel(sample, heard, voters, signs)
        partial, common = _correlate_rest(panel)
        found += share * (1 - share) * partial
        total += share * (1 - share)
    return (found / max(total, 1e-12), common) if common.size else (found, found)


class Panel(NamedTuple):
    """The votes of the voters who are compared, as signs, and the sums of the others'."""

    votes: Singles  # items x voters
    sums: Singles  # of the other voters' votes per item
    many: Singles  # their number


def _arrange_panel(
    sample: Sample, heard: NDArray[np.bool_], voters: NDArray[np.intp], signs: Singles
) -> Panel:
    ballots, place = sample.ballots, np.full(len(heard), -1)
    place[voters] = np.arange(len(voters))
    items, own = ballots.items, place[ballots.voters] >= 0
    rest = heard[ballots.voters] & ~own
    table = np.zeros((ballots.n_items, len(voters)), dtype=np.float32)
    table[items[own], place[ballots.voters[own]]] = signs[own]
    sums = np.bincount(items[rest], signs[rest], ballots.n_items).astype(np.float32)
    many = np.bincount(items[rest], minlength=ballots.n_items).astype(np.float32)
    return Panel(table, sums, many)


def _weigh_crowd(met: Singles, sums: Singles, both: Singles) -> Singles:
    """Return each voter's weight in the crowd: 1 / sum_t max(C_st, 0)^ALIKE, at most 1."""
    n = np.maximum(met, 1)
    mean = sums / n
    spread = np.sqrt(np.maximum(1 - mean**2, TINY))
    correlations = (both / n - mean * mean.T) / (spread * spread.T)
    alike = np.maximum(correlations, 0) ** ALIKE * (n >= FEWEST)
    np.fill_diagonal(alike, 1.0)
    return np.asarray(1 / alike.sum(axis=1), dtype=np.float32)


def _correlate_rest(panel: Panel) -> tuple[Floats, Floats]:
    """Return the partial correlations of all pairs given the rest of the crowd, and common items.

    The rest on item i is u_i (T_i - w_s f_is - w_t f_it), T_i the weighted sum of all votes and u_i
    one over their weight less two average voters: all moments are products of votes.
    """
    votes, there = panel.votes, np.abs(panel.votes)
    met, sums, both = there.T @ there, votes.T @ there, votes.T @ votes
    weights = _weigh_crowd(met, sums, both)
    total = panel.sums + votes @ weights
    u = 1 / np.maximum(panel.many + there @ weights - 2 * weights.mean(), weights.min())
    w, common = weights.astype(np.float64)[:, None], met.astype(np.float64)
    n = np.maximum(common, 1)
    mean = sums / n  # of s on the common items

    def products(left: Singles, by: NDArray[Any], right: Singles) -> Floats:
        return (left.T @ (by[:, None] * right)).astype(np.float64)

    cross = w * products(votes, u, there)
    rest = (products(there, u * total, there) - cross - cross.T) / n
    tilted = w * products(votes, u**2 * total, there)
    squares = products(there, (u * total) ** 2, there) - 2 * (tilted + tilted.T)
    squares += (w**2 + w.T**2) * products(there, u**2, there)
    squares += 2 * w * w.T * products(votes, u**2, votes)
    with_rest = products(votes, u * total, there) - w * products(there, u, there)
    with_rest -= w.T * products(votes, u, votes)
    spread = np.maximum(squares / n - rest**2, TINY)
    own = with_rest / n - mean * rest  # covariance of s with the rest; of t: its transpose
    left = np.maximum(1 - mean**2 - own**2 / spread, TINY)
    partial = (both / n - mean * mean.T - own * own.T / spread) / np.sqrt(left * left.T)
    np.fill_diagonal(partial, 0.0)
    return np.clip(partial, -1, 1), common
