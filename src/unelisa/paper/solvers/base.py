"""Every voter's l1-penalized logistic regression: the problem, its solution and its certificate.

For every voter s minimize (3.6), with the sign of its first sum corrected, over theta_s and b_s::

    (1/W_s) sum_i w_i log(1 + exp(-2 f_is z_is)) + lambda_s sum_t |theta_st|
    z_is = b_s + sum_{t != s} theta_st f_it

The sum runs over the items on which s voted (f_is != 0), W_s = sum of their weights w_i; b_s is not
penalized. A missing vote of another voter (0) adds nothing to z.

A constant voter, or one who never voted on an item with positive weight, has no regression: its
optimum is at infinity. It leaves the design: its row and its column of theta are 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ConvergenceWarning, ModelError, warn_user
from unelisa.votes.blocks import ItemBlocks, WholeTable, as_dense

Floats = NDArray[np.float64]

ROWS = 4096  # items at a time: 4,096 items x 1,400 voters in float64 are 46 MB


@dataclass(frozen=True)
class L1Problem:
    """All voters' regressions together."""

    # items x voters, int8 in {-1, 0, +1}: blocks, or a table in memory
    votes: ItemBlocks | NDArray[np.int8]
    penalties: Floats  # lambda_s per voter, in theta units (logit = 2 z)
    fit_intercept: bool = True  # whether b_s is fitted; otherwise it stays 0
    # largest accepted violation of the optimality conditions, in units of lambda_s
    tol: float = 1e-3
    item_weights: Floats | None = None  # w_i >= 0 per item, or None for ones
    n_jobs: int | None = None  # number of threads, as in scikit-learn
    names: Sequence[str] | None = None  # the voters' names in warnings, or None for their indices

    @cached_property
    def blocks(self) -> ItemBlocks:
        """The votes in blocks; a table is one block, with one voter contiguous."""
        votes = self.votes
        return WholeTable(as_dense(votes)) if isinstance(votes, np.ndarray) else votes

    def __post_init__(self) -> None:
        """Raise `ModelError` unless the problem has a minimizer."""
        n_items, n_voters = self.votes.shape
        for field, shape in {"penalties": (n_voters,), "item_weights": (n_items,)}.items():
            value = getattr(self, field)
            if value is not None and value.shape != shape:
                raise ModelError(f"{field} must have shape {shape}, found {value.shape}")
        if not np.all((self.penalties > 0) & np.isfinite(self.penalties)):
            raise ModelError("penalties must be positive and finite")
        if self.item_weights is not None and not np.all(
            (self.item_weights >= 0) & np.isfinite(self.item_weights)
        ):
            raise ModelError("item_weights must be zero or positive and finite")


@dataclass(frozen=True)
class L1Solution:
    """The regressions' coefficients and the certificate that they are optimal."""

    weights: Floats  # theta_st, row s = voter s's regression, diagonal 0
    intercepts: Floats  # b_s per voter
    kkt: Floats  # largest violation of the optimality conditions per voter, in units of lambda_s
    n_iter: NDArray[np.int64]  # passes over the items per voter

    def copy(self) -> "L1Solution":
        """Return a solution with arrays of its own."""
        return L1Solution(*(array.copy() for array in vars(self).values()))

    def missed(self, tol: float) -> NDArray[np.intp]:
        """Return the voters whose certificate is worse than `tol`."""
        return np.flatnonzero(~(self.kkt <= tol))


class Solver(Protocol):
    """Anything that solves an `L1Problem`."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        ...


def warn_missed(problem: L1Problem, solution: L1Solution) -> None:
    """Emit a `ConvergenceWarning` that names the voters whose certificate exceeds the tolerance."""
    missed = solution.missed(problem.tol)
    if missed.size == 0:
        return
    shown = [str(s) if problem.names is None else problem.names[s] for s in missed[:10]]
    more = f" and {missed.size - 10} more" if missed.size > 10 else ""
    warn_user(
        f"the regressions of voters {', '.join(shown)}{more} did not reach the tolerance "
        f"{problem.tol:g} (worst violation {np.max(solution.kkt[missed]):.3g} lambda): raise tol "
        "or the penalty",
        ConvergenceWarning,
    )


def design_voters(problem: L1Problem) -> NDArray[np.bool_]:
    """Return which voters stay in the design: those with both votes on items of positive weight."""
    weights = np.ones(len(problem.votes)) if problem.item_weights is None else problem.item_weights
    signed, cast = problem.blocks.tally((weights > 0).astype(np.float64))
    return np.abs(signed) < cast


def scores(problem: L1Problem, weights: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
    """Return minus the loss's gradient in theta (row s: voter s) and in b.

    With design entries d_i it is (1/W_s) sum_i w_i d_i (f_is - tanh z_is) over the voter's items.
    """
    table = problem.blocks.table("the certificate by definition")
    n_items, n_voters = table.shape
    edges = np.zeros((n_voters, n_voters))
    ones, totals = np.zeros(n_voters), np.zeros(n_voters)
    for low in range(0, n_items, ROWS):
        votes = table[low : low + ROWS].astype(np.float64)
        z = votes @ weights.T + intercepts
        counted = np.abs(votes)
        if problem.item_weights is not None:
            counted *= problem.item_weights[low : low + ROWS, None]
        residual = counted * (votes - np.tanh(z))
        edges += residual.T @ votes
        ones += residual.sum(axis=0)
        totals += counted.sum(axis=0)
    totals[totals == 0] = 1.0
    return edges / totals[:, None], ones / totals


def optimality(problem: L1Problem, weights: Floats, intercepts: Floats) -> Floats:
    """Return the largest violation of the optimality conditions per voter, in units of lambda_s.

    |score - lambda sign(theta)| where theta is not 0, and the excess of |score| over lambda where
    it is; |score| for the intercept. In float64, slow, and independent of how a solution was found.
    Voters outside the design have no conditions.
    """
    edges, ones = scores(problem, weights, intercepts)
    inside, penalties = design_voters(problem), problem.penalties[:, None]
    moved = np.abs(edges - penalties * np.sign(weights))
    excess = np.where(weights != 0, moved, np.maximum(np.abs(edges) - penalties, 0.0)) / penalties
    np.fill_diagonal(excess, 0.0)
    kkt = np.max(excess, axis=1, where=inside[None, :], initial=0.0)
    if problem.fit_intercept:
        kkt = np.maximum(kkt, np.abs(ones) / problem.penalties)
    return np.where(inside, kkt, 0.0)
