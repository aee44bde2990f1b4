import numpy as np
import pytest

import naive_solver
from unelisa.solvers import design_voters
from unelisa.solvers.optimality import column_scale, slopes, violations


def objective(problem, s, theta, b, a):
    logits = problem.votes @ theta + b + (0 if problem.column is None else a * problem.column)
    counted = np.abs(problem.votes[:, s]) * (
        1 if problem.item_weights is None else problem.item_weights
    )
    return naive_solver.loss(problem.votes, s, logits, problem.item_weights) / counted.sum()


@pytest.mark.parametrize("kind", ["ordinary", "abstaining"])
def test_slopes_are_minus_the_derivatives_of_the_loss(kind):
    problem = naive_solver.hard_problem(kind, 0, weighted=True, column=True)
    rng = np.random.default_rng(1)
    weights = 0.3 * rng.standard_normal((6, 6)) * (1 - np.eye(6))
    b, a = rng.standard_normal(6), 0.1 * rng.standard_normal(6) / column_scale(problem)
    edges, ones, column = slopes(problem, weights, b, a)
    s, tiny = 2, 1e-6

    def slope(direction, db, da):
        ends = [
            objective(problem, s, weights[s] + h * direction, b[s] + h * db, a[s] + h * da)
            for h in (-tiny, tiny)
        ]
        return (ends[0] - ends[1]) / (2 * tiny)

    none = np.zeros(6)
    for t in range(6):
        assert edges[s, t] == pytest.approx(slope(np.eye(6)[t], 0, 0), abs=1e-7)
    assert ones[s] == pytest.approx(slope(none, 1, 0), abs=1e-7)
    scale = column_scale(problem)
    assert column[s] / scale == pytest.approx(slope(none, 0, 1 / scale), abs=1e-7)


def test_violations_are_in_units_of_the_penalty():
    problem = naive_solver.hard_problem("ordinary", 0)
    slope = np.zeros((1, 6))
    slope[0, 1] = 3 * problem.penalties[0]
    weights = np.zeros((1, 6))
    weights[0, 2] = 1.0
    excess = violations(problem, np.array([0]), slope, weights)
    assert np.allclose(excess, [[0, 2, 1, 0, 0, 0]])


def test_voters_with_one_kind_of_vote_leave_the_design():
    votes = np.array([[1, 1, 0, 1], [1, 0, 0, -1], [1, 1, 0, -1]], np.int8, order="F")
    problem = naive_solver.L1Problem(votes, np.ones(4))
    assert design_voters(problem).tolist() == [False, False, False, True]
    weighted = naive_solver.L1Problem(votes, np.ones(4), item_weights=np.array([0.0, 1.0, 1.0]))
    assert not design_voters(weighted).any()
