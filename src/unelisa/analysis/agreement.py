"""Whether the voters agree by more than weights fitted to noise would."""

import numpy as np
from numpy.typing import NDArray

from unelisa.votes.blocks import Block, ItemBlocks, weigh_votes

Floats = NDArray[np.float64]


def measure_agreement(blocks: ItemBlocks, weights: Floats) -> tuple[float, float]:
    r"""Return the voters' weighted agreement in standard deviations, and what noise can reach.

    With g_is = f_is - mean of s where s voted, the sum over items and pairs of voters
    T = sum_i sum_{s<t} 2 w_s w_t g_is g_it has mean 0 for independent voters; T is divided by its
    standard deviation there. The weights were fitted to the same votes, though. The largest value
    that any weights of p voters reach on n items of noise is the edge of Marchenko and Pastur,
    (1 + sqrt(p / n))^2 - 1 per item, which gives sqrt(2 p) + p / sqrt(2 n).
    """
    n_items, n_voters = blocks.shape
    signed, observed = blocks.tally(np.ones(n_items))
    excess, variance = blocks.sum(_sum_excess, weights, signed / np.maximum(observed, 1.0))[0]
    found = excess / np.sqrt(variance) if variance > 1e-12 else 0.0
    return float(found), float(np.sqrt(2 * n_voters) + n_voters / np.sqrt(2 * n_items))


def _sum_excess(block: Block, weights: Floats, means: Floats) -> tuple[Floats]:
    """Return T and its variance under independence, summed over a block of items."""
    votes, nothing = block.votes, np.zeros(len(weights))
    squares, spread = weights**2, 1 - means**2
    total = weigh_votes(votes, weights, -weights * means)
    own = weigh_votes(votes, -2 * squares * means, squares * (1 + means**2))
    expected = weigh_votes(votes, nothing, squares * spread)
    repeated = weigh_votes(votes, nothing, (squares * spread) ** 2)
    return (np.array([(total**2 - own).sum(), 2 * (expected**2 - repeated).sum()]),)
