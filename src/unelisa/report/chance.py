"""Whether the voters that count agree more than weights fitted to noise would make them.

`unelisa.identifiability` asks before any fit whether the voters depend on each other at all.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import Block, ItemBlocks, tally_votes, weigh_votes

Floats = NDArray[np.float64]

MARGIN = 2.0  # standard deviations beyond what the search for weights finds in noise


class Agreement(NamedTuple):
    """Standardised agreement of weighed voters, and what weights fitted to noise would reach."""

    found: float
    noise: float

    @property
    def found_in_noise(self) -> bool:
        """Whether weights fitted to unrelated voters might find as much agreement."""
        return self.found < self.noise + MARGIN


def measure_agreement(blocks: ItemBlocks, weights: NDArray[np.float64]) -> Agreement:
    r"""Return how far the voters' weighed agreement is above that of independent votes.

    With g_is = f_is - mean of s where s voted, the sum over items and pairs of voters
    T = sum_i sum_{s<t} 2 w_s w_t g_is g_it has mean 0 for independent voters; T is divided by its
    standard deviation there. But weights were fitted to the same votes. The best that any weights
    of p voters reach on n items of noise is the edge of Marchenko and Pastur,
    (1 + sqrt(p / n))^2 - 1 per item, which makes sqrt(2 p) + p / sqrt(2 n).

    Examples
    --------
    >>> from unelisa.blocks import WholeTable
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.choice(np.array([-1, 1], dtype=np.int8), (500, 6))
    >>> measure_agreement(WholeTable(noise), np.ones(6)).found_in_noise
    True
    >>> crowd = np.where(rng.random((500, 6)) < 0.8, noise[:, [0]], noise)
    >>> measure_agreement(WholeTable(crowd), np.ones(6)).found_in_noise
    False
    """
    n_items, n_voters = blocks.shape
    signed, observed = blocks.sum(_tally_all)
    excess, variance = blocks.sum(_sum_excess, weights, signed / np.maximum(observed, 1.0))[0]
    found = excess / np.sqrt(variance) if variance > 1e-12 else 0.0
    return Agreement(float(found), float(np.sqrt(2 * n_voters) + n_voters / np.sqrt(2 * n_items)))


def _tally_all(block: Block) -> tuple[Floats, Floats]:
    return tally_votes(block.votes, np.ones(len(block.votes)))


def _sum_excess(block: Block, weights: Floats, means: Floats) -> tuple[Floats]:
    """Return T and its variance under independence, summed over a block of items."""
    votes, nothing = block.votes, np.zeros(len(weights))
    squares, spread = weights**2, 1 - means**2
    total = weigh_votes(votes, weights, -weights * means)
    own = weigh_votes(votes, -2 * squares * means, squares * (1 + means**2))
    expected = weigh_votes(votes, nothing, squares * spread)
    repeated = weigh_votes(votes, nothing, (squares * spread) ** 2)
    return (np.array([(total**2 - own).sum(), 2 * (expected**2 - repeated).sum()]),)
