"""Votes -> whether they can tell of a common truth at all, before anybody believes the labels.

Two things make labels worthless however sure they look. Voters who know nothing agree no more than
chance makes them. Voters who never contradict each other are one voter: nothing tells a perfect
crowd from copies of one source.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import blocks_of
from unelisa.one_sided import read_silence
from unelisa.votes import Votes

Floats = NDArray[np.float32]

# Standard deviations beyond chance. Sums of squares have the longer tail: with one pair, 4 is
# exceeded by one set of noise in a hundred, with many pairs by hardly any.
AGREEMENT_LIMIT, DEPENDENCE_LIMIT = 3.0, 4.0
# As if every voter erred once in 400 votes, or all had one source.
DISSENT_LIMIT = 0.01
# Enough to tell; the rest is not looked at.
MAX_VOTERS, MAX_ITEMS, MAX_CELLS = 300, 20_000, 1 << 25


class Evidence(NamedTuple):
    """What the votes say about the possibility of a truth behind them.

    Attributes
    ----------
    agreement
        Standard deviations by which voters agree more than if each had voted at random.
    dependence
        The same for the squares of all pairs' correlations: voters who contradict others, or agree
        with a few only, count too.
    dissent
        How often two voters contradict each other, over how often unrelated voters with the same
        shares of yes would.
    pairs
        Pairs of voters who both vary and met on items.
    """

    agreement: float
    dependence: float
    dissent: float
    pairs: int

    @property
    def reliable(self) -> bool:
        """Whether the votes can tell of a truth."""
        return self.pairs > 0 and not self.unrelated and self.dissent >= DISSENT_LIMIT

    @property
    def unrelated(self) -> bool:
        """Whether voters who know nothing of each other would look the same: all, unweighed.

        Whether those that a method weighs agree beyond what its search finds in noise is another
        question, which the report asks.
        """
        return self.agreement < AGREEMENT_LIMIT and self.dependence < DEPENDENCE_LIMIT

    @property
    def reason(self) -> str:
        """The verdict's reason in words, with its number."""
        if self.pairs == 0:
            return "no two voters who vary judged the same items, so nothing confirms anybody"
        if self.unrelated:
            return (
                "the voters agree with each other no more than unrelated voters would "
                f"({self.agreement:.1f} standard deviations beyond chance, "
                f"{AGREEMENT_LIMIT:.0f} are needed)"
            )
        if self.dissent < DISSENT_LIMIT:
            return (
                f"the voters contradict each other {self.dissent:.1%} as often as unrelated voters "
                "would: they may all repeat one source, and nothing shows whether it is right"
            )
        beyond = max(self.agreement, self.dependence)
        return f"the voters depend on each other {beyond:.0f} standard deviations beyond chance"


def weigh_evidence(votes: Votes) -> Evidence:
    """Return how far the votes are from noise, and from copies.

    Shuffle the votes of each voter over the items it voted on: all dependence is gone, the voters'
    leanings and the gaps stay. With g_is = f_is - mean f_s where s voted, n_s votes of variance
    v_s, and m_st common items, the sum C_st = sum_i g_is g_it then has mean 0 and variance::

        V_st = v_s v_t (m_st + m_st (m_st - 1) / ((n_s - 1) (n_t - 1)))

    exactly, and different pairs are uncorrelated. Agreement is sum C_st / sqrt(sum V_st).
    Dependence compares sum C_st^2 / V_st with the number of pairs; its variance per pair is 2 and
    the excess of a count, 16 / (m_st v_s v_t), so that pairs which expect no vote in common are
    left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.choice(np.array([-1, 1], dtype=np.int8), (500, 6))
    >>> weigh_evidence(Votes.of(noise)).reliable
    False
    >>> crowd = np.where(rng.random((500, 6)) < 0.5, noise[:, [0]], noise)
    >>> weigh_evidence(Votes.of(crowd)).reliable
    True
    """
    values = _take_part(votes)
    observed = (values != 0).astype(np.float32)
    counts = observed.sum(axis=0)
    signed = values.astype(np.float32)
    means = signed.sum(axis=0) / np.maximum(counts, 1)
    spread = np.where(counts > 1, 1 - means**2, 0)
    centred = signed - observed * means
    s, t = np.triu_indices(values.shape[1], 1)
    met = _pair_sums(observed)[s, t]
    usable = (met > 0) & (spread[s] * spread[t] > 0)
    s, t, met = s[usable], t[usable], met[usable]
    if len(met) == 0:
        return Evidence(0.0, 0.0, 1.0, 0)
    shared = _pair_sums(centred)[s, t]
    variance = spread[s] * spread[t] * (met + met * (met - 1) / ((counts[s] - 1) * (counts[t] - 1)))
    disagree = (met - _pair_sums(signed)[s, t]).sum() / 2
    expected = (met * (1 - means[s] * means[t])).sum() / 2
    return Evidence(
        float(shared.sum() / np.sqrt(variance.sum())),
        _dependence(shared**2 / variance, met * spread[s] * spread[t]),
        float(disagree / expected),
        len(met),
    )


def _take_part(votes: Votes) -> NDArray[np.int8]:
    """Return the votes of the busiest voters on items, evenly spaced, that two of them judged."""
    busiest = np.sort(np.argsort(-votes.vote_counts(), kind="stable")[:MAX_VOTERS])
    n_rows = min(votes.n_items, max(1000, MAX_CELLS // votes.n_voters))
    rows = np.arange(n_rows) * votes.n_items // n_rows
    values = blocks_of(votes.held).take(rows)[:, busiest]
    counts, yes = np.count_nonzero(values, axis=0), np.count_nonzero(values > 0, axis=0)
    silence = read_silence(counts, yes, len(values))
    if silence.any():
        return _hear_silence(values[values[:, silence != 0].any(axis=1)], silence)
    shared = np.flatnonzero(np.count_nonzero(values, axis=1) > 1)
    return values[shared[:: max(1, -(-len(shared) // MAX_ITEMS))]]


def _hear_silence(values: NDArray[np.int8], silence: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the votes with silence as the other answer of rules that can say one thing only.

    Labelling rules often vote yes or not at all; where such voters give most of the votes, whether
    they speak is what they say. Items on which nobody speaks are often left out of a table, which
    alone would make rules look as if they avoided each other, so the number that independent rules
    leave unseen is put back: the N with N (1 - prod_s (1 - n_s / N)) items seen.
    """
    spoken, seen = np.count_nonzero(values[:, silence != 0], axis=0), len(values)
    total = float(seen)
    for _ in range(200):
        total = min(seen / (1 - np.prod(1 - spoken / total)), 2.0 * spoken.sum())
    heard = np.where((values == 0) & (silence != 0), silence, values)
    return np.vstack([heard, np.repeat(silence[None], round(total) - seen, axis=0)])


def _pair_sums(columns: Floats) -> NDArray[np.float64]:
    return (columns.T @ columns).astype(np.float64)


def _dependence(squares: NDArray[np.float64], information: NDArray[np.float64]) -> float:
    """Return how far a sum of squares with mean 1 each is from its mean."""
    telling = information >= 16  # one vote in common expected in the rarest of the four cells
    if not telling.any():
        return 0.0
    excess = 16 / information[telling]
    return float((squares[telling] - 1).sum() / np.sqrt((2 + excess).sum()))
