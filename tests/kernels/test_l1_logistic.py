"""Hessians and scores, beside the same sums as products of matrices."""

import numpy as np
import pytest

from naive_rows import assert_square, batch_of, counted_of, square_of
from unelisa.kernels import l1_logistic
from unelisa.kernels.curvature import add_curvatures
from unelisa.paper.solvers.base import items_of
from unelisa.votes.blocks import Block

CASES = pytest.mark.parametrize("abstain", [0.0, 0.3])


@pytest.mark.parametrize(("real", "error"), [(np.float32, 4e-7), (np.float64, 1e-13)])
def test_squash_is_tanh(real, error):
    z = np.concatenate([np.linspace(-12, 12, 5001), [0.0, -1e30, 1e30]]).astype(real)
    expected = np.tanh(z.astype(np.float64))
    l1_logistic.squash(z)
    assert np.max(np.abs(z - expected)) < error


BATCH = batch_of(
    {
        0: ({1: 0.5, 2: -0.4, 3: 0.0, 4: 0.3, 5: 0.2, 6: 0.6}, 0.4),
        1: ({0: -1.5, 2: 0.7}, -0.3),
        7: ({}, 0.8),
    }
)
PLACES = np.array([0, 49, 58, 59])


def draw(n_items, abstain=0.0):
    rng = np.random.default_rng(2)
    votes = rng.choice([-1, 1], size=(n_items, 9)).astype(np.int8, order="F")
    votes[rng.random(votes.shape) < abstain] = 0
    return votes


def curve(items, steps, floors, real=np.float64, batch=BATCH):
    out, mass = np.full(59, 7.0), np.full(3, 7.0)
    buffer = np.empty(l1_logistic.CHUNK, real)
    add_curvatures(items, batch, np.array(steps), floors, buffer, PLACES, out, mass)
    return out, mass


def test_the_noise_bound_grows_with_the_coefficients():
    small = l1_logistic.bound_batch(BATCH, 64)
    large = l1_logistic.bound_batch(BATCH._replace(theta=10 * BATCH.theta), 64)
    assert np.all(large[:2] > small[:2])
    assert large[2] == small[2]


@CASES
@pytest.mark.parametrize("n_items", [1, l1_logistic.CHUNK, 2 * l1_logistic.CHUNK + 700])
def test_curvature_is_the_weighted_product_of_the_design(abstain, n_items):
    votes = draw(n_items, abstain)
    out, mass = curve(items_of(Block(votes, 0)), [[0, 1]] * 3, np.zeros(3))
    for q in range(3):
        expected = square_of(votes, BATCH, q)
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-9, atol=1e-9)
        assert mass[q] == pytest.approx(counted_of(votes, BATCH.voters[q]).sum())


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_each_regression_takes_its_own_chunks(real):
    votes = draw(3 * l1_logistic.CHUNK + 5, 0.3)
    steps = [[0, 2], [1, 2], [1, 3]]
    out, mass = curve(items_of(Block(votes, 0)), steps, np.zeros(3), real)
    chunks = np.arange(len(votes)) // l1_logistic.CHUNK
    for q, used in enumerate(([0, 2], [1, 3], [1])):
        some = np.isin(chunks, used)
        expected = square_of(votes[some], BATCH, q)
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-4, atol=0.05)
        assert mass[q] == pytest.approx(counted_of(votes, BATCH.voters[q])[some].sum())


def test_where_the_sign_is_wrong_the_curvature_has_a_floor():
    votes = draw(300, 0.2)
    batch = BATCH._replace(theta=8 * BATCH.theta)  # saturated: 1 - tanh^2 is nearly nothing
    floors = np.array([0.1, 0.0, 0.5])
    out, _ = curve(items_of(Block(votes, 0)), [[0, 1]] * 3, floors, batch=batch)
    for q in range(3):
        expected = square_of(votes, batch, q, floors[q])
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-9, atol=1e-9)
    assert out[0] > 1.2 * square_of(votes, batch, 0)[0, 0]  # the floor is felt


def test_a_negative_floor_asks_for_the_gap_between_the_curvature_and_one():
    votes = draw(l1_logistic.CHUNK + 700)
    out, mass = curve(items_of(Block(votes, 0)), [[0, 1]] * 3, np.full(3, -1.0))
    for q in range(3):
        members = BATCH.members[BATCH.starts[q] : BATCH.starts[q + 1]]
        design = np.column_stack([votes[:, members], np.ones(len(votes))])
        expected = design.T @ design - square_of(votes, BATCH, q)
        assert_square(out[PLACES[q] : PLACES[q + 1]], expected, rtol=1e-9, atol=1e-9)
        assert mass[q] == len(votes)


def test_items_that_do_not_count_leave_nothing():
    votes = draw(50)
    votes[:, [0, 1, 7]] = 0
    out, mass = curve(items_of(Block(votes, 0)), [[0, 1]] * 3, np.zeros(3))
    assert not out.any()
    assert not mass.any()
