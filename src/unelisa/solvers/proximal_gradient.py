"""The slow, obvious solver: accelerated proximal gradient, float64, plain NumPy.

Nesterov's method with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), all voters in
one matrix. It exists to be checked against: it holds the votes in float64.
"""

from dataclasses import dataclass

import numpy as np

from unelisa.solvers.base import Floats, L1Problem, L1Solution, warn_missed
from unelisa.solvers.optimality import column_scale, design_voters, optimality


@dataclass(frozen=True)
class _Design:
    """The regressions in matrix form: parameters are voters, then intercept, then column."""

    columns: Floats  # items x parameters
    answers: Floats  # items x voters
    counted: Floats  # w_i / W_s where s voted, items x voters
    limits: Floats  # lambda_s r_st, 0 for the unpenalised
    allowed: Floats  # 1 where a parameter is free, else 0
    steps: Floats  # 1 / the largest curvature, per voter


def _state(problem: L1Problem) -> _Design:
    """Return the matrices; curvature is at most that of the loss at z = 0, where 1 - tanh^2 = 1."""
    n_items, n_voters = problem.votes.shape
    inside = design_voters(problem).astype(np.float64)
    votes = problem.blocks.table("proximal_gradient").astype(np.float64)
    ones = np.full((n_items, 1), float(problem.fit_intercept))
    extra = np.zeros(n_items) if problem.column is None else problem.column / column_scale(problem)
    columns = np.hstack([votes * inside, ones, extra[:, None]])
    item_weights = np.ones(n_items) if problem.item_weights is None else problem.item_weights
    counted = item_weights[:, None] * np.abs(votes) * inside
    totals = counted.sum(axis=0)
    totals[totals == 0] = 1.0
    limits = np.zeros((n_voters, n_voters + 2))
    ratios = 1.0 if problem.penalty_weights is None else problem.penalty_weights
    limits[:, :n_voters] = problem.penalties[:, None] * ratios
    allowed = np.isfinite(limits) * inside[:, None] * (1.0 - np.eye(n_voters, n_voters + 2))
    gram = columns.T @ (item_weights[:, None] * columns)
    largest = float(np.linalg.eigvalsh(gram)[-1]) if n_items else 0.0
    steps = totals / (largest if largest > 0 else 1.0)
    finite = np.where(np.isfinite(limits), limits, 0.0)
    return _Design(columns, votes, counted / totals, finite, allowed, steps)


def _gradient_step(design: _Design, point: Floats) -> Floats:
    """Return the soft-thresholded gradient step from `point` (rows: voters)."""
    residual = design.counted * (design.answers - np.tanh(design.columns @ point.T))
    moved = point + design.steps[:, None] * (residual.T @ design.columns)
    shrunk = np.abs(moved) - design.steps[:, None] * design.limits
    return design.allowed * np.sign(moved) * np.maximum(shrunk, 0.0)


@dataclass(frozen=True)
class ProximalGradient:
    """Solve every voter's regression by accelerated proximal gradient.

    Attributes
    ----------
    max_iter
        Steps before giving up with a `ConvergenceWarning`.
    """

    max_iter: int = 20_000

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimiser for every voter, with its certificate."""
        design = _state(problem)
        scale = column_scale(problem)
        point = _start(problem, scale) * design.allowed
        ahead, momentum = point.copy(), np.ones(len(point))
        for step in range(1, self.max_iter + 1):
            new = _gradient_step(design, ahead)
            # a voter whose step turned back starts its momentum afresh
            back = np.sum((ahead - new) * (new - point), axis=1) > 0
            momentum[back] = 1.0
            grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = new + ((momentum - 1.0) / grown)[:, None] * (new - point)
            point, momentum = new, grown
            if step % 10 == 0 or step == self.max_iter:
                solution = _solution(problem, point, scale, step)
                if np.all(solution.kkt <= problem.tol):
                    break
        warn_missed(problem, solution)
        return solution


def _start(problem: L1Problem, scale: float) -> Floats:
    """Return the starting point: the warm start, or zeros."""
    n_voters = problem.votes.shape[1]
    point = np.zeros((n_voters, n_voters + 2))
    if problem.start is not None:
        point[:, :n_voters] = problem.start.weights
        point[:, n_voters] = problem.start.intercepts
        point[:, n_voters + 1] = problem.start.column_weights * scale
    return point


def _solution(problem: L1Problem, point: Floats, scale: float, n_iter: int) -> L1Solution:
    """Return the point as a solution with its certificate."""
    n_voters = len(point)
    weights, intercepts = point[:, :n_voters].copy(), point[:, n_voters].copy()
    column_weights = point[:, n_voters + 1] / scale
    kkt = optimality(problem, weights, intercepts, column_weights)
    counts = np.full(n_voters, n_iter, dtype=np.int64)
    return L1Solution(weights, intercepts, column_weights, kkt, counts)
