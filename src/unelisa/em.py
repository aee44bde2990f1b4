"""Expert votes -> reliabilities, prevalence and posteriors: Algorithm 2, (4.1)-(4.6)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.blocks import Block, ItemBlocks, WholeTable, as_dense, tally_votes, weigh_votes

Floats = NDArray[np.float64]
# psi and pi stay off 0 and 1: an expert is never infallible on the strength of finitely many votes
CLIP = 1e-4
Z95 = 1.959963984540054  # standard errors on either side of a 95 % interval
FEW_EXPERTS = 12  # they can vote in 3^12 = 531,441 ways
MANY_ITEMS = 10_000  # from which on counting ballots pays


@dataclass(frozen=True)
class Reliability:
    """What the experts' votes say about the experts and the truth.

    Attributes
    ----------
    reliabilities
        psi_s = P(f_s = f_0) per expert.
    prevalence
        pi = P(f_0 = +1).
    lower_bound
        The bound that EM raises, one value per round, per item.
    converged
        Whether the last round raised it by less than the tolerance.
    """

    reliabilities: Floats
    prevalence: float
    lower_bound: Floats
    converged: bool

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
        score = votes.weigh(self.weights, np.zeros(len(self.weights)))
        return np.asarray(expit(2 * (self.field + score)))


def estimate_reliability(
    blocks: ItemBlocks,
    start: Floats,
    max_iter: int = 500,
    tol: float = 1e-9,
    *,
    pooled: bool = False,
    copies: Floats | None = None,
) -> Reliability:
    """Return Algorithm 2's fixed point from starting weights theta_0s, with theta_0 = 0.

    M-step (4.6), divided by the items an expert voted on::

        psi_s = 1/2 + sum_i (tau_i - 1/2) f_is / n_s,      pi = mean tau

    E-step (4.5): tau_i = sigmoid(2 (theta_0 + sum_s theta_0s f_is)). Clipping psi and pi keeps
    each M-step the maximiser over the clipped range, so the bound never falls.

    The bound is (4.4) with tau for Z plus the entropy of tau, which print leaves out; without it
    (4.4) is not a bound and can fall. Right after an E-step it equals the log-likelihood::

        sum_i log(pi e^{z_i} + (1 - pi) e^{-z_i}) + sum_s n_s/2 log(psi_s (1 - psi_s)),
        z_i = sum_s theta_0s f_is

    Pooled, all voters share one psi and pi is 1/2: majority vote with a probability. On pure noise
    it stays near 1/2, where a psi for each voter would make one of them the truth.

    `copies` says how many items each row stands for, one without it.
    """
    copies = np.empty(0) if copies is None else copies
    counts, n_items = blocks.sum(_count, per_item=(copies,))
    agreement, (mass, _) = blocks.sum(_expect, start, 0.5, per_item=(copies,))
    history = [-np.inf]
    reliabilities, prevalence = np.empty(0), 0.5
    for _ in range(max_iter):
        shares = agreement / np.maximum(counts, 1.0)
        if pooled:
            shares[:] = agreement.sum() / max(counts.sum(), 1.0)
        reliabilities = np.clip(0.5 + shares, CLIP, 1 - CLIP)
        prevalence = 0.5 if pooled else float(np.clip(mass / n_items, CLIP, 1 - CLIP))
        point = logit(reliabilities) / 2, prevalence
        agreement, (mass, mixture) = blocks.sum(_expect, *point, per_item=(copies,))
        scale = counts @ (np.log(reliabilities) + np.log1p(-reliabilities)) / 2
        history.append(float((mixture + scale) / n_items))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return Reliability(reliabilities, prevalence, np.array(history[1:]), converged)


def _count(block: Block, copies: Floats) -> tuple[Floats, Floats]:
    """Return n_s per voter, and the number of items."""
    times = copies if copies.size else np.ones(len(block.votes))
    return tally_votes(block.votes, times)[1], np.asarray(times.sum())


def _expect(
    block: Block, copies: Floats, weights: Floats, prevalence: float
) -> tuple[Floats, Floats]:
    """Return the E-step's sums over a block of items.

    Per voter sum_i (tau_i - 1/2) f_is; then the sums of tau_i and of the bound's logarithms.
    """
    score = weigh_votes(block.votes, weights, np.zeros(len(weights)))
    times = copies if copies.size else np.ones(len(score))
    posterior = expit(2 * score + logit(prevalence))
    agreement = tally_votes(block.votes, times * (posterior - 0.5))[0]
    mixture = np.logaddexp(np.log(prevalence) + score, np.log1p(-prevalence) - score)
    return agreement, np.array([times @ posterior, times @ mixture])


def best_reliability(
    blocks: ItemBlocks,
    polarity: NDArray[Any],
    n_starts: int,
    rng: np.random.Generator,
    max_iter: int = 500,
) -> Reliability:
    """Return the fixed point with the highest bound over several starts.

    The first start weighs the experts equally (their augmented majority), the others draw a
    weight theta_0s between 0 and 1 for each, always on its side of the polarity.
    """
    d0 = len(polarity)
    drawn = np.vstack([np.ones(d0), rng.uniform(0, 1, (n_starts - 1, d0))]) * polarity
    ballots, copies = distinct_ballots(blocks)
    fits = [estimate_reliability(ballots, start, max_iter, copies=copies) for start in drawn]
    return max(fits, key=lambda fit: float(fit.lower_bound[-1]))


def bound_share(share: float, information: float) -> tuple[float, float]:
    """Return a 95 % interval of pi, logit(pi) +- 1.96 / sqrt(I), as if the voters were known.

    Item i's score for logit(pi) is tau_i - pi, so that I = sum_i (tau_i - pi)^2.

    Examples
    --------
    >>> low, high = bound_share(0.5, 25.0)
    >>> round(low, 2), round(high, 2)
    (0.4, 0.6)
    """
    centre, reach = float(logit(share)), Z95 / np.sqrt(information)
    return float(expit(centre - reach)), float(expit(centre + reach))


def distinct_ballots(blocks: ItemBlocks) -> tuple[ItemBlocks, Floats | None]:
    """Return the different ways in which items were voted on, and how many items each has.

    Experts are few and items many: EM then goes over at most 3^experts rows instead of all items.
    Where that would save little, the votes come back as they are, with None.

    Examples
    --------
    >>> votes = np.repeat(np.array([[1, -1], [-1, -1]], dtype=np.int8), [6000, 9000], axis=0)
    >>> ballots, copies = distinct_ballots(WholeTable(votes))
    >>> ballots.table().tolist(), copies.tolist()
    ([[-1, -1], [1, -1]], [9000.0, 6000.0])
    """
    d0 = blocks.n_voters
    if d0 > FEW_EXPERTS or blocks.n_items < max(MANY_ITEMS, 3**d0 // 4):
        return blocks, None
    counts = blocks.sum(_count_ballots, d0)[0]
    found = np.flatnonzero(counts)
    digits = found[:, None] // 3 ** np.arange(d0) % 3
    ballots = WholeTable(np.asfortranarray(digits - 1, dtype=np.int8))
    return ballots, counts[found].astype(np.float64)


def _count_ballots(block: Block, n_voters: int) -> tuple[NDArray[np.int64]]:
    """Return how often each ballot was cast; its number has the digits f_s + 1 to the base 3."""
    votes, numbers = as_dense(block.votes), np.zeros(len(block.votes), dtype=np.int32)
    for s in range(n_voters):
        numbers += 3**s * (votes[:, s].astype(np.int32) + 1)
    return (np.bincount(numbers, minlength=3**n_voters),)
