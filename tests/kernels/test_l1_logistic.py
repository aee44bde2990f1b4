import numpy as np
import pytest

import naive_solver
from unelisa.kernels.l1_logistic import (
    CHUNK,
    Items,
    Regressions,
    Sums,
    add_slopes,
    bound_block,
    fill_residuals,
    squash,
)

CASES = pytest.mark.parametrize(
    ("weighted", "extra", "abstain"),
    [(False, False, 0.0), (False, False, 0.3), (True, True, 0.0), (True, True, 0.3)],
)
N_ITEMS = CHUNK + 700  # two chunks, the second with a part of a subsum


def make_case(weighted, extra, abstain):
    rng = np.random.default_rng(2)
    votes = rng.choice([-1, 1], size=(N_ITEMS, 9)).astype(np.int8)
    votes[rng.random(votes.shape) < abstain] = 0
    weights = rng.random(N_ITEMS) if weighted else np.empty(0)
    column = rng.standard_normal(N_ITEMS) if extra else np.empty(0)
    items = Items(np.ascontiguousarray(votes.T), weights, column)
    for array in items:  # as the passes hand them over: Numba compiles anew for writable ones
        array.flags.writeable = False
    members = [[1, 2, 3, 4, 5, 6], [0, 2], []]
    block = Regressions(
        np.array([0, 1, 7]),
        np.array([0, 6, 8, 8]),
        np.concatenate(members).astype(np.int64),
        np.array([0.5, -0.4, 0.0, 0.3, 0.2, 0.6, -1.5, 0.7]),
        rng.standard_normal((3, 2)) * [1, extra],
    )
    return votes, items, block, members


def logits_of(votes, items, block, members, q):
    design = naive_solver.design(votes, members[q], items.column if items.column.size else None)
    theta = block.theta[block.starts[q] : block.starts[q + 1]]
    return design, design @ np.concatenate([theta, block.free[q]])


def weights_of(items):
    return items.weights if items.weights.size else np.ones(N_ITEMS)


@pytest.mark.parametrize(("real", "error"), [(np.float32, 4e-7), (np.float64, 1e-13)])
def test_squash_is_tanh(real, error):
    z = np.concatenate([np.linspace(-12, 12, 5001), [0.0, -1e30, 1e30]]).astype(real)
    expected = np.tanh(z.astype(np.float64))
    squash(z)
    assert np.max(np.abs(z - expected)) < error


@CASES
@pytest.mark.parametrize(("real", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_slopes_and_loss(weighted, extra, abstain, real, error):
    votes, items, block, members = make_case(weighted, extra, abstain)
    sums = Sums(np.full(8, np.nan), np.full((3, 2), np.nan), np.full(3, np.nan))
    add_slopes(items, block, np.arange(3), np.empty(CHUNK, real), sums)
    for q in range(3):
        design, logits = logits_of(votes, items, block, members, q)
        r = naive_solver.residuals(votes, block.voters[q], logits, weights_of(items))
        found = np.concatenate([sums.slopes[block.starts[q] : block.starts[q + 1]], sums.free[q]])
        assert np.allclose(found, r @ design, rtol=0, atol=error * N_ITEMS)
        if real is np.float64:
            expected = naive_solver.loss(votes, block.voters[q], logits, weights_of(items))
            assert sums.loss[q] == pytest.approx(expected, rel=1e-12)


def test_only_the_chosen_regressions_are_touched():
    _, items, block, _ = make_case(False, False, 0.0)
    sums = Sums(np.full(8, 7.0), np.full((3, 2), 7.0), np.full(3, 7.0))
    add_slopes(items, block, np.array([1]), np.empty(CHUNK, np.float32), sums)
    assert np.all(sums.slopes[:6] == 7.0)
    assert not np.any(sums.slopes[6:] == 7.0)


@CASES
def test_residuals(weighted, extra, abstain):
    votes, items, block, members = make_case(weighted, extra, abstain)
    out = np.empty((3, 1000), np.float32)
    fill_residuals(items, block, 500, 1400, out)
    for q in range(3):
        _, logits = logits_of(votes, items, block, members, q)
        r = naive_solver.residuals(votes, block.voters[q], logits, weights_of(items))
        assert np.allclose(out[q, :900], r[500:1400], atol=2e-6)


def test_the_noise_bound_grows_with_the_coefficients():
    _, _, block, _ = make_case(False, False, 0.0)
    small = bound_block(block, 0.0, 64)
    large = bound_block(block._replace(theta=10 * block.theta), 0.0, 64)
    assert np.all(large[:2] > small[:2])
    assert large[2] == small[2]
