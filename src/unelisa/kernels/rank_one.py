"""Covariances whose off-diagonal entries are nearly rank one: the nearest such matrix; minors."""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]


@kernel
def descend_rank_one(
    covariance: Floats, precision: Floats, bound: Floats, start: Floats, max_iter: int, tol: float
) -> tuple[Floats, int]:
    """Return v that minimizes sum_{s<t} w_st (r_st - v_s v_t)^2, |v_s| <= bound_s, and sweeps."""
    v = start.copy()
    for sweep in range(max_iter):
        moved = 0.0
        for s in range(len(v)):
            pull, curvature = 0.0, 0.0
            for low, high in ((0, s), (s + 1, len(v))):  # two loops without a branch vectorize
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


@kernel
def sum_minors(covariance: Floats, witnesses: NDArray[np.intp]) -> Floats:
    """Return S_st = sum_{k != l} |r_st r_kl - r_sl r_kt| over witnesses k, l other than s, t.

    Excluded terms are masked, and l = k is subtracted, so that the inner loop vectorizes.
    """
    n_voters, m = len(covariance), len(witnesses)
    seen = covariance[:, witnesses]
    among = seen[witnesses, :]
    place = np.full(n_voters, -1)
    for k in range(m):
        place[witnesses[k]] = k
    keep = np.ones(m)
    out = np.zeros((n_voters, n_voters))
    for s in range(n_voters):
        for t in range(s):
            for end in (s, t):
                if place[end] >= 0:
                    keep[place[end]] = 0.0
            total = 0.0
            for k in range(m):
                r, q, row = covariance[s, t], seen[t, k], 0.0
                for j in range(m):
                    row += keep[j] * abs(r * among[k, j] - seen[s, j] * q)
                row -= keep[k] * abs(r * among[k, k] - seen[s, k] * q)
                total += keep[k] * row
            out[s, t] = out[t, s] = total
            for end in (s, t):
                if place[end] >= 0:
                    keep[place[end]] = 1.0
    return out
