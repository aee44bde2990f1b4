import numpy as np
import pytest

import naive_latent
from unelisa.kernels.pseudo_likelihood import (
    differentiate_expected_loss,
    fast_exp,
    fast_log,
    sum_expected_loss,
    sum_marginal_loss,
)

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


def test_exp_and_log_are_accurate_to_single_precision():
    x = np.linspace(-30, 30, 997).astype(np.float32)
    powers = np.array([fast_exp(v) for v in x])
    assert np.max(np.abs(powers / np.exp(x.astype(np.float64)) - 1)) < 3e-6  # |x| eps included
    y = np.exp(np.linspace(-12, 40, 997)).astype(np.float32)
    logs = np.array([fast_log(v) for v in y])
    assert np.allclose(logs, np.log(y.astype(np.float64)), rtol=2e-7, atol=2e-7)


def test_expected_loss_is_that_of_the_slow_twin(case):
    wanted = naive_latent.expected_loss(*case)
    assert sum_expected_loss(*kernel_arguments(case)) == pytest.approx(wanted, rel=1e-6)
    assert differentiate_expected_loss(*kernel_arguments(case))[0] == pytest.approx(
        wanted, rel=1e-6
    )


def test_derivatives_are_finite_differences_of_the_loss(case):
    values, edges, biases, weights, posterior = case
    _, residuals, curvatures, cross_curvatures, weight_scores = differentiate_expected_loss(
        *kernel_arguments(case)
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


def test_marginal_loss_and_its_gradient_are_those_of_enumeration(case):
    values, edges, biases, weights, _ = case
    votes, predictors, _, _ = kernel_arguments(case)

    def kernel(field):
        truth = (field + values @ weights).astype(np.float32)
        return sum_marginal_loss(votes, predictors, truth, weights)

    def naive(field):
        return naive_latent.marginal_loss(values, edges, biases, weights, field)

    loss, gradient, curvature = kernel(0.3)
    assert loss == pytest.approx(naive(0.3), rel=1e-5)
    assert gradient == pytest.approx((naive(0.3001) - naive(0.2999)) / 2e-4, abs=1e-3)
    assert curvature > 0


def test_a_voter_without_votes_adds_nothing():
    votes = np.zeros((1, 5), np.float32)
    posterior, weights = np.full(5, 0.5, np.float32), np.ones(1)
    assert sum_expected_loss(votes, votes, posterior, weights) == 0.0
    assert sum_marginal_loss(votes, votes, posterior, weights) == (0.0, 0.0, 0.0)
