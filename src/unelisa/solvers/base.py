"""The solver seam: every voter's l1-penalised logistic regression, stated once for all voters.

For every voter s minimise (3.6), with the sign of its first sum mended, over theta_s and b_s::

    (1/W_s) sum_i w_i log(1 + exp(-2 f_is z_is)) + lambda_s sum_t r_st |theta_st|
    z_is = b_s + sum_{t != s} theta_st f_it + a_s x_i

The sum runs over the items on which s voted (f_is != 0), W_s = sum of their weights w_i; b_s and
a_s carry no penalty. A vote of 0 in another voter's column (abstained) adds nothing to z.

A voter whose votes are all equal, or who never voted on an item with weight, has no regression: its
optimum is at infinity. It leaves the design: its row and its column of theta are 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks, WholeTable, as_dense
from unelisa.errors import ConvergenceWarning, ModelError, warn_user

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class L1Problem:
    """All voters' regressions together.

    Attributes
    ----------
    votes
        Items x voters, int8 in {-1, 0, +1}: blocks, or a table in memory.
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
    names
        What a warning calls the voters, or None for their numbers.
    """

    votes: ItemBlocks | NDArray[np.int8]
    penalties: Floats
    fit_intercept: bool = True
    tol: float = 1e-3
    penalty_weights: Floats | None = None
    item_weights: Floats | None = None
    column: Floats | None = None
    start: "L1Solution | None" = None
    n_jobs: int | None = None
    names: Sequence[str] | None = None

    @cached_property
    def blocks(self) -> ItemBlocks:
        """The votes in blocks; a table is one block, with one voter contiguous."""
        votes = self.votes
        return WholeTable(as_dense(votes)) if isinstance(votes, np.ndarray) else votes

    def __post_init__(self) -> None:
        """Refuse what has no minimiser or no meaning."""
        n_items, n_voters = self.votes.shape
        expected = {
            "penalties": (n_voters,),
            "penalty_weights": (n_voters, n_voters),
            "item_weights": (n_items,),
            "column": (n_items,),
        }
        for field, shape in expected.items():
            value = getattr(self, field)
            if value is not None and value.shape != shape:
                raise ModelError(f"{field} must have shape {shape}, found {value.shape}")
        if not np.all((self.penalties > 0) & np.isfinite(self.penalties)):
            raise ModelError("penalties must be positive and finite")
        if self.penalty_weights is not None and not np.all(self.penalty_weights >= 0):
            raise ModelError("penalty_weights must be zero, positive or infinite")
        if self.item_weights is not None and not np.all(
            (self.item_weights >= 0) & np.isfinite(self.item_weights)
        ):
            raise ModelError("item_weights must be zero or positive and finite")
        if self.column is not None and not np.all(np.isfinite(self.column)):
            raise ModelError("column must be finite")


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

    def copy(self) -> "L1Solution":
        """Return a solution with arrays of its own."""
        return L1Solution(*(array.copy() for array in vars(self).values()))

    def missed(self, tol: float) -> NDArray[np.intp]:
        """Return the voters whose certificate is worse than `tol`."""
        return np.flatnonzero(~(self.kkt <= tol))


def warn_missed(problem: L1Problem, solution: L1Solution) -> None:
    """Give a `ConvergenceWarning` that names the voters whose certificate misses the tolerance."""
    missed = solution.missed(problem.tol)
    if missed.size == 0:
        return
    shown = [str(s) if problem.names is None else problem.names[s] for s in missed[:10]]
    more = f" and {missed.size - 10} more" if missed.size > 10 else ""
    warn_user(
        f"the regressions of voters {', '.join(shown)}{more} missed the tolerance {problem.tol:g} "
        f"(worst {np.max(solution.kkt[missed]):.3g} lambda): raise tol or the penalty",
        ConvergenceWarning,
    )


class Solver(Protocol):
    """Anything that solves an `L1Problem`."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimiser for every voter, with its certificate."""
        ...
