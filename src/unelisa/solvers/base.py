"""The solver seam: every voter's l1-penalised logistic regression, stated once for all voters.

For every voter s minimise (3.6), with the sign of its first sum mended, over theta_s and b_s::

    (1/W_s) sum_i w_i log(1 + exp(-2 f_is z_is)) + lambda_s sum_t r_st |theta_st|
    z_is = b_s + sum_{t != s} theta_st f_it + a_s x_i

The sum runs over the items on which s voted (f_is != 0), W_s = sum of their weights w_i; b_s and
a_s carry no penalty. A vote of 0 in another voter's column (abstained) adds nothing to z.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class L1Problem:
    """All voters' regressions together.

    Attributes
    ----------
    votes
        Items x voters, int8 in {-1, 0, +1}, one voter contiguous (Fortran order).
    penalties
        lambda_s per voter, in theta units (logit = 2 z).
    fit_intercept
        Whether b_s is fitted; otherwise it stays 0.
    tol
        Largest violation of the optimality conditions that is accepted, in units of lambda_s.
    penalty_weights
        r_st per ordered pair (row s: voter s's regression), or None for ones.
        Zero leaves an edge unpenalised, infinity forbids it.
    item_weights
        w_i >= 0 per item, or None for ones.
    column
        x_i, one extra dense column with an unpenalised coefficient per voter, or None.
    start
        A solution to warm-start from, or None.
    n_jobs
        Threads, counted as scikit-learn does.
    """

    votes: NDArray[np.int8]
    penalties: Floats
    fit_intercept: bool = True
    tol: float = 1e-3
    penalty_weights: Floats | None = None
    item_weights: Floats | None = None
    column: Floats | None = None
    start: "L1Solution | None" = None
    n_jobs: int | None = None


@dataclass(frozen=True)
class L1Solution:
    """The regressions' coefficients and the certificate that they are optimal.

    Attributes
    ----------
    weights
        theta_st, row s = voter s's regression, diagonal 0.
    intercepts
        b_s per voter.
    column_weights
        a_s per voter; zeros where the problem has no extra column.
    kkt
        Largest violation of the optimality conditions per voter, in units of lambda_s.
    n_iter
        Passes over the items per voter.
    """

    weights: Floats
    intercepts: Floats
    column_weights: Floats
    kkt: Floats
    n_iter: NDArray[np.int64]


class Solver(Protocol):
    """Anything that solves an `L1Problem`."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimiser for every voter, with its certificate."""
        ...
