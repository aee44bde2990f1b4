"""A block's walk to the optimum of its members."""

from dataclasses import replace

import numpy as np
import pytest

import naive_solver
from naive_rows import block_of, counted_of, point_of, square_of
from unelisa.kernels.prox_newton import AGAIN, DONE
from unelisa.solvers import L1Problem
from unelisa.solvers.newton import _rebuild, begin_walk, descend
from unelisa.solvers.rows import SAMPLE
from unelisa.solvers.working_set import frame_of

LAMBDA = 0.05
BLOCK = block_of(
    {0: ({1: 0.3, 2: 0.0, 3: -0.2}, (0.2, 0.0)), 4: ({5: 0.1, 0: 0.0}, (0.0, 0.0)), 2: ({}, (0, 0))}
)


def frame_for(kind="ordinary", exact=False, tol=1e-5, **options):
    problem = naive_solver.hard_problem(kind, 0, **options)
    problem = replace(problem, penalties=np.full(6, LAMBDA), tol=tol)
    return problem, replace(frame_of(problem), exact=exact)


def copy_of(block):
    """Walks move the block that they are given."""
    return block._replace(theta=block.theta.copy(), free=block.free.copy())


def test_limits_are_the_penalties_and_infinite_where_no_edge_may_be():
    problem, frame = frame_for("constant")  # voters 0 and 1 never change
    assert np.array_equal(frame.limits(np.array([3, 5])), [
        [np.inf, np.inf, LAMBDA, np.inf, LAMBDA, LAMBDA],
        [np.inf, np.inf, LAMBDA, LAMBDA, LAMBDA, np.inf],
    ])  # fmt: skip
    ratios = np.ones((6, 6))
    ratios[3, 4], ratios[3, 5] = 0.0, np.inf
    frame = frame_of(replace(problem, penalty_weights=ratios))
    assert frame.limits(np.array([3])).tolist() == [[np.inf, np.inf, LAMBDA, np.inf, 0.0, np.inf]]


def test_a_walk_begins_where_the_block_is_and_leaves_it_alone():
    _, frame = frame_for()
    walk = begin_walk(frame, BLOCK, np.full(5, LAMBDA))
    assert np.array_equal(walk.theta, BLOCK.theta)
    assert not np.shares_memory(walk.theta, BLOCK.theta)
    assert not np.shares_memory(walk.free, BLOCK.free)
    assert walk.places.tolist() == [0, 25, 41, 45]
    assert walk.hessians.size == 45
    assert walk.totals.tolist() == [60.0] * 3
    assert np.all(walk.status == AGAIN)
    assert np.all(np.isinf(walk.bound))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ordinary", {}),
        ("abstaining", {}),
        ("ordinary", {"weighted": True, "column": True}),
        ("separable", {}),
        ("more voters than items", {}),
    ],
)
def test_a_walk_ends_where_the_optimality_conditions_hold_on_the_members(kind, options, exact):
    problem, frame = frame_for(kind, exact, **options)
    walk, sums = descend(frame, copy_of(BLOCK), np.full(5, LAMBDA))
    assert np.all(walk.status == DONE)
    column = frame.rows.column if options.get("column") else None
    for q, s in enumerate(BLOCK.voters):
        place = slice(BLOCK.starts[q], BLOCK.starts[q + 1])
        here = BLOCK._replace(theta=walk.theta, free=walk.free)
        design, z = point_of(problem.votes, here, q, column)
        r = naive_solver.residuals(problem.votes, s, z, problem.item_weights)
        slopes = r @ design / counted_of(problem.votes, s, problem.item_weights).sum()
        theta = walk.theta[place]
        excess = np.where(
            theta != 0,
            np.abs(slopes[:-2] - LAMBDA * np.sign(theta)),
            np.maximum(np.abs(slopes[:-2]) - LAMBDA, 0),
        )
        largest = max(np.max(excess, initial=0.0), np.max(np.abs(slopes[-2:])))
        assert largest <= LAMBDA * problem.tol
        assert largest <= LAMBDA * walk.bound[q] + 1e-12
        if exact:
            loss = naive_solver.loss(problem.votes, s, z, problem.item_weights)
            assert sums.loss[q] == pytest.approx(loss)


def test_without_members_the_intercept_is_that_of_the_mean():
    problem, frame = frame_for(tol=1e-9)
    walk, _ = descend(frame, block_of({3: ({}, (0.0, 0.0))}), np.empty(0))
    assert walk.free[0] == pytest.approx([np.arctanh(problem.votes[:, 3].mean()), 0.0], abs=1e-9)


def test_an_intercept_that_is_not_fitted_stays():
    _, frame = frame_for(intercept=False)
    walk, _ = descend(frame, block_of({3: ({1: 0.0}, (0.0, 0.0))}), np.full(1, LAMBDA))
    assert walk.free.tolist() == [[0.0, 0.0]]
    assert walk.theta[0] != 0


def test_regressions_that_walk_together_end_where_each_ends_alone():
    _, frame = frame_for(tol=1e-7)
    together, _ = descend(frame, copy_of(BLOCK), np.full(5, LAMBDA))
    rows = {0: {1: 0.3, 2: 0.0, 3: -0.2}, 4: {5: 0.1, 0: 0.0}}
    free = {0: (0.2, 0.0), 4: (0.0, 0.0)}
    found = [
        descend(frame, block_of({s: (rows[s], free[s])}), np.full(len(rows[s]), LAMBDA))[0].theta
        for s in rows
    ]
    assert np.concatenate(found) == pytest.approx(together.theta, abs=1e-9)


def test_a_walk_that_starts_at_its_optimum_stays_there_and_takes_fewer_passes():
    _, frame = frame_for()
    walk, _ = descend(frame, copy_of(BLOCK), np.full(5, LAMBDA))
    solved = BLOCK._replace(theta=walk.theta.copy(), free=walk.free.copy())
    again, _ = descend(frame, solved, np.full(5, LAMBDA))
    assert np.array_equal(again.theta, walk.theta)
    assert np.all(again.passes < walk.passes)


@pytest.mark.parametrize("abstain", [0.0, 0.2])
def test_a_quick_hessian_of_many_items_is_near_the_exact_one(abstain):
    """The sample is a third of the items; where nobody abstained it corrects the exact moments."""
    rng = np.random.default_rng(0)
    trait = rng.standard_normal((3 * SAMPLE, 1))
    votes = np.where(trait + rng.standard_normal((3 * SAMPLE, 6)) > 0, 1, -1)
    votes[rng.random(votes.shape) < abstain] = 0
    votes = np.asfortranarray(votes.astype(np.int8))
    frame = frame_of(L1Problem(votes, np.full(6, LAMBDA)))
    assert frame.plain == (abstain == 0.0)
    block = copy_of(BLOCK)
    walk = begin_walk(frame, block, np.full(5, LAMBDA))
    errors = {}
    for careful in (0, 1):
        walk.careful[:], walk.residual[:] = careful, 0.0
        _rebuild(frame, block, walk, np.arange(3))
        for q, s in enumerate(block.voters):
            side = block.starts[q + 1] - block.starts[q] + 2
            found = walk.hessians[walk.places[q] : walk.places[q + 1]].reshape(side, side)
            expected = square_of(votes, block, q) / counted_of(votes, s).sum()
            errors[careful] = max(errors.get(careful, 0.0), np.abs(found - expected).max())
    assert errors[1] < 1e-9
    assert 1e-9 < errors[0] < 0.03


def test_only_the_chosen_hessians_are_written():
    _, frame = frame_for()
    walk = begin_walk(frame, BLOCK, np.full(5, LAMBDA))
    walk.hessians[:] = 7.0
    walk.careful[1] = 1
    _rebuild(frame, BLOCK, walk, np.array([1]))
    assert np.all(walk.hessians[:25] == 7.0)
    assert np.all(walk.hessians[41:] == 7.0)
    assert not np.any(walk.hessians[25:41] == 7.0)
