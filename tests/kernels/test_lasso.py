import numpy as np
import pytest

import naive_solver
from unelisa.kernels.lasso import find_step, shrink, start_all


def test_shrink_moves_toward_zero():
    assert [shrink(v, 1.0) for v in (3.0, -3.0, 0.5, -0.5)] == [2.0, -2.0, 0.0, 0.0]


def quadratic(seed, n, intercept=True, correlated=False):
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((60, n + 1))
    if correlated:  # nested voters: coordinate descent alone would crawl
        design[:, :n] = rng.standard_normal((60, 1)) + 0.05 * design[:, :n]
    design[:, n] *= intercept
    hessian = design.T @ design / 60
    theta = np.where(rng.random(n) < 0.5, rng.standard_normal(n), 0.0)
    return hessian, rng.standard_normal(n + 1) * (np.diag(hessian) > 0), theta


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_step_minimizes_the_quadratic_problem(n, intercept, correlated):
    hessian, score, theta = quadratic(n + intercept, n, intercept, correlated)
    step = np.empty(n + 1)
    assert find_step(hessian.copy(), score.copy(), theta, 0.1, 1e9, 1e-12, step)
    expected = naive_solver.lasso_step(hessian, score, theta, np.full(n, 0.1))

    def value(d):
        return -score @ d + d @ hessian @ d / 2 + 0.1 * np.abs(theta + d[:n]).sum()

    assert value(step) <= value(expected) + 1e-6 * (1 + abs(value(expected)))


def test_a_step_too_far_is_cut_and_not_trusted():
    hessian, score, theta = quadratic(0, 3)
    step = np.empty(4)
    assert not find_step(hessian * 1e-6, score, theta, 0.1, 5.0, 1e-9, step)
    assert np.abs(step).max() == pytest.approx(5.0)


def test_a_hessian_that_is_not_convex_is_not_trusted():
    step = np.empty(2)
    assert not find_step(-np.eye(2), np.ones(2), np.zeros(1), 0.1, 5.0, 1e-9, step)


def test_the_start_is_the_lasso_of_the_quadratic_model():
    rng = np.random.default_rng(0)
    votes = np.sign(rng.standard_normal((500, 1)) + rng.standard_normal((500, 8)))
    covariance = np.cov(votes, rowvar=False, ddof=0)
    theta, scores = np.empty((2, 1, 8))
    model = np.array([[1.0, 0.9, 0.02, 0.0]])
    start_all(covariance, np.zeros(8), np.array([3]), model, np.arange(8) != 5, theta, scores)
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
    assert np.allclose(np.delete(scores[0], 3), np.delete(predicted, 3))
