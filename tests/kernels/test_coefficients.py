import numpy as np
import pytest

from unelisa.kernels.coefficients import expect_log_cosh, invert, move_voters, weigh_voters
from unelisa.latent.consensus.coefficients import NODES, SHARES

STATES = {
    2: np.array([[1.0, 1.0], [1.0, -1.0]]),
    3: np.array([[1.0, f0, u] for f0 in (1.0, -1.0) for u in (1.0, -1.0)]),
}


def bound(mean, covariance, signed, observed, states, center, spread):
    """A voter's part of the bound, as the module's docstring writes it."""
    effects, normalizers = weigh_voters(mean[None], covariance[None], states, NODES, SHARES)
    away = ((mean - center) ** 2 + np.diag(covariance)) / spread**2
    entropy = np.linalg.slogdet(covariance)[1] / 2
    return signed @ effects[0] - observed @ normalizers[0] - away.sum() / 2 + entropy


@pytest.mark.parametrize("parts", [2, 3])
def test_a_step_lowers_no_voters_bound_and_ends_at_its_maximum(parts):
    rng = np.random.default_rng(parts)
    states = STATES[parts]
    observed = rng.uniform(0, 30, (8, len(states)))
    signed = observed * rng.uniform(-1, 1, observed.shape)
    center, spread = np.full(parts, 0.4), np.full(parts, 0.6)
    means, covariances = rng.normal(0, 3, (8, parts)), np.tile(np.eye(parts), (8, 1, 1))
    fixed = signed, observed, states, center, spread, -np.inf, NODES, SHARES
    for _ in range(60):
        moved = move_voters(means, covariances, *fixed)
        for s in range(8):
            said = signed[s], observed[s], states, center, spread
            before = bound(means[s], covariances[s], *said)
            assert bound(moved[0][s], moved[1][s], *said) >= before - 1e-9
        means, covariances = moved
    said = signed[0], observed[0], states, center, spread
    best = bound(means[0], covariances[0], *said)
    for shift in np.vstack([np.eye(parts), -np.eye(parts)]) * 0.02:
        assert bound(means[0] + shift, covariances[0], *said) < best


def test_a_bound_on_the_weight_holds():
    signed, observed = np.array([[-20.0, 20.0]]), np.array([[25.0, 25.0]])
    means, covariances = np.array([[0.0, 0.5]]), np.eye(2)[None]
    prior = np.array([0.0, 0.5]), np.array([0.5, 0.5])
    for _ in range(30):
        means, covariances = move_voters(
            means, covariances, signed, observed, STATES[2], *prior, 0.2, NODES, SHARES
        )
    assert means[0] == pytest.approx([0, 0.2], abs=1e-6)


def test_small_matrices_are_inverted():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    matrix = root @ root.T + np.eye(3)
    inverse, log_determinant = invert(matrix)
    assert inverse == pytest.approx(np.linalg.inv(matrix))
    assert log_determinant == pytest.approx(np.linalg.slogdet(matrix)[1])


@pytest.mark.parametrize("doubt", [0.0, 0.4])
def test_expected_log_cosh_by_a_fine_grid(doubt):
    grid = np.linspace(-8, 8, 2001)
    shares = np.exp(-(grid**2) / 2)
    x = 0.7 + np.sqrt(doubt) * grid
    curves = np.log(2 * np.cosh(x)), np.tanh(x), 1 - np.tanh(x) ** 2
    expected = [(shares * curve).sum() / shares.sum() for curve in curves]
    assert expect_log_cosh(0.7, doubt, NODES, SHARES) == pytest.approx(expected, abs=3e-3)
