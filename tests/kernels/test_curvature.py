"""Hessians and drift, beside the same sums as products of matrices."""

import numpy as np
import pytest

from naive_rows import assert_square, block_of, counted_of, drift_of, square_of
from unelisa.kernels.curvature import add_curvatures, add_drift
from unelisa.kernels.l1_logistic import CHUNK, Items

BLOCK = block_of(
    {
        0: ({1: 0.5, 2: -0.4, 3: 0.0, 4: 0.3, 5: 0.2, 6: 0.6}, (0.4, 0.0)),
        1: ({0: -1.5, 2: 0.7}, (-0.3, 0.0)),
        7: ({}, (0.8, 0.0)),
    }
)
PLACES = np.array([0, 64, 80, 84])
CASES = pytest.mark.parametrize(
    ("weighted", "extra", "abstain"),
    [(False, False, 0.0), (False, False, 0.3), (True, True, 0.0), (True, True, 0.3)],
)


def draw(n_items, weighted=False, extra=False, abstain=0.0):
    """Votes, weights and column (None where there is none), and the block at which to look."""
    rng = np.random.default_rng(2)
    votes = rng.choice([-1, 1], size=(n_items, 9)).astype(np.int8, order="F")
    votes[rng.random(votes.shape) < abstain] = 0
    weights = rng.choice([0.0, 0.5, 2.0], n_items) if weighted else None
    column = rng.standard_normal(n_items) if extra else None
    block = BLOCK._replace(free=BLOCK.free + np.array([0, 0.5])) if extra else BLOCK
    return votes, weights, column, block


def items_of(votes, weights=None, column=None):
    """Read-only, as the passes hand them over."""
    none = np.empty(0)
    items = Items(
        np.asfortranarray(votes).T,
        none.copy() if weights is None else weights.view(),
        none.copy() if column is None else column.view(),
    )
    for array in items:
        array.flags.writeable = False
    return items


def curve(items, block, steps, floors, real=np.float64, chosen=None):
    out, mass = np.full(84, 7.0), np.full(3, 7.0)
    chosen = np.arange(3) if chosen is None else chosen
    buffer = np.empty(CHUNK, real)
    add_curvatures(items, block, chosen, np.array(steps), floors, buffer, PLACES, out, mass)
    return out, mass


@CASES
@pytest.mark.parametrize("n_items", [1, CHUNK, CHUNK + 1, 2 * CHUNK + 700])
def test_curvature_is_the_weighted_product_of_the_design(weighted, extra, abstain, n_items):
    votes, weights, column, block = draw(n_items, weighted, extra, abstain)
    out, mass = curve(items_of(votes, weights, column), block, [[0, 1]] * 3, np.zeros(3))
    for q in range(3):
        expected = square_of(votes, block, q, weights, column)
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-9, atol=1e-9)
        assert mass[q] == pytest.approx(counted_of(votes, block.voters[q], weights).sum())


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_each_regression_takes_its_own_chunks(real):
    votes, weights, column, block = draw(3 * CHUNK + 5, True, True, 0.3)
    steps = [[0, 2], [1, 2], [1, 3]]
    out, mass = curve(items_of(votes, weights, column), block, steps, np.zeros(3), real)
    chunks = np.arange(len(votes)) // CHUNK
    for q, used in enumerate(([0, 2], [1, 3], [1])):
        some = np.isin(chunks, used)
        expected = square_of(votes[some], block, q, weights[some], column[some])
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-4, atol=0.05)
        assert mass[q] == pytest.approx(counted_of(votes, block.voters[q], weights)[some].sum())


def test_where_the_sign_is_wrong_the_curvature_has_a_floor():
    votes, weights, column, block = draw(300, True, True, 0.2)
    block = block._replace(theta=8 * block.theta)  # saturated: 1 - tanh^2 is nearly nothing
    floors = np.array([0.1, 0.0, 0.5])
    out, _ = curve(items_of(votes, weights, column), block, [[0, 1]] * 3, floors)
    plain = square_of(votes, block, 0, weights, column)
    for q in range(3):
        expected = square_of(votes, block, q, weights, column, floors[q])
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-9, atol=1e-9)
    assert out[0] > 1.2 * plain[0, 0]  # the floor is felt


def test_a_negative_floor_asks_for_what_the_curvature_lacks_of_one():
    votes, _, _, block = draw(CHUNK + 700)
    out, mass = curve(items_of(votes), block, [[0, 1]] * 3, np.full(3, -1.0))
    for q in range(3):
        design = np.column_stack(
            [
                votes[:, block.members[block.starts[q] : block.starts[q + 1]]],
                np.ones(len(votes)),
                np.zeros(len(votes)),
            ]
        )
        expected = design.T @ design - square_of(votes, block, q)
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-9, atol=1e-9)
        assert mass[q] == len(votes)


def test_only_the_chosen_regressions_are_written():
    votes, _, _, block = draw(50)
    out, mass = curve(items_of(votes), block, [[0, 1]] * 3, np.zeros(3), chosen=np.array([1]))
    assert np.all(out[:64] == 7.0)
    assert np.all(out[80:] == 7.0)
    assert_square(out[64:80], square_of(votes, block, 1))
    assert mass.tolist() == [7.0, 50.0, 7.0]


@pytest.mark.parametrize("why", ["abstained", "without weight"])
def test_items_that_do_not_count_leave_nothing(why):
    votes, _, _, block = draw(50)
    weights = np.zeros(50) if why == "without weight" else np.ones(50)
    if why == "abstained":
        votes[:, [0, 1, 7]] = 0
    out, mass = curve(items_of(votes, weights, np.ones(50)), block, [[0, 1]] * 3, np.zeros(3))
    assert not out.any()
    assert not mass.any()


@CASES
@pytest.mark.parametrize("n_items", [1, CHUNK, 2 * CHUNK + 700])
def test_drift_is_the_sum_of_squares_of_what_moved(weighted, extra, abstain, n_items):
    votes, weights, column, block = draw(n_items, weighted, extra, abstain)
    moved = block._replace(theta=block.theta + 0.1, free=block.free * 1.1)
    out = np.full((3, 3), 7.0)
    buffers, chosen = np.empty((4, CHUNK), np.float32), np.array([0, 2])
    add_drift(items_of(votes, weights, column), block, moved, chosen, buffers, out)
    for q in chosen:
        expected = drift_of(votes, block, moved, q, weights, column)
        assert np.allclose(out[q], expected, rtol=1e-4, atol=1e-5)
    assert np.all(out[1] == 7.0)


def test_who_did_not_move_has_no_drift():
    votes, weights, column, block = draw(50, True, True)
    out = np.full((3, 3), 7.0)
    buffers = np.empty((4, CHUNK), np.float32)
    add_drift(items_of(votes, weights, column), block, block, np.arange(3), buffers, out)
    assert not out.any()
