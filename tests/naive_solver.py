"""Slow, obvious versions of the solver's sums, and problems that are hard for solvers."""

from dataclasses import dataclass, replace

import numpy as np

from unelisa.paper.solvers import L1Problem, L1Solution, optimality
from unelisa.paper.solvers.base import design_voters, scores, warn_missed


def agreements(votes):
    votes = votes.astype(float)
    return votes.T @ votes


def design(votes, members):
    """Members' votes, then ones."""
    return np.column_stack([votes[:, members].astype(float), np.ones(len(votes))])


def residuals(votes, s, logits):
    own = votes[:, s].astype(float)
    return own - own**2 * np.tanh(logits)


def loss(votes, s, logits):
    own = votes[:, s].astype(float)
    return np.sum((own != 0) * np.logaddexp(0.0, -2.0 * own * logits))


def lasso_step(hessian, score, theta, limits, n_steps=200_000):
    """The minimizer of -g'd + d'Hd/2 + sum limit |theta + d| by plain proximal gradient."""
    limits = np.concatenate([limits, np.zeros(len(score) - len(limits))])
    theta = np.concatenate([theta, np.zeros(len(score) - len(theta))])
    step, rate = np.zeros(len(score)), 1.0 / max(np.linalg.eigvalsh(hessian)[-1], 1e-9)
    for _ in range(n_steps):
        moved = theta + step + rate * (score - hessian @ step)
        new = np.sign(moved) * np.maximum(np.abs(moved) - rate * limits, 0.0) - theta
        if np.max(np.abs(new - step)) < 1e-13:
            break
        step = new
    return step


@dataclass(frozen=True)
class ProximalGradient:
    """The slow, obvious solver: Nesterov's method with restarts, all voters in one matrix.

    Beck and Teboulle 2009; O'Donoghue and Candes 2015.
    """

    max_iter: int = 20_000

    def solve(self, problem):
        """Return the minimizer for every voter, with its certificate."""
        steps, inside = _steps(problem), design_voters(problem)
        n_voters = len(inside)
        # rows are voters, columns the other voters and the intercept
        allowed = np.outer(inside, np.append(inside, problem.fit_intercept)) > 0
        np.fill_diagonal(allowed, False)
        limits = steps * problem.penalties[:, None] * (np.arange(n_voters + 1) < n_voters)
        momentum = np.ones(n_voters)
        point = np.zeros((n_voters, n_voters + 1))
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


def _steps(problem):
    """Return 1 / the largest curvature per voter, which is that at z = 0, where 1 - tanh^2 = 1."""
    votes = problem.votes.astype(np.float64)
    columns = np.column_stack([votes, np.ones(len(votes))])
    largest = float(np.linalg.eigvalsh(columns.T @ columns)[-1])
    return np.abs(votes).sum(axis=0)[:, None] / (largest if largest > 0 else 1.0)


def ebic_path(problem, gamma, n_penalties, ratio):
    """Every penalty solved from scratch, then EBIC computed plainly."""
    votes = problem.votes.astype(float)
    n_items, n_voters = votes.shape
    null = np.arctanh(votes.mean(axis=0))
    start, _ = scores(problem, np.zeros((n_voters, n_voters)), null)
    np.fill_diagonal(start, 0.0)
    largest = np.abs(start).max(axis=1)
    best, chosen = np.full(n_voters, np.inf), np.zeros(n_voters)
    weights = np.zeros((n_voters, n_voters))
    for share in np.geomspace(1.0, ratio, n_penalties):
        here = replace(problem, penalties=largest * share, tol=1e-5)
        solution = ProximalGradient().solve(here)
        logits = votes @ solution.weights.T + solution.intercepts
        minus_twice = 2 * np.logaddexp(0.0, -2.0 * votes * logits).sum(axis=0)
        n_edges = (solution.weights != 0).sum(axis=1)
        ebic = minus_twice + n_edges * (np.log(n_items) + 2 * gamma * np.log(n_voters - 1))
        better = ebic < best
        best[better], chosen[better] = ebic[better], here.penalties[better]
        weights[better] = solution.weights[better]
    return weights, chosen


def _duplicate(votes, rng):
    votes[:, 1] = votes[:, 2] = votes[:, 0]


def _oppose(votes, rng):
    votes[:, 1] = -votes[:, 0]


def _fix(votes, rng):
    votes[:, 0], votes[:, 1] = 1, -1


def _nest(votes, rng):
    trait = rng.standard_normal((len(votes), 1))
    votes[:] = np.where(trait > np.linspace(-1, 1, votes.shape[1]), 1, -1)


def _separate(votes, rng):
    votes[:] = votes[:, :1]
    votes[: len(votes) // 20] = -1


def _rarefy(votes, rng):
    votes[:] = np.where(rng.random(votes.shape) < 0.05, 1, -1)


def _abstain(votes, rng):
    votes[rng.random(votes.shape) < 0.4] = 0
    votes[:, 0] *= rng.random(len(votes)) < 0.1


def _silence(votes, rng):
    votes[:, 0] = 0
    votes[rng.random(len(votes)) < 0.3] = 0


CHANGES = {
    "ordinary": lambda votes, rng: None,
    "constant": _fix,
    "duplicated": _duplicate,
    "opposite": _oppose,
    "nested": _nest,
    "separable": _separate,
    "rare": _rarefy,
    "abstaining": _abstain,
    "all abstained": _silence,
}
SIZES = {"more voters than items": 4, "one item": 1}
KINDS = (*CHANGES, *SIZES)


def hard_votes(kind, rng, n_voters=6):
    """Votes of the stated kind of difficulty, Fortran order."""
    n_items = SIZES.get(kind, 60)
    trait = rng.standard_normal((n_items, 1))
    votes = np.where(trait + rng.standard_normal((n_items, n_voters)) > 0, 1, -1)
    if kind in CHANGES:
        CHANGES[kind](votes, rng)
    return np.asfortranarray(votes.astype(np.int8))


def hard_problem(kind, seed, intercept=True):
    """A problem of the stated kind, without intercepts if asked."""
    rng = np.random.default_rng(seed)
    votes = hard_votes(kind, rng)
    return L1Problem(votes, rng.uniform(0.03, 0.2, votes.shape[1]), fit_intercept=intercept)
