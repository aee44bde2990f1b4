import numpy as np
import pytest

from unelisa.kernels.pairs import Prior, descend_pairs
from unelisa.latent.newton import lay_out

N_VOTERS = 5


def make_model(rng):
    """A layout of seven pairs, one positive definite Hessian per voter, and slopes."""
    pairs = np.ones((N_VOTERS, N_VOTERS), bool)
    np.fill_diagonal(pairs, False)
    pairs[0, 1:4] = pairs[1:4, 0] = False
    layout = lay_out(pairs)
    sides = np.diff(layout.rows)
    squares = []
    for side in sides:
        root = rng.normal(size=(side, side))
        squares.append((root @ root.T + side * np.eye(side)).astype(np.float32))
    hessians = np.concatenate([square.ravel() for square in squares])
    return layout, hessians, rng.normal(size=layout.rows[-1]), squares


def assemble(layout, squares, slopes):
    """The quadratic model over (edges, fields, weights): matrix and slopes."""
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
    return spread.T @ matrix @ spread, spread.T @ slopes


@pytest.mark.parametrize("moves", [(True, True), (False, True), (True, False)])
def test_without_l1_the_minimum_solves_the_linear_equations(moves):
    rng = np.random.default_rng(0)
    layout, hessians, slopes, squares = make_model(rng)
    n_pairs = len(layout.first)
    tight, centre = rng.random(n_pairs), rng.normal(size=n_pairs)
    own_tight, own_centre = rng.random(N_VOTERS), rng.normal(size=N_VOTERS)
    prior = Prior(np.zeros(n_pairs), tight, centre, own_tight, own_centre)
    edges, fields, weights = np.zeros(n_pairs), np.zeros(N_VOTERS), np.zeros(N_VOTERS)
    descend_pairs(layout, hessians, slopes, prior, edges, fields, weights, moves, 500, 1e-9)
    matrix, right = assemble(layout, squares, slopes)
    free = np.repeat([True, *moves], [n_pairs, N_VOTERS, N_VOTERS])
    ridge = np.concatenate([tight, np.zeros(N_VOTERS), own_tight])
    pull = np.concatenate([tight * centre, np.zeros(N_VOTERS), own_tight * own_centre])
    wanted = np.zeros(len(free))
    square = (matrix + np.diag(ridge))[np.ix_(free, free)]
    wanted[free] = np.linalg.solve(square, (pull - right)[free])
    assert np.allclose(np.concatenate([edges, fields, weights]), wanted, atol=1e-6)


def test_l1_keeps_the_optimality_conditions():
    rng = np.random.default_rng(1)
    layout, hessians, slopes, squares = make_model(rng)
    n_pairs = len(layout.first)
    none, row = np.zeros(n_pairs), np.zeros(N_VOTERS)
    l1 = np.full(n_pairs, 1.0)
    edges, fields, weights = np.zeros(n_pairs), np.zeros(N_VOTERS), np.zeros(N_VOTERS)
    prior = Prior(l1, none, none, row, row)
    descend_pairs(layout, hessians, slopes, prior, edges, fields, weights, (True, True), 500, 1e-9)
    matrix, right = assemble(layout, squares, slopes)
    left = (matrix @ np.concatenate([edges, fields, weights]) + right)[:n_pairs]
    zero = edges == 0
    assert 0 < zero.sum() < n_pairs
    assert np.all(np.abs(left[zero]) <= 1 + 1e-6)
    assert np.allclose(left[~zero], -np.sign(edges[~zero]), atol=1e-6)
