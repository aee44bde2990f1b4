"""Expert votes -> reliabilities, prevalence and posteriors: Algorithm 2, (4.1)-(4.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from unelisa.votes.blocks import Block, ItemBlocks, WholeTable, as_dense, tally_votes, weigh_votes

Floats = NDArray[np.float64]
# psi and pi stay off 0 and 1: finitely many votes never prove an expert infallible
CLIP = 1e-4
Z95 = 1.959963984540054  # half width of a 95 % interval, in standard errors
FEW_EXPERTS = 12  # they can vote in 3^12 = 531,441 ways
MANY_ITEMS = 10_000  # from which on counting distinct rows pays off
# fits whose log-likelihoods differ by less are tied: one item more can change which is higher
TIE_NATS = 3.0
TOLERANCE = 1e-9  # of EM: nats per item
POWER_STEPS = 20  # at most toward the leading eigenvector, from which EM only starts
STEADY = 0.01  # change of its entries, at most 1, below which no further step is taken


@dataclass(frozen=True)
class Reliability:
    """What EM estimates from the votes."""

    reliabilities: Floats  # psi_s = P(f_s = f_0) per voter
    prevalence: float  # pi = P(f_0 = +1)
    # the penalized log-likelihood per item after each iteration; it never falls
    lower_bound: Floats
    converged: bool  # whether the last iteration raised it by less than the tolerance

    @property
    def weights(self) -> Floats:
        """theta_0s = 1/2 log(psi_s / (1 - psi_s)), (4.1)."""
        return np.asarray(logit(self.reliabilities) / 2)

    @property
    def field(self) -> float:
        """theta_0 = 1/2 log(pi / (1 - pi)), (4.2)."""
        return float(logit(self.prevalence) / 2)

    def posterior(self, votes: ItemBlocks) -> Floats:
        """Return tau_i = P(f_0 = +1 | votes) per item, (4.5)."""
        return weigh_posterior(votes, self.weights, self.field)


def weigh_posterior(blocks: ItemBlocks, weights: Floats, field: float = 0.0) -> Floats:
    """Return tau_i = sigmoid(2 (theta_0 + sum_s theta_0s f_is)) per item, (4.5)."""
    score = blocks.weigh(weights, np.zeros(len(weights)))
    return np.asarray(expit(2 * (field + score)))


def estimate_reliability(
    blocks: ItemBlocks,
    start: Floats,
    *,
    pooled: bool = False,
    copies: Floats | None = None,
    max_iter: int = 2000,
) -> Reliability:
    """Return the fixed point of EM, Algorithm 2, from starting posteriors tau_i.

        psi_s = 1/2 + sum_i (tau_i - 1/2) f_is / n_s,      pi = mean tau              M-step (4.6)
        tau_i = sigmoid(2 (theta_0 + z_i)),                z_i = sum_s theta_0s f_is   E-step (4.5)

    The log-likelihood never falls: sum_i log(pi e^{z_i} + (1 - pi) e^{-z_i}) + sum_s n_s/2
    log(psi_s (1 - psi_s)), (4.4) plus the entropy of tau, which print leaves out. `copies`: items
    per row. `pooled`: one psi and pi = 1/2; on noise, one psi per voter would make one the truth.
    """
    times = np.ones(len(blocks)) if copies is None else copies
    counts, n_items = blocks.tally(times)[1], times.sum()
    agreement, mass = blocks.sum(_tally, per_item=(times, start))
    history = [-np.inf]
    reliabilities, prevalence, converged = np.empty(0), 0.5, False
    for _ in range(max_iter):
        shares = agreement / np.maximum(counts, 1.0)
        if pooled:
            shares[:] = agreement.sum() / max(counts.sum(), 1.0)
        reliabilities = np.clip(0.5 + shares, CLIP, 1 - CLIP)
        prevalence = 0.5 if pooled else float(np.clip(mass / n_items, CLIP, 1 - CLIP))
        weights = logit(reliabilities) / 2
        agreement, mass, mixture = blocks.sum(_expect, weights, prevalence, per_item=(times,))
        logs = np.log(reliabilities) + np.log1p(-reliabilities)
        history.append(float((mixture + counts @ logs / 2) / n_items))
        if converged := history[-1] - history[-2] < TOLERANCE:
            break
    return Reliability(reliabilities, prevalence, np.array(history[1:]), converged)


def _tally(block: Block, times: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """Return per voter sum_i (tau_i - 1/2) f_is, and the sum of tau_i, over a block of items."""
    return tally_votes(block.votes, times * (posterior - 0.5))[0], np.asarray(times @ posterior)


def _expect(
    block: Block, times: Floats, weights: Floats, prevalence: float
) -> tuple[Floats, Floats, Floats]:
    """Return `_tally` of the E-step's posteriors, and the sum of the bound's logarithms."""
    score = weigh_votes(block.votes, weights, np.zeros(len(weights)))
    mixture = np.logaddexp(np.log(prevalence) + score, np.log1p(-prevalence) - score)
    posterior = expit(2 * score + logit(prevalence))
    return *_tally(block, times, posterior), np.asarray(times @ mixture)


def rank_fits(fits: Sequence[Any], n_items: float) -> list[Any]:
    """Return the most likely fit, then others less than 3 nats behind (equal objectives once)."""
    ends = np.array([float(fit.lower_bound[-1]) for fit in fits])
    behind = np.round((ends.max() - ends) * n_items, 3)
    kept = {float(behind[k]): fits[k] for k in reversed(range(len(fits))) if behind[k] < TIE_NATS}
    return [kept[gap] for gap in sorted(kept)]


def list_starts(
    blocks: ItemBlocks, polarity: NDArray[Any], n_starts: int, copies: Floats | None = None
) -> list[Floats]:
    """Return the voters' weights from which EM starts, at most five, determined by the votes.

    All equal, with the signs `polarity` (majority vote); agreement with it, 2 P(f_s = majority) -
    1; the leading eigenvector of the correlations; its square; its largest entry alone.
    """
    equal = np.asarray(polarity, dtype=np.float64)
    times = np.ones(len(blocks)) if copies is None else copies
    margin = blocks.weigh(equal, np.zeros(len(equal)))
    signed, counts = blocks.tally(times * np.sign(margin))[0], blocks.tally(times)[1]
    starts = [equal, signed / np.maximum(counts, 1.0)]
    if n_starts > len(starts):
        lead = find_lead(blocks, equal, times)
        alone = np.zeros(len(lead))
        best = int(np.argmax(np.round(np.abs(lead), 9)))
        alone[best] = np.sign(lead[best])
        starts += [lead, lead * np.abs(lead), alone]
    return starts[:n_starts]


def find_lead(blocks: ItemBlocks, start: Floats, times: Floats) -> Floats:
    """Return the leading eigenvector of the voters' correlations, scaled to a maximum of 1."""
    signed, counts = blocks.tally(times)
    means = signed / np.maximum(counts, 1.0)
    lengths = np.sqrt(counts * (1 - means**2))
    scales = np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1.0), 0.0)
    lead = start * (scales > 0)
    for _ in range(POWER_STEPS):
        weights = lead * scales
        shared, seen = blocks.tally(times * blocks.weigh(weights, -weights * means))
        lead = (shared - means * seen) * scales
        top = np.abs(lead).max(initial=0.0)
        if top == 0:
            return start
        before, lead = lead, lead / top
        if np.abs(lead - before).max() < STEADY:
            break
    return lead


def best_reliability(
    blocks: ItemBlocks, polarity: NDArray[Any], n_starts: int
) -> list[Reliability]:
    """Return the most likely fixed point over several starts, then those tied with it."""
    rows, copies = distinct_rows(blocks)
    fits = [
        estimate_reliability(rows, weigh_posterior(rows, weights), copies=copies)
        for weights in list_starts(rows, polarity, n_starts, copies)
    ]
    return rank_fits(fits, blocks.n_items)


def bound_share(share: float, information: float, level: float = 0.95) -> tuple[float, float]:
    """Return an interval for pi, logit(pi) +- z / sqrt(sum_i (tau_i - pi)^2), given the voters."""
    center, reach = float(logit(share)), ndtri((1 + level) / 2) / np.sqrt(information)
    return float(expit(center - reach)), float(expit(center + reach))


def distinct_rows(blocks: ItemBlocks) -> tuple[ItemBlocks, Floats | None]:
    """Return distinct rows and items per row; the votes and None where that would save little."""
    d0 = blocks.n_voters
    if d0 > FEW_EXPERTS or blocks.n_items < max(MANY_ITEMS, 3**d0 // 4):
        return blocks, None
    counts = blocks.sum(_count_rows, d0)[0]
    found = np.flatnonzero(counts)
    digits = found[:, None] // 3 ** np.arange(d0) % 3
    rows = WholeTable(np.asfortranarray(digits - 1, dtype=np.int8))
    return rows, counts[found].astype(np.float64)


def _count_rows(block: Block, n_voters: int) -> tuple[NDArray[np.int64]]:
    """Return how often each row of votes occurs; its number has the digits f_s + 1 in base 3."""
    votes, numbers = as_dense(block.votes), np.zeros(len(block.votes), dtype=np.int32)
    for s in range(n_voters):
        numbers += 3**s * (votes[:, s].astype(np.int32) + 1)
    return (np.bincount(numbers, minlength=3**n_voters),)
