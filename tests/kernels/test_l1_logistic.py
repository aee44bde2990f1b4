import numpy as np
import pytest

import naive_solver
from unelisa.kernels.curvature import add_curvatures, add_drift
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


@CASES
@pytest.mark.parametrize("stride", [1, 2])
def test_curvature(weighted, extra, abstain, stride):
    votes, items, block, members = make_case(weighted, extra, abstain)
    places = np.array([0, 64, 80, 84])
    out, mass = np.empty(84), np.empty(3)
    steps = np.array([[0, stride]] * 3)
    args = (steps, np.zeros(3), np.empty(CHUNK), places, out, mass)
    add_curvatures(items, block, np.arange(3), *args)
    used = np.arange(N_ITEMS) < (CHUNK if stride == 2 else N_ITEMS)
    for q in range(3):
        design, logits = logits_of(votes, items, block, members, q)
        counted = weights_of(items) * votes[:, block.voters[q]] ** 2 * used
        expected = design.T @ ((counted * (1 - np.tanh(logits) ** 2))[:, None] * design)
        n = len(members[q])
        found = out[places[q] : places[q + 1]].reshape(n + 2, n + 2)
        assert np.allclose(np.tril(found[:n, :n]), np.tril(expected[:n, :n]))
        assert np.allclose(found[:, n:], expected[:, n:])
        assert mass[q] == pytest.approx(counted.sum())


def test_curvature_that_lacks_of_one():
    votes, items, block, members = make_case(False, False, 0.0)
    places = np.array([0, 64, 80, 84])
    out, mass = np.empty(84), np.empty(3)
    steps = np.array([[0, 1]] * 3)
    args = (steps, np.full(3, -1.0), np.empty(CHUNK), places, out, mass)
    add_curvatures(items, block, np.array([1]), *args)
    design, logits = logits_of(votes, items, block, members, 1)
    expected = design.T @ (np.tanh(logits)[:, None] ** 2 * design)
    assert np.allclose(np.tril(out[64:80].reshape(4, 4)[:2, :2]), np.tril(expected[:2, :2]))


@CASES
def test_drift(weighted, extra, abstain):
    votes, items, block, members = make_case(weighted, extra, abstain)
    moved = block._replace(theta=block.theta + 0.1, free=block.free * 1.1)
    out = np.full((3, 3), np.nan)
    add_drift(items, block, moved, np.arange(3), np.empty((4, CHUNK), np.float32), out)
    for q in range(3):
        (_, z0), (_, z1) = (logits_of(votes, items, b, members, q) for b in (block, moved))
        dz, dt = z1 - z0, np.tanh(z1) - np.tanh(z0)
        counted = weights_of(items) * votes[:, block.voters[q]] ** 2
        expected = [counted @ dt**2, counted @ (dt * dz), counted @ dz**2]
        assert np.allclose(out[q], expected, rtol=1e-4)


def test_the_noise_bound_grows_with_the_coefficients():
    _, _, block, _ = make_case(False, False, 0.0)
    small = bound_block(block, 0.0, 64)
    large = bound_block(block._replace(theta=10 * block.theta), 0.0, 64)
    assert np.all(large[:2] > small[:2])
    assert large[2] == small[2]
