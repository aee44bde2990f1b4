import numpy as np
import pytest

from unelisa.kernels.pseudo_likelihood import Layout, Penalty, descend_pairs

N_VOTERS = 5


def make_model(rng):
    """A layout of seven pairs, one positive definite Hessian per voter, and gradient."""
    pairs = np.ones((N_VOTERS, N_VOTERS), bool)
    np.fill_diagonal(pairs, False)
    pairs[0, 1:4] = pairs[1:4, 0] = False
    layout = Layout.of(pairs)
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
    spread = np.zeros((layout.rows[-1], n_pairs + 2 * N_VOTERS))
    for e in range(n_pairs):
        spread[layout.rows[layout.first[e]] + layout.place_first[e], e] = 1
        spread[layout.rows[layout.second[e]] + layout.place_second[e], e] = 1
    for s in range(N_VOTERS):
        spread[layout.rows[s + 1] - 2, n_pairs + s] = 1
        spread[layout.rows[s + 1] - 1, n_pairs + N_VOTERS + s] = 1
    matrix = np.zeros((layout.rows[-1], layout.rows[-1]))
    for s, square in enumerate(squares):
        matrix[layout.rows[s] : layout.rows[s + 1], layout.rows[s] : layout.rows[s + 1]] = square
    return spread.T @ matrix @ spread, spread.T @ gradient


def start(n_pairs):
    return np.zeros(n_pairs), np.zeros(N_VOTERS), np.zeros(N_VOTERS)


@pytest.mark.parametrize("free", [(True, True), (False, True), (True, False)])
def test_without_l1_the_minimum_solves_the_linear_equations(free):
    rng = np.random.default_rng(0)
    layout, hessians, gradient, squares = make_model(rng)
    n_pairs = len(layout.first)
    tight, center = rng.random(n_pairs), rng.normal(size=n_pairs)
    own_tight, own_center = rng.random(N_VOTERS), rng.normal(size=N_VOTERS)
    penalty = Penalty(np.zeros(n_pairs), tight, center, own_tight, own_center)
    found = descend_pairs(layout, hessians, gradient, penalty, start(n_pairs), free, 500, 1e-9)
    matrix, right = assemble(layout, squares, gradient)
    chosen = np.repeat([True, *free], [n_pairs, N_VOTERS, N_VOTERS])
    ridge = np.concatenate([tight, np.zeros(N_VOTERS), own_tight])
    pull = np.concatenate([tight * center, np.zeros(N_VOTERS), own_tight * own_center])
    wanted = np.zeros(len(chosen))
    square = (matrix + np.diag(ridge))[np.ix_(chosen, chosen)]
    wanted[chosen] = np.linalg.solve(square, (pull - right)[chosen])
    assert np.allclose(np.concatenate(found), wanted, atol=1e-6)


def test_l1_keeps_the_optimality_conditions():
    rng = np.random.default_rng(1)
    layout, hessians, gradient, squares = make_model(rng)
    n_pairs = len(layout.first)
    none, row = np.zeros(n_pairs), np.zeros(N_VOTERS)
    l1 = np.full(n_pairs, 1.0)
    penalty = Penalty(l1, none, none, row, row)
    found = descend_pairs(
        layout, hessians, gradient, penalty, start(n_pairs), (True, True), 500, 1e-9
    )
    edges = found[0]
    matrix, right = assemble(layout, squares, gradient)
    left = (matrix @ np.concatenate(found) + right)[:n_pairs]
    zero = edges == 0
    assert 0 < zero.sum() < n_pairs
    assert np.all(np.abs(left[zero]) <= 1 + 1e-6)
    assert np.allclose(left[~zero], -np.sign(edges[~zero]), atol=1e-6)
