"""The slow, obvious solver: accelerated proximal gradient, float64, plain NumPy.

Nesterov's method with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), all voters in
one matrix. It is a reference for the other solvers.
"""

from dataclasses import dataclass

import numpy as np

from unelisa.solvers.base import (
    Floats,
    L1Problem,
    L1Solution,
    design_voters,
    optimality,
    scores,
    warn_missed,
)


@dataclass(frozen=True)
class ProximalGradient:
    """Solve every voter's regression by accelerated proximal gradient."""

    # limit on the number of iterations; reaching it emits a `ConvergenceWarning`
    max_iter: int = 20_000

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        steps, inside = _steps(problem), design_voters(problem)
        n_voters = len(inside)
        # rows are voters, columns the other voters and the intercept
        allowed = np.outer(inside, np.append(inside, problem.fit_intercept)) > 0
        np.fill_diagonal(allowed, False)
        limits = steps * problem.penalties[:, None] * (np.arange(n_voters + 1) < n_voters)
        momentum = np.ones(n_voters)
        point: Floats = np.zeros((n_voters, n_voters + 1))
        ahead = point
        for step in range(1, self.max_iter + 1):
            gain = np.column_stack(scores(problem, ahead[:, :-1], ahead[:, -1]))
            moved = ahead + steps * gain
            shrunk = np.sign(moved) * np.maximum(np.abs(moved) - limits, 0.0)
            new = np.where(allowed, shrunk, 0.0)
            # a voter whose step turned back restarts its momentum
            momentum[np.sum((ahead - new) * (new - point), axis=1) > 0] = 1.0
            grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = new + ((momentum - 1.0) / grown)[:, None] * (new - point)
            point, momentum = new, grown
            if step % 10 == 0 or step == self.max_iter:
                kkt = optimality(problem, point[:, :-1], point[:, -1])
                if np.all(kkt <= problem.tol):
                    break
        n_iter = np.full(n_voters, step, dtype=np.int64)
        solution = L1Solution(point[:, :-1].copy(), point[:, -1].copy(), kkt, n_iter)
        warn_missed(problem, solution)
        return solution


def _steps(problem: L1Problem) -> Floats:
    """Return 1 / the largest curvature per voter, which is that at z = 0, where 1 - tanh^2 = 1."""
    votes = problem.blocks.table("proximal_gradient").astype(np.float64)
    weights = np.ones(len(votes)) if problem.item_weights is None else problem.item_weights
    columns = np.column_stack([votes, np.ones(len(votes))])
    largest = float(np.linalg.eigvalsh(columns.T @ (weights[:, None] * columns))[-1])
    return (weights @ np.abs(votes))[:, None] / (largest if largest > 0 else 1.0)
