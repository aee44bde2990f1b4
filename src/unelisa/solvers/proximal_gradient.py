"""The slow, obvious solver: accelerated proximal gradient, float64, plain NumPy.

Nesterov's method with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), all voters in
one matrix. It is a reference for the other solvers, and holds the votes in float64.
"""

from dataclasses import dataclass

import numpy as np

from unelisa.blocks import in_memory
from unelisa.solvers.base import (
    Floats,
    L1Problem,
    L1Solution,
    design_voters,
    optimality,
    warn_missed,
)


@dataclass(frozen=True)
class _Design:
    """The regressions in matrix form: parameters are voters, then the intercept."""

    columns: Floats  # items x parameters
    answers: Floats  # items x voters
    counted: Floats  # w_i / W_s where s voted, items x voters
    penalties: Floats  # voters x parameters: lambda_s, 0 for the intercept
    allowed: Floats  # 1 where a parameter is free, else 0
    steps: Floats  # 1 / the largest curvature, per voter

    @classmethod
    def of(cls, problem: L1Problem) -> "_Design":
        """Return the matrices; the curvature is largest at z = 0, where 1 - tanh^2 = 1."""
        n_items, n_voters = problem.votes.shape
        inside = design_voters(problem).astype(np.float64)
        votes = in_memory(problem.votes, "proximal_gradient").astype(np.float64)
        ones = np.full((n_items, 1), float(problem.fit_intercept))
        columns = np.hstack([votes * inside, ones])
        item_weights = np.ones(n_items) if problem.item_weights is None else problem.item_weights
        counted = item_weights[:, None] * np.abs(votes) * inside
        totals = counted.sum(axis=0)
        totals[totals == 0] = 1.0
        gram = columns.T @ (item_weights[:, None] * columns)
        largest = float(np.linalg.eigvalsh(gram)[-1]) if n_items else 0.0
        return cls(
            columns,
            votes,
            counted / totals,
            problem.penalties[:, None] * (np.arange(n_voters + 1) < n_voters),
            inside[:, None] * (1.0 - np.eye(n_voters, n_voters + 1)),
            totals / (largest if largest > 0 else 1.0),
        )

    def step(self, point: Floats) -> Floats:
        """Return the soft-thresholded gradient step from `point` (rows: voters)."""
        residual = self.counted * (self.answers - np.tanh(self.columns @ point.T))
        moved = point + self.steps[:, None] * (residual.T @ self.columns)
        shrunk = np.abs(moved) - self.steps[:, None] * self.penalties
        return self.allowed * np.sign(moved) * np.maximum(shrunk, 0.0)


@dataclass(frozen=True)
class ProximalGradient:
    """Solve every voter's regression by accelerated proximal gradient.

    Attributes
    ----------
    max_iter
        Limit on the number of iterations; reaching it emits a `ConvergenceWarning`.
    """

    max_iter: int = 20_000

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        design = _Design.of(problem)
        point = np.zeros_like(design.allowed)
        ahead, momentum = point.copy(), np.ones(len(point))
        for step in range(1, self.max_iter + 1):
            new = design.step(ahead)
            # a voter whose step turned back restarts its momentum
            back = np.sum((ahead - new) * (new - point), axis=1) > 0
            momentum[back] = 1.0
            grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = new + ((momentum - 1.0) / grown)[:, None] * (new - point)
            point, momentum = new, grown
            if step % 10 == 0 or step == self.max_iter:
                solution = _solution(problem, point, step)
                if np.all(solution.kkt <= problem.tol):
                    break
        warn_missed(problem, solution)
        return solution


def _solution(problem: L1Problem, point: Floats, n_iter: int) -> L1Solution:
    """Return the point as a solution with its certificate."""
    weights, intercepts = point[:, :-1].copy(), point[:, -1].copy()
    kkt = optimality(problem, weights, intercepts)
    return L1Solution(weights, intercepts, kkt, np.full(len(point), n_iter, dtype=np.int64))
