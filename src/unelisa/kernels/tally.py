"""The two sums over votes that every aggregator is made of.

Both read int8 votes voter by voter, so that nothing of the size of the votes is ever copied, and
both add in a fixed order, so that the same votes give the same bits.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel


@kernel
def weigh_votes(
    values: NDArray[np.int8],
    signed: NDArray[np.float64],
    observed: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return per item sum_s signed_s f_is + observed_s |f_is|: an abstention adds nothing."""
    n_items, n_voters = values.shape
    out = np.zeros(n_items)
    for s in range(n_voters):
        a, b = signed[s], observed[s]
        if a == 0.0 and b == 0.0:
            continue
        for i in range(n_items):
            f = np.float64(values[i, s])
            out[i] += a * f + b * f * f
    return out


@kernel
def tally_votes(
    values: NDArray[np.int8], x: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
    n_items, n_voters = values.shape
    signed, observed = np.zeros(n_voters), np.zeros(n_voters)
    for s in range(n_voters):
        a, b = 0.0, 0.0
        for i in range(n_items):
            f = np.float64(values[i, s])
            a += x[i] * f
            b += x[i] * f * f
        signed[s], observed[s] = a, b
    return signed, observed
