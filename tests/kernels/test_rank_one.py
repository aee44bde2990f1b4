import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_spectral
from unelisa.kernels.rank_one import descend_rank_one, sum_minors

LOOSE = 1e6  # a bound that is never met


def draw_problem(seed, p=6):
    rng = np.random.default_rng(seed)
    r = rng.normal(size=(p, p))
    precision = rng.integers(0, 4, size=(p, p)).astype(float)
    return r + r.T, precision + precision.T, rng.normal(size=p)


@given(st.integers(0, 200), st.sampled_from([0.5, LOOSE]))
def test_no_sweep_increases_the_loss(seed, bound):
    r, precision, start = draw_problem(seed)
    losses = []
    v = np.clip(start, -bound, bound)
    for _ in range(8):
        losses.append(naive_spectral.rank_one_loss(r, precision, v))
        v, _ = descend_rank_one(r, precision, np.full(6, bound), v, 1, 0.0)
        assert np.abs(v).max() <= bound
    assert np.all(np.diff(losses) <= 1e-9 * losses[0])


@pytest.mark.parametrize("seed", range(5))
def test_the_fixed_point_is_a_minimum_within_the_bounds(seed):
    r, _, start = draw_problem(seed)
    ones, bound = np.ones((6, 6)), np.full(6, 1.5)
    v, sweeps = descend_rank_one(r, ones, bound, start, 5000, 1e-12)
    assert sweeps < 5000
    best = naive_spectral.rank_one_loss(r, ones, v)
    for s in range(6):
        for step in (-1e-4, 1e-4):
            moved = np.clip(v + step * np.eye(6)[s], -bound, bound)
            assert naive_spectral.rank_one_loss(r, ones, moved) >= best


def test_without_bounds_there_may_be_no_minimum():
    """One entry runs away and fits its row exactly, while all other products vanish."""
    r, _, start = draw_problem(3)
    near, far = (
        descend_rank_one(r, np.ones((6, 6)), np.full(6, LOOSE), start, n, 0.0)[0]
        for n in (100, 1000)
    )
    assert np.abs(far).max() > 1.5 * np.abs(near).max()


def test_three_voters_have_an_exact_solution_and_one_without_pairs_gets_nothing():
    v = np.array([0.8, 0.5, -0.4])
    found, _ = descend_rank_one(
        np.outer(v, v), np.ones((3, 3)), np.ones(3), np.array([0.5, 0.5, -0.5]), 1000, 1e-14
    )
    assert found == pytest.approx(v)
    r, precision = np.full((3, 3), 0.25), np.ones((3, 3))
    precision[2], precision[:, 2] = 0.0, 0.0
    found, _ = descend_rank_one(r, precision, np.ones(3), np.full(3, 0.5), 100, 1e-12)
    assert found == pytest.approx([0.5, 0.5, 0.0])
    r, precision, start = draw_problem(1)
    assert descend_rank_one(r, precision, np.full(6, LOOSE), start, 3, 0.0)[1] == 3


@pytest.mark.parametrize("witnesses", [range(7), (1, 2, 5, 6), (3,)])
def test_minors_equal_their_slow_twin(witnesses):
    rng = np.random.default_rng(0)
    r = rng.normal(size=(7, 7))
    r = r + r.T
    found = sum_minors(r, np.array(witnesses))
    assert found == pytest.approx(naive_spectral.minors(r, list(witnesses)), abs=1e-9)


def test_only_a_dependent_pair_stands_out():
    v = np.array([0.9, -0.5, 0.3, 0.7, 0.2])
    r = np.outer(v, v) + np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    assert sum_minors(r, np.arange(5)) == pytest.approx(np.zeros((5, 5)), abs=1e-12)
    r = np.full((6, 6), 0.1)
    r[0, 1] = r[1, 0] = 0.5
    scores = sum_minors(r, np.arange(6))
    assert scores[0, 1] == scores.max()
    # 12 ordered pairs of witnesses, each minor is .5 * .1 - .1 * .1
    assert scores[0, 1] == pytest.approx(12 * 0.04)
