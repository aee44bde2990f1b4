"""Identifiability: whether votes can identify a common truth at all.

They cannot if voters agree no more than by chance, or never disagree, as copies of one source do.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

# Standard deviations beyond chance. Sums of squares have the heavier tail: with one pair, noise
# exceeds 4 in one case of a hundred, with many pairs hardly ever.
AGREEMENT_LIMIT, DEPENDENCE_LIMIT = 3.0, 4.0
# As if every voter erred once in 400 votes, or all copied one source.
DISSENT_LIMIT = 0.01
# Enough to decide; larger sets are subsampled.
MAX_VOTERS, MAX_ITEMS, MAX_CELLS = 300, 20_000, 1 << 25
# One-sided voters, such as rules: fewer votes may be equal by chance, and a rule may err now and
# then. A side with a larger share of all votes is simply common.
ONE_SIDED_VOTES, ONE_SIDED, COMMON_SIDE = 20, 0.98, 0.95


class Identifiability(NamedTuple):
    """Whether there can be a truth behind the votes, and the statistics that say so."""

    agreement: float  # standard deviations by which voters agree more than independent voters would
    dependence: float  # the same for the squares of all pairs' correlations, also of contrarians
    dissent: float  # how often two voters disagree, relative to independent voters
    pairs: int  # pairs of voters who share items and are not constant

    @property
    def reliable(self) -> bool:
        """Whether the votes can identify a truth."""
        return self.pairs > 0 and not self.unrelated and self.dissent >= DISSENT_LIMIT

    @property
    def unrelated(self) -> bool:
        """Whether independent voters would look the same, all voters counted equally."""
        return self.agreement < AGREEMENT_LIMIT and self.dependence < DEPENDENCE_LIMIT

    @property
    def reason(self) -> str:
        """The reason in words, with its number."""
        if self.pairs == 0:
            return "no two varying voters share an item, so no vote can be cross-checked"
        if self.unrelated:
            return (
                "the voters agree no more than independent voters would "
                f"({self.agreement:.1f} standard deviations beyond chance, "
                f"{AGREEMENT_LIMIT:.0f} are needed)"
            )
        if self.dissent < DISSENT_LIMIT:
            return (
                f"the voters disagree {self.dissent:.1%} as often as independent voters would: "
                "they may all copy one source, and the votes cannot show whether it is right"
            )
        beyond = max(self.agreement, self.dependence)
        return f"the voters depend on each other {beyond:.0f} standard deviations beyond chance"


def check_identifiability(votes: Votes) -> Identifiability:
    """Return how far the votes are from noise, and from copies.

    If each voter's votes are permuted over its items, C_st = sum_i g_is' g_it, with g_is the
    centered indicators of the classes, n_s votes and m_st common items, has mean 0 and exactly the
    variance

        V_st = v_st (m_st + m_st (m_st - 1) / ((n_s - 1) (n_t - 1))),   v_st = trace(Cov_s Cov_t)

    and different pairs are uncorrelated. Agreement is sum C_st / sqrt(sum V_st); dependence
    compares sum C_st^2 / V_st with the number of pairs, at a variance per pair of 2 + 4 / (m_st
    v_st).
    """
    values, codes = _take_part(votes), encode_classes(votes.n_classes)
    observed = (values != 0).astype(np.float32)
    counts, met = observed.sum(axis=0), _pair_sums(observed)
    shared, agreed = np.zeros_like(met), np.zeros_like(met)
    shares = np.zeros((values.shape[1], len(codes)))
    for k, code in enumerate(codes):
        said = (values == np.int8(code)).astype(np.float32)
        shares[:, k] = said.sum(axis=0) / np.maximum(counts, 1)
        agreed += _pair_sums(said)
        shared += _pair_sums(said - observed * shares[:, k].astype(np.float32))
    squares, product = shares**2, shares @ shares.T
    # the trace of the product of two covariances diag(p) - p p'
    spread = product - shares @ squares.T - squares @ shares.T + product**2
    varied = (counts > 1) & (shares.max(axis=1) < 1)
    s, t = np.triu_indices(values.shape[1], 1)
    usable = (met[s, t] > 0) & varied[s] & varied[t] & (spread[s, t] > 1e-12)
    s, t = s[usable], t[usable]
    if len(s) == 0:
        return Identifiability(0.0, 0.0, 1.0, 0)
    m, v = met[s, t], spread[s, t]
    variance = v * (m + m * (m - 1) / ((counts[s] - 1) * (counts[t] - 1)))
    return Identifiability(
        float(shared[s, t].sum() / np.sqrt(variance.sum())),
        _dependence(shared[s, t] ** 2 / variance, 4 * m * v),
        float((m - agreed[s, t]).sum() / (m * (1 - product[s, t])).sum()),
        len(s),
    )


def _take_part(votes: Votes) -> NDArray[np.int8]:
    """Return the votes of the busiest voters on evenly spaced items that two of them judged."""
    busiest = np.sort(np.argsort(-votes.vote_counts(), kind="stable")[:MAX_VOTERS])
    n_rows = min(votes.n_items, max(1000, MAX_CELLS // votes.n_voters))
    rows = np.arange(n_rows) * votes.n_items // n_rows
    values = votes.blocks.take(rows).rearrange(busiest).expand()
    if votes.n_classes == 2:
        silence = read_silence(values)
        if silence.any():
            return _hear_silence(values[values[:, silence != 0].any(axis=1)], silence)
    shared = np.flatnonzero(np.count_nonzero(values, axis=1) > 1)
    return values[shared[:: max(1, -(-len(shared) // MAX_ITEMS))]]


def read_silence(values: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return what abstentions mean: the side a voter never takes, if one-sided voters dominate."""
    votes, yes = np.count_nonzero(values, axis=0), np.count_nonzero(values > 0, axis=0)
    share, of_all = yes / np.maximum(votes, 1), yes.sum() / max(votes.sum(), 1)
    own, common = (np.where(share > 0.5, part, 1 - part) for part in (share, of_all))
    one_sided = (own > ONE_SIDED) & ((common <= COMMON_SIDE) | (common == 1))
    one_sided &= (votes >= ONE_SIDED_VOTES) & (votes < len(values))
    if votes[one_sided].sum() <= votes.sum() / 2:
        return np.zeros(len(votes), dtype=np.int8)
    return np.where(one_sided, np.where(share > 0.5, -1, 1), 0).astype(np.int8)


def _hear_silence(values: NDArray[np.int8], silence: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the votes with abstentions of one-sided rules as votes, unseen items added."""
    spoken, seen = np.count_nonzero(values[:, silence != 0], axis=0), len(values)
    total = float(seen)
    for _ in range(200):
        total = min(seen / (1 - np.prod(1 - spoken / total)), 2.0 * spoken.sum())
    heard = np.where((values == 0) & (silence != 0), silence, values)
    return np.vstack([heard, np.repeat(silence[None], round(total) - seen, axis=0)])


def _pair_sums(columns: NDArray[np.float32]) -> NDArray[np.float64]:
    return (columns.T @ columns).astype(np.float64)


def _dependence(squares: NDArray[np.float64], information: NDArray[np.float64]) -> float:
    """Return how far a sum of squares, each of mean 1, is from its mean."""
    usable = information >= 16  # one vote in common expected in the rarest of the four cells
    if not usable.any():
        return 0.0
    excess = 16 / information[usable]
    return float((squares[usable] - 1).sum() / np.sqrt((2 + excess).sum()))
