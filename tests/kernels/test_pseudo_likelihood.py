import numpy as np
import pytest

import naive_latent
from unelisa.kernels import pseudo_likelihood

N_ITEMS, N_VOTERS = 40, 6


@pytest.fixture(params=[0.0, 0.4], ids=["complete", "missing"])
def case(request):
    rng = np.random.default_rng(3)
    values = rng.choice([-1, 1], size=(N_ITEMS, N_VOTERS)).astype(np.int8)
    values[rng.random(values.shape) < request.param] = 0
    edges = np.triu(rng.normal(size=(N_VOTERS, N_VOTERS)), 1)
    edges += edges.T
    biases, weights = rng.normal(size=N_VOTERS), rng.normal(size=N_VOTERS)
    posterior = rng.random(N_ITEMS)
    return values, edges, biases, weights, posterior


def kernel_arguments(case):
    values, edges, biases, weights, posterior = case
    votes = np.ascontiguousarray(values.T).astype(np.float32)
    predictors = (edges @ values.T + biases[:, None]).astype(np.float32)
    return votes, predictors, posterior.astype(np.float32), weights


def test_exp_and_log_are_accurate_and_no_votes_add_nothing():
    x = np.linspace(-30, 30, 997).astype(np.float32)
    powers = np.array([pseudo_likelihood.fast_exp(v) for v in x])
    assert np.max(np.abs(powers / np.exp(x.astype(np.float64)) - 1)) < 3e-6  # |x| eps included
    y = np.exp(np.linspace(-12, 40, 997)).astype(np.float32)
    logs = np.array([pseudo_likelihood.fast_log(v) for v in y])
    assert np.allclose(logs, np.log(y.astype(np.float64)), rtol=2e-7, atol=2e-7)
    votes = np.zeros((1, 5), np.float32)
    posterior, weights = np.full(5, 0.5, np.float32), np.ones(1)
    assert pseudo_likelihood.sum_expected_loss(votes, votes, posterior, weights) == 0.0
    assert pseudo_likelihood.sum_marginal_loss(votes, votes, posterior, weights) == (0.0, 0.0, 0.0)


def test_expected_loss_is_that_of_the_slow_twin(case):
    wanted = naive_latent.expected_loss(*case)
    assert pseudo_likelihood.sum_expected_loss(*kernel_arguments(case)) == pytest.approx(
        wanted, rel=1e-6
    )
    assert pseudo_likelihood.differentiate_expected_loss(*kernel_arguments(case))[
        0
    ] == pytest.approx(wanted, rel=1e-6)


def test_derivatives_are_finite_differences_of_the_loss(case):
    values, edges, biases, weights, posterior = case
    _, residuals, curvatures, cross_curvatures, weight_scores = (
        pseudo_likelihood.differentiate_expected_loss(*kernel_arguments(case))
    )
    step = 1e-4
    for s in range(N_VOTERS):
        unit = np.eye(N_VOTERS)[s] * step

        def loss(b, a, unit=unit):
            return naive_latent.expected_loss(
                values, edges, biases + b * unit, weights + a * unit, posterior
            )

        up, down, here = loss(1, 0), loss(-1, 0), loss(0, 0)
        assert residuals[s].sum() == pytest.approx(-(up - down) / (2 * step), abs=1e-4)
        assert curvatures[s].sum() == pytest.approx((up + down - 2 * here) / step**2, abs=1e-3)
        right, left = loss(0, 1), loss(0, -1)
        assert weight_scores[s] == pytest.approx(-(right - left) / (2 * step), abs=1e-4)
        mixed = (loss(1, 1) - loss(1, -1) - loss(-1, 1) + loss(-1, -1)) / (4 * step**2)
        assert cross_curvatures[s].sum() == pytest.approx(mixed, abs=1e-3)


N_PAIRED = 5


def make_model(rng):
    """A layout of seven pairs, one positive definite Hessian per voter, and gradient."""
    pairs = np.ones((N_PAIRED, N_PAIRED), bool)
    np.fill_diagonal(pairs, False)
    pairs[0, 1:4] = pairs[1:4, 0] = False
    layout = pseudo_likelihood.Layout.of(pairs)
    sides = np.diff(layout.rows)
    squares = []
    for side in sides:
        root = rng.normal(size=(side, side))
        squares.append((root @ root.T + side * np.eye(side)).astype(np.float32))
    hessians = np.concatenate([square.ravel() for square in squares])
    return layout, hessians, rng.normal(size=layout.rows[-1]), squares


def assemble(layout, squares, gradient):
    """The quadratic model over (edges, biases, weights): matrix and gradient."""
    n_pairs = len(layout.first)
    spread = np.zeros((layout.rows[-1], n_pairs + 2 * N_PAIRED))
    for e in range(n_pairs):
        spread[layout.rows[layout.first[e]] + layout.place_first[e], e] = 1
        spread[layout.rows[layout.second[e]] + layout.place_second[e], e] = 1
    for s in range(N_PAIRED):
        spread[layout.rows[s + 1] - 2, n_pairs + s] = 1
        spread[layout.rows[s + 1] - 1, n_pairs + N_PAIRED + s] = 1
    matrix = np.zeros((layout.rows[-1], layout.rows[-1]))
    for s, square in enumerate(squares):
        matrix[layout.rows[s] : layout.rows[s + 1], layout.rows[s] : layout.rows[s + 1]] = square
    return spread.T @ matrix @ spread, spread.T @ gradient


def start(n_pairs):
    return np.zeros(n_pairs), np.zeros(N_PAIRED), np.zeros(N_PAIRED)


@pytest.mark.parametrize("free", [(True, True), (False, True), (True, False)])
def test_without_l1_the_minimum_solves_the_linear_equations(free):
    rng = np.random.default_rng(0)
    layout, hessians, gradient, squares = make_model(rng)
    n_pairs = len(layout.first)
    tight, center = rng.random(n_pairs), rng.normal(size=n_pairs)
    own_tight, own_center = rng.random(N_PAIRED), rng.normal(size=N_PAIRED)
    penalty = pseudo_likelihood.Penalty(np.zeros(n_pairs), tight, center, own_tight, own_center)
    found = pseudo_likelihood.descend_pairs(
        layout, hessians, gradient, penalty, start(n_pairs), free, 500, 1e-9
    )
    matrix, right = assemble(layout, squares, gradient)
    chosen = np.repeat([True, *free], [n_pairs, N_PAIRED, N_PAIRED])
    ridge = np.concatenate([tight, np.zeros(N_PAIRED), own_tight])
    pull = np.concatenate([tight * center, np.zeros(N_PAIRED), own_tight * own_center])
    wanted = np.zeros(len(chosen))
    square = (matrix + np.diag(ridge))[np.ix_(chosen, chosen)]
    wanted[chosen] = np.linalg.solve(square, (pull - right)[chosen])
    assert np.allclose(np.concatenate(found), wanted, atol=1e-6)


def test_l1_keeps_the_optimality_conditions():
    rng = np.random.default_rng(1)
    layout, hessians, gradient, squares = make_model(rng)
    n_pairs = len(layout.first)
    none, row = np.zeros(n_pairs), np.zeros(N_PAIRED)
    l1 = np.full(n_pairs, 1.0)
    penalty = pseudo_likelihood.Penalty(l1, none, none, row, row)
    found = pseudo_likelihood.descend_pairs(
        layout, hessians, gradient, penalty, start(n_pairs), (True, True), 500, 1e-9
    )
    edges = found[0]
    matrix, right = assemble(layout, squares, gradient)
    left = (matrix @ np.concatenate(found) + right)[:n_pairs]
    zero = edges == 0
    assert 0 < zero.sum() < n_pairs
    assert np.all(np.abs(left[zero]) <= 1 + 1e-6)
    assert np.allclose(left[~zero], -np.sign(edges[~zero]), atol=1e-6)
