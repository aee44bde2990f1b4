import numpy as np
import pytest

import naive_solver
from unelisa.kernels.lasso import find_step, shrink, start_all


def test_shrink_moves_towards_zero():
    assert [shrink(v, 1.0) for v in (3.0, -3.0, 0.5, -0.5)] == [2.0, -2.0, 0.0, 0.0]


def quadratic(seed, n, free=2, correlated=False):
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((60, n + 2))
    if correlated:  # nested voters: coordinate descent alone would crawl
        design[:, :n] = rng.standard_normal((60, 1)) + 0.05 * design[:, :n]
    design[:, n + free :] = 0.0
    hessian = design.T @ design / 60
    theta = np.where(rng.random(n) < 0.5, rng.standard_normal(n), 0.0)
    return hessian, rng.standard_normal(n + 2) * (np.diag(hessian) > 0), theta


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("free", [0, 1, 2])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_step_minimises_the_quadratic_problem(n, free, correlated):
    hessian, slope, theta = quadratic(n + free, n, free, correlated)
    limits = np.full(n, 0.1)
    step = np.empty(n + 2)
    assert find_step(hessian.copy(), slope.copy(), theta, limits, 1e9, 1e-12, step)
    expected = naive_solver.lasso_step(hessian, slope, theta, limits)

    def value(d):
        smooth = -slope @ d + d @ hessian @ d / 2
        return smooth + limits @ np.abs(theta + d[:n])

    assert value(step) <= value(expected) + 1e-6 * (1 + abs(value(expected)))


def test_a_step_too_far_is_cut_and_not_trusted():
    hessian, slope, theta = quadratic(0, 3)
    step = np.empty(5)
    assert not find_step(hessian * 1e-6, slope, theta, np.full(3, 0.1), 5.0, 1e-9, step)
    assert np.abs(step).max() == pytest.approx(5.0)


def test_a_hessian_that_is_not_convex_is_not_trusted():
    step = np.empty(3)
    assert not find_step(-np.eye(3), np.ones(3), np.zeros(1), np.full(1, 0.1), 5.0, 1e-9, step)


def test_the_start_is_the_lasso_of_the_quadratic_model():
    rng = np.random.default_rng(0)
    votes = np.sign(rng.standard_normal((500, 1)) + rng.standard_normal((500, 8)))
    mean = votes.mean(axis=0)
    agreement = votes.T @ votes / 500
    shared = np.column_stack([mean, np.zeros(8)])
    limits = np.full((1, 8), 0.02)
    limits[0, [3, 5]] = np.inf
    theta, slope = np.empty((1, 8)), np.empty((1, 8))
    model = np.array([[1.0, 0.9]])
    start_all(agreement, shared, np.array([3]), model, limits, theta, slope)
    covariance = agreement - np.outer(mean, mean)
    others = np.array([0, 1, 2, 4, 6, 7])
    expected = naive_solver.lasso_step(
        0.9 * covariance[np.ix_(others, others)],
        covariance[3, others],
        np.zeros(6),
        np.full(6, 0.02),
    )
    assert np.allclose(theta[0, others], expected, atol=2e-3)
    assert not theta[0, [3, 5]].any()
    predicted = covariance[3] - 0.9 * covariance @ theta[0]
    assert np.allclose(np.delete(slope[0], 3), np.delete(predicted, 3))
