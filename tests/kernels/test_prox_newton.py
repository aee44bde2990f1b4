from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from unelisa.kernels.l1_logistic import Regressions, Sums
from unelisa.kernels.prox_newton import AGAIN, DONE, FAILED, REBUILD, judge, step_all
from unelisa.solvers.newton import _rebuild, begin_walk, descend
from unelisa.solvers.working_set import frame_of

FITTED = np.array([1, 0])
Q = np.array([0])


def begin(kind="ordinary", **options):
    """Voter 0's regression on voters 1 to 5, before its first pass."""
    problem = naive_solver.hard_problem(kind, 0, **options)
    frame = frame_of(replace(problem, penalties=np.full(6, 0.05)))
    theta = np.array([0.3, 0.0, -0.2, 0.1, 0.0])
    block = Regressions(Q, np.array([0, 5]), np.arange(1, 6), theta, np.array([[0.2, 0.0]]))
    return problem, frame, block, begin_walk(frame, block, np.full(5, 0.05))


def evaluate(frame, block, precise=False):
    sums = Sums(np.zeros(5), np.zeros((1, 2)), np.zeros(1))
    frame.rows.slopes(block, Q, precise, sums)
    return sums


def naive_hessian(problem, block):
    design = naive_solver.design(problem.votes, block.members)
    logits = design @ np.concatenate([block.theta, block.free[0]])
    counted = np.abs(problem.votes[:, 0]).astype(float)
    if problem.item_weights is not None:
        counted *= problem.item_weights
    curvature = counted * (1 - np.tanh(logits) ** 2)
    return design.T @ (curvature[:, None] * design) / counted.sum()


@pytest.mark.parametrize("careful", [0, 1])
@pytest.mark.parametrize(
    ("kind", "options"), [("ordinary", {}), ("abstaining", {}), ("ordinary", {"weighted": True})]
)
def test_the_hessian_is_the_mean_curvature(kind, options, careful):
    problem, frame, block, walk = begin(kind, **options)
    walk.careful[0] = careful
    walk.residual[0] = 0.0
    _rebuild(frame, block, walk, Q)
    expected = naive_hessian(problem, block)
    assert np.allclose(walk.hessians.reshape(7, 7), expected, atol=1e-5)


def test_a_step_is_the_lasso_of_the_local_model():
    problem, frame, block, walk = begin()
    judge(walk, block, evaluate(frame, block), Q, FITTED, 1.0, False, 1e-4)
    assert walk.status[0] == REBUILD
    _rebuild(frame, block, walk, Q)
    step_all(walk, block, Q, FITTED)
    hessian = naive_hessian(problem, block._replace(theta=walk.theta, free=walk.free))[:6, :6]
    slope = np.append(walk.slopes, walk.free_slopes[0, 0])
    expected = naive_solver.lasso_step(hessian, slope, walk.theta, walk.limits)
    assert np.allclose(block.theta - walk.theta, expected[:5], atol=0.02)  # solved to 2 %
    assert block.free[0, 0] - walk.free[0, 0] == pytest.approx(expected[5], abs=0.02)
    assert walk.promise[0] < 0


def test_a_quick_step_that_makes_it_worse_turns_careful_at_the_old_point():
    _, frame, block, walk = begin()
    judge(walk, block, evaluate(frame, block), Q, FITTED, 1.0, False, 1e-4)
    old = walk.theta.copy()
    block.theta[:] = -5.0
    judge(walk, block, evaluate(frame, block), Q, FITTED, 1.0, False, 1e-4)
    assert walk.careful[0] == walk.precise[0] == 1
    assert walk.status[0] == AGAIN
    assert np.array_equal(block.theta, old)


def test_a_careful_step_that_climbs_is_halved_and_at_last_given_up():
    _, frame, block, walk = begin()
    walk.careful[0] = walk.precise[0] = 1
    judge(walk, block, evaluate(frame, block, True), Q, FITTED, 1.0, False, 1e-4)
    old = walk.theta.copy()
    walk.steps[:], walk.length[0] = 5.0, 1.0
    lengths = []
    while walk.status[0] != FAILED:
        block.theta[:] = 50.0  # always uphill
        judge(walk, block, evaluate(frame, block, True), Q, FITTED, 1.0, False, 1e-4)
        lengths.append(walk.length[0])
    assert np.allclose(lengths, 0.5 ** np.arange(1, len(lengths) + 1))
    assert np.array_equal(walk.theta, old)


@pytest.mark.parametrize("exact", [False, True])
def test_a_walk_ends_at_the_optimum_of_its_members(exact):
    problem, frame, block, _ = begin()
    frame = replace(frame, exact=exact)
    walk, sums = descend(frame, block, np.full(5, 0.05))
    assert walk.status[0] == DONE
    assert walk.bound[0] <= 0.8 * frame.tol
    if exact:
        logits = problem.votes[:, 1:] @ walk.theta + walk.free[0, 0]
        assert sums.loss[0] == pytest.approx(naive_solver.loss(problem.votes, 0, logits))
        assert walk.bound[0] == walk.residual[0]
