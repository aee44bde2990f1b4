"""The optimality conditions of every voter's regression, in float64 on the problem as stated.

This is the certificate's definition: slow, plain and independent of how a solution was found.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.solvers.base import Floats, L1Problem

WHO = "the certificate by definition"
ROWS = 4096  # 4,096 items x 1,400 voters in float64 are 46 MB


def design_voters(problem: L1Problem) -> NDArray[np.bool_]:
    """Return which voters stay in the design: those with two different votes among their own."""
    votes, weights = problem.blocks.table(WHO), problem.item_weights
    n_voters = votes.shape[1]
    above, below = np.zeros(n_voters, bool), np.zeros(n_voters, bool)
    for low in range(0, votes.shape[0], ROWS):
        rows = votes[low : low + ROWS]
        if weights is not None:
            rows = rows[weights[low : low + ROWS] > 0]
        above |= np.any(rows > 0, axis=0)
        below |= np.any(rows < 0, axis=0)
    return above & below


def slopes(
    problem: L1Problem, weights: Floats, intercepts: Floats, column_weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return minus the loss's derivative in theta (row s: voter s), in b and in a.

    For voter s and parameter u with design entries d_i it is
    (1/W_s) sum_i w_i d_i (f_is - tanh z_is) over the items on which s voted; z as in `base`.
    """
    table = problem.blocks.table(WHO)
    n_items, n_voters = table.shape
    edges = np.zeros((n_voters, n_voters))
    ones, column, totals = np.zeros(n_voters), np.zeros(n_voters), np.zeros(n_voters)
    for low in range(0, n_items, ROWS):
        rows = slice(low, low + ROWS)
        votes = table[rows].astype(np.float64)
        z = votes @ weights.T + intercepts
        if problem.column is not None:
            z += np.outer(problem.column[rows], column_weights)
        counted = np.abs(votes)
        if problem.item_weights is not None:
            counted *= problem.item_weights[rows, None]
        residual = counted * (votes - np.tanh(z))
        edges += residual.T @ votes
        ones += residual.sum(axis=0)
        if problem.column is not None:
            column += problem.column[rows] @ residual
        totals += counted.sum(axis=0)
    totals[totals == 0] = 1.0
    return edges / totals[:, None], ones / totals, column / totals


def column_scale(problem: L1Problem) -> float:
    """Return the root mean square of the extra column (1 without one): the unit of its slope."""
    if problem.column is None or problem.column.size == 0:
        return 1.0
    weights = problem.item_weights
    if weights is not None and not weights.any():
        weights = None
    square = float(np.average(problem.column**2, weights=weights))
    return square**0.5 if square > 0 else 1.0


def violations(
    problem: L1Problem, voters: NDArray[np.intp], slope: Floats, weights: Floats
) -> Floats:
    """Return how far each pair is from optimal, in units of lambda, for the rows `voters`.

    With r_st the penalty weight: |slope - lambda r sign(theta)| where theta is not 0, and the
    excess of |slope| over lambda r where it is; 0 on the diagonal.
    """
    limit = problem.penalties[voters, None]
    if problem.penalty_weights is not None:
        with np.errstate(invalid="ignore"):
            limit = limit * problem.penalty_weights[voters]
    with np.errstate(invalid="ignore"):
        moved = np.abs(slope - limit * np.sign(weights))
    excess = np.where(weights != 0, moved, np.maximum(np.abs(slope) - limit, 0.0))
    excess[np.arange(len(voters)), voters] = 0.0
    return excess / problem.penalties[voters, None]


def optimality(
    problem: L1Problem, weights: Floats, intercepts: Floats, column_weights: Floats
) -> Floats:
    """Return the largest violation of the optimality conditions per voter, in units of lambda_s.

    Float64, in blocks of rows, on the problem as stated. The slope in the extra column's
    coefficient is measured per root mean square of that column, so its unit does not matter.
    Voters outside the design have no conditions, and none is asked about them.
    """
    n_voters = problem.votes.shape[1]
    edges, ones, column = slopes(problem, weights, intercepts, column_weights)
    inside = design_voters(problem)
    excess = violations(problem, np.arange(n_voters), edges, weights)
    kkt = np.max(excess, axis=1, where=inside[None, :], initial=0.0)
    if problem.fit_intercept:
        kkt = np.maximum(kkt, np.abs(ones) / problem.penalties)
    if problem.column is not None:
        kkt = np.maximum(kkt, np.abs(column) / column_scale(problem) / problem.penalties)
    return np.where(inside, kkt, 0.0)
