"""The best approximation of the votes' distribution by a graph without the truth: (3.3), (3.4).

And the conditions (A1) and (A2) under which that graph can be learned.

A distribution over p voters is a tensor with one axis of length 2 per voter. Its Walsh-Hadamard
transform holds the moments of all subsets of voters; since f^2 = 1, the product of two subsets is
their symmetric difference, and Hessians are looked up there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from unelisa.errors import ConvergenceWarning, warn_user
from unelisa.paper.ising import Ising, linear, log_weights

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_TOLERANCE = 1e-10  # largest mismatch of moments that a projection may keep


def approximate_edges(model: Ising) -> Floats:
    """Return θ̃ of Lemma 3.1 as printed, p x p.

    Between experts θ̃_rt = 1/2 log(cosh(θ_0r + θ_0t) / cosh(θ_0r - θ_0t)): the printed sums factor,
    and θ_0 cancels. Elsewhere θ̃_rt = θ_rt; an edge between experts, which (G3) forbids, is added.
    The lemma is exact for two experts only; `project` gives the true minimizer.

    Examples
    --------
    >>> star = np.zeros((6, 6))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> bool(np.isclose(approximate_edges(Ising(0.0, star))[0, 1], 0.663, atol=5e-4))
    True
    """
    link = model.edges[0, 1:]
    both, opposite = (np.logaddexp(x, -x) for x in (link[:, None] + link, link[:, None] - link))
    siblings = 0.5 * (both - opposite)
    np.fill_diagonal(siblings, 0.0)
    return np.asarray(model.edges[1:, 1:] + siblings)


def project(model: Ising) -> Floats:
    """Return θ̃ of (3.4), p x p: the edges that minimize KL(P̃ || Q), by Newton's method.

    The minimizer of the convex A(θ̃) - sum_st θ̃_st E f_s f_t matches every pair moment of P̃. Lemma
    3.1 differs from it from three experts on, and from four on its θ̃ = θ* fails for a non-expert
    with three of them as neighbors.

    Examples
    --------
    >>> star = np.zeros((6, 6))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> bool(np.isclose(project(Ising(0.0, star))[0, 1], 0.292, atol=5e-4))
    True
    """
    p = model.n_voters
    pairs, bits = np.triu_indices(p, 1), 1 << np.arange(p)[::-1]
    subsets = bits[pairs[0]] | bits[pairs[1]]  # where `_moments` has the pairs
    wanted = _moments(model.marginal())[subsets]

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
        moments = _moments(softmax(energy(theta)))
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


def _moments(weights: Floats) -> Floats:
    """Return sum_f w(f) prod_{s in A} f_s for all subsets A; axis s is bit p - 1 - s of A."""
    moments = weights.copy()
    for axis in range(weights.ndim):
        lanes = moments.reshape(2**axis, 2, -1)
        minus, plus = lanes[:, 0], lanes[:, 1]
        lanes[:, 0], lanes[:, 1] = minus + plus, plus - minus
    return moments.ravel()


class Assumptions(NamedTuple):
    """The constants of (A1) and (A2), one per voter; they hold where c_min > 0 and alpha > 0."""

    c_min: Floats  # the smallest eigenvalue of I_NN, infinite without neighbors
    lambda_max: Floats  # the largest eigenvalue of E f f' over the other voters
    alpha: Floats  # 1 - ||I_N'N I_NN^-1||_inf, with N' the voters outside Ñ_s


def fisher_information(edges: Floats, voter: int) -> Floats:
    """Return I_s = E[h(f) f_rest f_rest'] under Q_θ̃, with h = 1 - tanh^2(sum_t θ̃_st f_t).

    `edges` is θ̃, p x p; rows and columns of the result are the other voters, in order.

    Examples
    --------
    >>> fisher_information(np.zeros((3, 3)), 0).round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    density = softmax(log_weights(np.zeros(len(edges)), edges))
    curvature = 1 - np.tanh(linear(0.0, edges[voter])) ** 2
    return _pair_moments(density * curvature, voter)


def check_assumptions(model: Ising, *, closed_form: bool = False) -> Assumptions:
    """Return the constants of (A1) and (A2) for every voter.

    Q_θ̃ is the true projection, or that of Lemma 3.1 if `closed_form`; neighborhoods are the Ñ_s.

    Examples
    --------
    >>> star = np.zeros((4, 4))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> check_assumptions(Ising(0.0, star)).alpha.tolist()
    [1.0, 1.0, 1.0]
    """
    edges = approximate_edges(model) if closed_form else project(model)
    density = softmax(log_weights(np.zeros(len(edges)), edges))
    rows = []
    for s, hood in enumerate(model.effective_neighborhoods):
        near = np.isin(np.delete(np.arange(model.n_voters), s), hood)
        fisher = fisher_information(edges, s)
        inside, across = fisher[np.ix_(near, near)], fisher[np.ix_(near, ~near)]
        spread = np.abs(np.linalg.solve(inside, across)).sum(axis=0)
        smallest = np.linalg.eigvalsh(inside).min(initial=np.inf)
        largest = np.linalg.eigvalsh(_pair_moments(density, s)).max(initial=0.0)
        rows.append((smallest, largest, 1 - spread.max(initial=0.0)))
    return Assumptions(*np.array(rows).T)


def _pair_moments(weights: Floats, without: int) -> Floats:
    bits = np.delete(1 << np.arange(weights.ndim)[::-1], without)
    return np.asarray(_moments(weights)[bits[:, None] ^ bits])
