from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa.kernels.l1_logistic import Regressions
from unelisa.kernels.lasso import find_step, shrink, start_all
from unelisa.kernels.prox_newton import AGAIN, FAILED, REBUILD, begin_state, judge, step_all
from unelisa.paper.solvers.base import place_squares
from unelisa.paper.solvers.working_set import Frame, _rebuild


def test_shrink_moves_toward_zero_and_doubtful_steps_are_not_trusted():
    assert [shrink(v, 1.0) for v in (3.0, -3.0, 0.5, -0.5)] == [2.0, -2.0, 0.0, 0.0]
    hessian, score, theta = quadratic(0, 3)
    step = np.empty(4)
    assert not find_step(hessian * 1e-6, score, theta, 0.1, 5.0, 1e-9, step)
    assert np.abs(step).max() == pytest.approx(5.0)
    step = np.empty(2)
    assert not find_step(-np.eye(2), np.ones(2), np.zeros(1), 0.1, 5.0, 1e-9, step)


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


Q = np.array([0])


def begin(kind="ordinary", **options):
    """Voter 0's regression on voters 1 to 5, before its first pass."""
    problem = naive_solver.hard_problem(kind, 0, **options)
    frame = Frame.of(replace(problem, penalties=np.full(6, 0.05)))
    theta = np.array([0.3, 0.0, -0.2, 0.1, 0.0])
    batch = Regressions(Q, np.array([0, 5]), np.arange(1, 6), theta, np.array([0.2]))
    totals = frame.moments.totals[Q]
    return problem, frame, batch, begin_state(batch, place_squares(batch), totals, np.full(1, 0.05))


def evaluate(frame, state, batch, precise=False):
    """One pass, and what follows from it."""
    judge(state, batch, frame.rows.scores(batch, precise), Q, True, 1.0, False, 1e-4)


def naive_hessian(problem, batch):
    design = naive_solver.design(problem.votes, batch.members)
    logits = design @ np.append(batch.theta, batch.intercepts)
    counted = np.abs(problem.votes[:, 0]).astype(float)
    curvature = counted * (1 - np.tanh(logits) ** 2)
    return design.T @ (curvature[:, None] * design) / counted.sum()


@pytest.mark.parametrize("careful", [0, 1])
@pytest.mark.parametrize("kind", ["ordinary", "abstaining"])
def test_the_hessian_is_the_mean_curvature(kind, careful):
    problem, frame, batch, state = begin(kind)
    state.careful[0] = careful
    state.residual[0] = 0.0
    _rebuild(frame, batch, state, Q)
    expected = naive_hessian(problem, batch)
    assert np.allclose(state.hessians.reshape(6, 6), expected, atol=1e-5)


def test_a_step_is_the_lasso_of_the_local_model():
    problem, frame, batch, state = begin()
    evaluate(frame, state, batch)
    assert state.status[0] == REBUILD
    _rebuild(frame, batch, state, Q)
    step_all(state, batch, Q, True)
    here = batch._replace(theta=state.theta, intercepts=state.intercepts)
    score = np.append(state.scores, state.intercept_scores)
    expected = naive_solver.lasso_step(
        naive_hessian(problem, here), score, state.theta, np.full(5, 0.05)
    )
    assert np.allclose(batch.theta - state.theta, expected[:5], atol=0.02)  # solved to 2 %
    assert batch.intercepts[0] - state.intercepts[0] == pytest.approx(expected[5], abs=0.02)
    assert state.predicted[0] < 0


def test_a_quick_step_that_makes_it_worse_turns_careful_at_the_old_point():
    _, frame, batch, state = begin()
    evaluate(frame, state, batch)
    old = state.theta.copy()
    batch.theta[:] = -5.0
    evaluate(frame, state, batch)
    assert state.careful[0] == state.precise[0] == 1
    assert state.status[0] == AGAIN
    assert np.array_equal(batch.theta, old)


def test_a_careful_step_that_climbs_is_halved_and_at_last_given_up():
    _, frame, batch, state = begin()
    state.careful[0] = state.precise[0] = 1
    evaluate(frame, state, batch, True)
    old = state.theta.copy()
    state.steps[:], state.length[0] = 5.0, 1.0
    lengths = []
    while state.status[0] != FAILED:
        batch.theta[:] = 50.0  # always uphill
        evaluate(frame, state, batch, True)
        lengths.append(state.length[0])
    assert np.allclose(lengths, 0.5 ** np.arange(1, len(lengths) + 1))
    assert np.array_equal(state.theta, old)
