"""Whether voters depend on each other beyond one common factor, as the voters of a graph do."""

import math

import numpy as np

from unelisa.kernels.rank_one import descend_rank_one
from unelisa.latent.pairs import Pairs, Singles

LEFT = 0.05  # share of the squared correlations that one factor leaves where there is a graph
SURE_ERRORS = 3.0  # standard errors by which these squares must also exceed chance
MAX_SWEEPS, TOL = 200, 1e-6


def exceeds_factor(pairs: Pairs, correlations: Singles) -> bool:
    """Return whether one common factor of the voters leaves a part of their correlations.

    A truth that everybody sees, some better than others and some reversed, is one factor: C_st =
    v_s v_t. The edges of a graph are not. With v that minimizes ::

        R(v) = sum N (C_st - v_s v_t)^2 - #pairs

    which is near 0 by chance, R(v) must be a share of R(0) and several standard errors.
    """
    voters, places = np.unique(np.concatenate(pairs[:2]), return_inverse=True)
    s, t = np.split(places, 2)
    table, common = np.zeros((2, len(voters), len(voters)))
    table[s, t] = table[t, s] = correlations
    common[s, t] = common[t, s] = pairs.common
    values, vectors = np.linalg.eigh(table)
    start, bound = vectors[:, -1] * math.sqrt(max(values[-1], 0.0)), np.ones(len(voters))
    factor, _ = descend_rank_one(table, common, bound, start, MAX_SWEEPS, TOL)
    total, left = (
        float((pairs.common * rest**2).sum(dtype=np.float64)) - len(s)
        for rest in (correlations, correlations - factor[s] * factor[t])
    )
    return left > max(LEFT * total, SURE_ERRORS * math.sqrt(2 * len(s)))
