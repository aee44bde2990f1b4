"""One-sided voters, such as labeling rules: whether their silence is an answer."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ONE_SIDED_VOTES = 20  # fewer may be equal by chance
ONE_SIDED = 0.98  # share of equal votes: a rule may err now and then
COMMON_SIDE = 0.95  # share of all votes above which a side is simply common


def read_silence(votes: Floats, yes: Floats, n_items: int) -> NDArray[np.int8]:
    """Return the vote that each voter's silence stands for: the side it never takes, or 0.

    A voter is one-sided with at least 20 votes, not on all items, of which more than 98 % are
    equal. Silence is an answer where one-sided voters cast more than half of all votes; in a crowd
    with a few one-sided people it is not. A side with 95 % of all votes makes nobody one-sided (the
    other class is rare), unless the other side has no vote at all. `votes` and `yes` are each
    voter's numbers of votes and of yes votes.

    Examples
    --------
    >>> read_silence(np.array([40.0, 30.0, 9.0]), np.array([40.0, 0.0, 4.0]), n_items=80)
    array([-1,  1,  0], dtype=int8)
    """
    share, of_all = yes / np.maximum(votes, 1), yes.sum() / max(votes.sum(), 1)
    says_yes = share > 0.5
    own, common = (np.where(says_yes, part, 1 - part) for part in (share, of_all))
    one_sided = (own > ONE_SIDED) & ((common <= COMMON_SIDE) | (common == 1))
    one_sided &= (votes >= ONE_SIDED_VOTES) & (votes < n_items)
    if votes[one_sided].sum() <= votes.sum() / 2:
        return np.zeros(len(votes), dtype=np.int8)
    return np.where(one_sided, np.where(says_yes, -1, 1), 0).astype(np.int8)
