"""Affinity: which voters repeat each other, and the weights of near-duplicate votes.

What two voters still share once the truth is known, r_st, is the correlation of their residuals,
shrunk by its noise. A vote of s counts 1 / (1 + sum of r_st over the other voters on the item): k
voters with residual correlation r together count k / (1 + (k - 1) r), the number of independent
voters whose sum has the same variance.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.kernels.ballots import count_affinity
from unelisa.latent.ballots import Ballots
from unelisa.latent.pairs import Pairs, Singles
from unelisa.schema import stored

BELIEVED_ITEMS = 100  # common items, below which a correlation is too noisy to act on
BELIEVED_ERRORS = 3.0  # standard errors above which a correlation is acted on


@stored(others="index32(voters)[pairs]", strengths="single[pairs]", rows="starts(pairs)[voters+1]")
class Affinity(NamedTuple):
    """Who repeats whom: voter t's partners are `others` from rows[t] to rows[t + 1]."""

    # rows, others, strengths: the symmetric table r_st of voters x voters, without its zeros
    rows: NDArray[np.int64]
    others: NDArray[np.int32]
    strengths: Singles

    @classmethod
    def of(cls, pairs: Pairs, correlations: Singles, n_voters: int, power: float = 1) -> "Affinity":
        """Return r_st = (C shrunk by its noise)^power of the pairs with a clear correlation C."""
        scores = correlations * np.sqrt(pairs.common)
        seen = (pairs.common >= BELIEVED_ITEMS) & (scores > BELIEVED_ERRORS)
        strengths = np.clip(correlations[seen], 0, 1) * (1 - (BELIEVED_ERRORS / scores[seen]) ** 2)
        return cls.tie(
            pairs.first[seen], pairs.second[seen], (strengths**power).astype(np.float32), n_voters
        )

    @classmethod
    def tie(
        cls, first: NDArray[np.int32], second: NDArray[np.int32], strengths: Singles, n_voters: int
    ) -> "Affinity":
        """Return the symmetric table of some pairs."""
        ends = np.r_[first, second], np.r_[second, first]
        both = np.r_[strengths, strengths].astype(np.float32)
        table = sp.csr_matrix((both, ends), shape=(n_voters, n_voters))
        table.sort_indices()
        return cls(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)


def discount_votes(ballots: Ballots, affinity: Affinity | None) -> Ballots:
    """Return the ballots with vote weights 1 / (1 + sum_t r_st); without affinity, in full."""
    if affinity is None:
        return ballots._replace(weights=np.empty(0, dtype=np.float32))
    shared = count_affinity(ballots.starts, ballots.voters, *affinity)
    return ballots._replace(weights=(1 / (1 + shared)).astype(np.float32))
