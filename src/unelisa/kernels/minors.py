"""How far from rank one a covariance is around each pair of voters."""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]


@kernel
def sum_minors(covariance: Floats, witnesses: NDArray[np.intp]) -> Floats:
    """Return S_st = sum_{k != l} |r_st r_kl - r_sl r_kt| over witnesses k, l other than s, t.

    With p voters and m witnesses p^2 m^2 / 2 minors: 20 million, 30 ms, for 81 voters as their own
    witnesses. The left-out terms are masked, and l = k is taken off again, so that the inner loop
    has no branch and vectorises.
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
