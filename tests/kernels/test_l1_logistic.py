import numpy as np
import pytest

import naive_solver
from unelisa.kernels.l1_logistic import (
    CHUNK,
    Items,
    Regressions,
    Sums,
    add_scores,
    bound_batch,
    fill_residuals,
    squash,
)

CASES = pytest.mark.parametrize(
    ("weighted", "abstain"), [(False, 0.0), (False, 0.3), (True, 0.0), (True, 0.3)]
)
N_ITEMS = CHUNK + 700  # two chunks, the second with a part of a subsum


def make_case(weighted, abstain):
    rng = np.random.default_rng(2)
    votes = rng.choice([-1, 1], size=(N_ITEMS, 9)).astype(np.int8)
    votes[rng.random(votes.shape) < abstain] = 0
    weights = rng.random(N_ITEMS) if weighted else np.empty(0)
    items = Items(np.ascontiguousarray(votes.T), weights)
    for array in items:  # as the passes hand them over: Numba compiles anew for writable ones
        array.flags.writeable = False
    members = [[1, 2, 3, 4, 5, 6], [0, 2], []]
    batch = Regressions(
        np.array([0, 1, 7]),
        np.array([0, 6, 8, 8]),
        np.concatenate(members).astype(np.int64),
        np.array([0.5, -0.4, 0.0, 0.3, 0.2, 0.6, -1.5, 0.7]),
        rng.standard_normal(3),
    )
    return votes, items, batch, members


def logits_of(votes, batch, members, q):
    design = naive_solver.design(votes, members[q])
    theta = batch.theta[batch.starts[q] : batch.starts[q + 1]]
    return design, design @ np.append(theta, batch.intercepts[q])


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
def test_scores_and_loss(weighted, abstain, real, error):
    votes, items, batch, members = make_case(weighted, abstain)
    sums = Sums.zeros(batch)
    add_scores(items, batch, np.empty(CHUNK, real), sums)
    for q in range(3):
        design, logits = logits_of(votes, batch, members, q)
        r = naive_solver.residuals(votes, batch.voters[q], logits, weights_of(items))
        found = np.append(sums.scores[batch.starts[q] : batch.starts[q + 1]], sums.intercepts[q])
        assert np.allclose(found, r @ design, rtol=0, atol=error * N_ITEMS)
        if real is np.float64:
            expected = naive_solver.loss(votes, batch.voters[q], logits, weights_of(items))
            assert sums.loss[q] == pytest.approx(expected, rel=1e-12)


@CASES
def test_residuals(weighted, abstain):
    votes, items, batch, members = make_case(weighted, abstain)
    out = np.empty((3, 1000), np.float32)
    fill_residuals(items, batch, 500, 1400, out)
    for q in range(3):
        _, logits = logits_of(votes, batch, members, q)
        r = naive_solver.residuals(votes, batch.voters[q], logits, weights_of(items))
        assert np.allclose(out[q, :900], r[500:1400], atol=2e-6)


def test_the_noise_bound_grows_with_the_coefficients():
    _, _, batch, _ = make_case(False, 0.0)
    small = bound_batch(batch, 64)
    large = bound_batch(batch._replace(theta=10 * batch.theta), 64)
    assert np.all(large[:2] > small[:2])
    assert large[2] == small[2]
