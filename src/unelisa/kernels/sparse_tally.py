"""The two sums of `tally` over sparse votes: those of voter s are votes[starts[s]:starts[s + 1]].

Same order of additions as there, so that the same votes give the same bits.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]


@kernel
def weigh_sparse(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    votes: NDArray[np.int8],
    n_items: int,
    signed: Floats,
    observed: Floats,
) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|."""
    out = np.zeros(n_items)
    for s in range(starts.size - 1):
        a, b = signed[s], observed[s]
        for k in range(starts[s], starts[s + 1]):
            f = np.float64(votes[k])
            out[items[k]] += a * f + b * f * f
    return out


@kernel
def tally_sparse(
    starts: NDArray[np.int64], items: NDArray[np.int32], votes: NDArray[np.int8], x: Floats
) -> tuple[Floats, Floats]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
    signed, observed = np.zeros(starts.size - 1), np.zeros(starts.size - 1)
    for s in range(starts.size - 1):
        a, b = 0.0, 0.0
        for k in range(starts[s], starts[s + 1]):
            f = np.float64(votes[k])
            a += x[items[k]] * f
            b += x[items[k]] * f * f
        signed[s], observed[s] = a, b
    return signed, observed
