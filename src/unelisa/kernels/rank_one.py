"""The rank-one matrix nearest to the off-diagonal entries of a covariance."""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]


@kernel
def descend_rank_one(
    covariance: Floats,
    precision: Floats,
    bound: Floats,
    start: Floats,
    max_iter: int,
    tol: float,
) -> tuple[Floats, int]:
    """Return v that lowers sum_{s<t} w_st (r_st - v_s v_t)^2 from a start, and the sweeps made.

    One entry at a time: given the others the sum is a parabola in v_s, whose lowest point within
    |v_s| <= bound_s is taken, so no step can raise the sum. Stops when no entry moves by more than
    `tol`. Diagonal entries are never read; w must be 0 or more.
    """
    v = start.copy()
    for sweep in range(max_iter):
        moved = 0.0
        for s in range(len(v)):
            pull, curvature = 0.0, 0.0
            for low, high in ((0, s), (s + 1, len(v))):  # two loops without a branch vectorise
                for t in range(low, high):
                    weighed = precision[s, t] * v[t]
                    pull += weighed * covariance[s, t]
                    curvature += weighed * v[t]
            best = pull / curvature if curvature > 0.0 else 0.0
            best = min(max(best, -bound[s]), bound[s])
            moved = max(moved, abs(best - v[s]))
            v[s] = best
        if moved <= tol:
            return v, sweep + 1
    return v, max_iter
