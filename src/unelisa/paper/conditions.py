"""The best graph without the truth, (3.3) and (3.4), and when it can be learned: (A1) and (A2).

A distribution over p voters is a tensor with one axis of length 2 per voter; its Walsh-Hadamard
transform holds the moments of all subsets, whose products are symmetric differences (f^2 = 1).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from unelisa.errors import ConvergenceWarning, ModelError, VotesError, VotesWarning, warn_user
from unelisa.paper.ising import Ising, linear, log_weights
from unelisa.paper.neighborhood import Neighborhoods, select_neighborhoods
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_TOLERANCE = 1e-10  # largest mismatch of moments that a projection may keep
SINGULAR = 1e-6  # a smallest eigenvalue below this counts as zero, as between copies
ROWS = 4096  # items at a time


def approximate_edges(model: Ising) -> Floats:
    """Return θ̃ of Lemma 3.1 as printed, p x p, exact for two experts only (see `project`).

    Between experts θ̃_rt = 1/2 log(cosh(θ_0r + θ_0t) / cosh(θ_0r - θ_0t)), plus an edge that (G3)
    forbids; elsewhere θ̃_rt = θ_rt.
    """
    link = model.edges[0, 1:]
    both, opposite = (np.logaddexp(x, -x) for x in (link[:, None] + link, link[:, None] - link))
    siblings = 0.5 * (both - opposite)
    np.fill_diagonal(siblings, 0.0)
    return np.asarray(model.edges[1:, 1:] + siblings)


def project(model: Ising) -> Floats:
    """Return θ̃ of (3.4), p x p: the edges that minimize KL(P̃ || Q), by Newton's method.

    The minimizer matches every pair moment of P̃. Lemma 3.1 differs from three experts on, and from
    four on its θ̃ = θ* fails for a non-expert with three of them as neighbors.
    """
    p = model.n_voters
    pairs, bits = np.triu_indices(p, 1), 1 << np.arange(p)[::-1]
    subsets = bits[pairs[0]] | bits[pairs[1]]  # where `subset_moments` has the pairs
    wanted = subset_moments(model.marginal())[subsets]

    def edges_of(theta: Floats) -> Floats:
        edges = np.zeros((p, p))
        edges[pairs] = theta
        return edges + edges.T

    def energy(theta: Floats) -> Floats:
        return log_weights(np.zeros(p), edges_of(theta))

    return edges_of(_match_moments(energy, subsets, wanted))


def _match_moments(energy: Callable[[Floats], Floats], subsets: Indices, wanted: Floats) -> Floats:
    """Return the minimizer of A(θ̃) - θ̃'μ, by Newton steps with Armijo backtracking."""

    def objective(at: Floats) -> float:
        return float(logsumexp(energy(at)) - at @ wanted)

    theta = np.zeros(len(subsets))
    for _ in range(100):
        moments = subset_moments(softmax(energy(theta)))
        means = moments[subsets]
        gradient = means - wanted
        if np.max(np.abs(gradient), initial=0.0) <= _TOLERANCE:
            return theta
        # A small ridge keeps the system solvable when strong edges make moments nearly equal.
        hessian = moments[subsets[:, None] ^ subsets] - np.outer(means, means)
        direction = -np.linalg.solve(hessian + 1e-13 * np.eye(len(theta)), gradient)
        # 1e-13 is the objective's rounding: without it the last, tiny steps would be rejected.
        ceiling, descent, step = objective(theta) + 1e-13, 1e-4 * float(gradient @ direction), 1.0
        while step > 1e-9 and objective(theta + step * direction) > ceiling + step * descent:
            step /= 2
        theta = theta + step * direction
    warn_user("the projection did not match all moments within 100 iterations", ConvergenceWarning)
    return theta


def subset_moments(weights: Floats) -> Floats:
    """Return sum_f w(f) prod_{s in A} f_s for all subsets A; axis s is bit p - 1 - s of A."""
    moments = weights.copy()
    for axis in range(weights.ndim):
        lanes = moments.reshape(2**axis, 2, -1)
        minus, plus = lanes[:, 0], lanes[:, 1]
        lanes[:, 0], lanes[:, 1] = minus + plus, plus - minus
    return moments.ravel()


class Assumptions(NamedTuple):
    """The constants of (A1) and (A2), one per voter.

    (A1) holds where c_min > 0 and (A2) where alpha > 0; the larger, the fewer items are needed.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> found = ue.Assumptions(np.array([0.4, 0.0]), np.array([2.0, 2.0]), np.array([0.5, -np.inf]))
    >>> found.holds.tolist()
    [True, False]
    """

    c_min: Floats  # the smallest eigenvalue of I_NN, infinite without neighbors
    lambda_max: Floats  # the largest eigenvalue of E f f' over the other voters
    alpha: Floats  # 1 - ||I_N'N I_NN^-1||_inf, with N' the voters outside the neighborhood

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Return per voter whether both assumptions hold."""
        return np.asarray((self.c_min > SINGULAR) & (self.alpha > 0))


def fisher_information(edges: Floats, voter: int, votes: Any = None) -> Floats:
    """Return I_s = E[h(f) f_rest f_rest'] under Q_θ̃, with h = 1 - tanh^2(sum_t θ̃_st f_t).

    `edges` is θ̃, p x p; rows and columns of the result are the other voters, in order. With
    `votes`, the expectation is the average over the items on which the voter voted.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> ue.fisher_information(np.zeros((3, 3)), 0).round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    edges, p = np.asarray(edges, dtype=np.float64), len(edges)
    alike = edges.shape == (p, p) and np.allclose(edges, edges.T) and not np.diag(edges).any()
    if not (alike and np.isfinite(edges).all()):
        raise ModelError("edges must be p x p, finite and symmetric, with a zero diagonal")
    if voter not in range(p):
        raise ModelError(f"voter must be in 0..{p - 1}, found {voter!r}")
    if votes is not None:
        votes = Votes.accept(votes)
        if votes.n_voters != p or len(votes.classes) > 2:
            raise VotesError(f"votes must be those of the {p} voters of edges, in two classes")
        table = votes.blocks.table("the Fisher information of the votes")
        return _average(table, voter, edges[voter])[0]
    density = softmax(log_weights(np.zeros(len(edges)), edges))
    curvature = 1 - np.tanh(linear(0.0, edges[voter])) ** 2
    return _pair_moments(density * curvature, voter)


def check_assumptions(model: Ising, *, closed_form: bool = False) -> Assumptions:
    """Return the constants of (A1) and (A2) for every voter of a model.

    Q_θ̃ is the true projection, or that of Lemma 3.1 if `closed_form`; neighborhoods are the Ñ_s.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> star = np.zeros((4, 4))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> ue.check_assumptions(ue.Ising(0.0, star)).alpha.tolist()
    [1.0, 1.0, 1.0]
    """
    edges = approximate_edges(model) if closed_form else project(model)
    density = softmax(log_weights(np.zeros(len(edges)), edges))
    rows = []
    for s, hood in enumerate(model.effective_neighborhoods):
        near = np.isin(np.delete(np.arange(model.n_voters), s), hood)
        rows.append(_constants(fisher_information(edges, s), _pair_moments(density, s), near))
    return Assumptions(*np.array(rows).T)


def estimate_assumptions(votes: Any, neighborhoods: Neighborhoods | None = None) -> Assumptions:
    """Return the constants of (A1) and (A2) for every voter, estimated from votes.

    Expectations are averages over the items on which the voter voted; θ̃ and the neighborhoods are
    by default those of `select_neighborhoods(votes, fit_intercept=False)`. Neighbors that were
    missed are not checked. A warning names the voters for whom the assumptions fail.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(n_voters=25, n_experts=5, snr="high", random_state=1)
    >>> found = ue.estimate_assumptions(simulated.votes)
    >>> bool(found.holds.all()), round(float(found.alpha.min()), 2)
    (True, 0.27)
    """
    votes = Votes.accept(votes)
    if neighborhoods is None:
        neighborhoods = select_neighborhoods(votes, fit_intercept=False)
    table = votes.blocks.table("the Fisher information of the votes")
    rows = []
    for s, theta in enumerate(neighborhoods.weights):
        moments = _average(table, s, theta, float(neighborhoods.intercepts[s]))
        rows.append(_constants(*moments, np.delete(theta, s) != 0))
    found = Assumptions(*np.array(rows).reshape(-1, 3).T)
    failed = np.flatnonzero(~found.holds)
    if failed.size:
        names = ", ".join(str(votes.voters[s]) for s in failed[:10])
        more = f" and {failed.size - 10} more" if failed.size > 10 else ""
        warn_user(
            f"(A1) or (A2) fails for the estimated neighborhoods of {names}{more}: they may be "
            "wrong however many items there are",
            VotesWarning,
        )
    return found


def _average(
    table: NDArray[np.int8], voter: int, theta: Floats, intercept: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the means of h f_rest f_rest' and f_rest f_rest' over the voter's items."""
    others = np.delete(np.arange(table.shape[1]), voter)
    fisher, second = np.zeros((2, len(others), len(others)))
    count = 0.0
    for low in range(0, len(table), ROWS):
        block = table[low : low + ROWS]
        rest = block[block[:, voter] != 0][:, others].astype(np.float64)
        curvature = 1 - np.tanh(intercept + rest @ theta[others]) ** 2
        fisher += rest.T @ (curvature[:, None] * rest)
        second += rest.T @ rest
        count += len(rest)
    return fisher / max(count, 1.0), second / max(count, 1.0)


def _constants(fisher: Floats, second: Floats, near: NDArray[np.bool_]) -> tuple[float, ...]:
    """Return c_min, lambda_max and alpha of one voter, given which others are its neighbors."""
    inside, across = fisher[np.ix_(near, near)], fisher[np.ix_(near, ~near)]
    smallest = float(np.linalg.eigvalsh(inside).min(initial=np.inf))
    largest = float(np.linalg.eigvalsh(second).max(initial=0.0))
    if smallest <= SINGULAR:  # neighbors that determine each other explain whatever they like
        return smallest, largest, -np.inf
    spread = np.abs(np.linalg.solve(inside, across)).sum(axis=0)
    return smallest, largest, 1 - float(spread.max(initial=0.0))


def _pair_moments(weights: Floats, without: int) -> Floats:
    bits = np.delete(1 << np.arange(weights.ndim)[::-1], without)
    return np.asarray(subset_moments(weights)[bits[:, None] ^ bits])
