"""What every solver promises: the optimality conditions, in float64, on the problem as stated."""

import importlib.util
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_solver
from unelisa.errors import ConvergenceWarning
from unelisa.paper.solvers import SOLVERS, L1Problem, optimality
from unelisa.paper.solvers.base import design_voters

# without the gpu extra its solver has nothing to run on; `make test-gpu` brings it
NO_TORCH = importlib.util.find_spec("torch") is None
NEEDS_TORCH = pytest.mark.skipif(NO_TORCH, reason="torch is not installed: make test-gpu")
EVERY_SOLVER = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[NEEDS_TORCH] * (name == "torch")) for name in sorted(SOLVERS)],
)

# of eight items the two voters agree on six; both say yes on half of them
PAIR = np.array([[1, 1, 1, 1, -1, -1, -1, -1], [1, 1, 1, -1, -1, -1, -1, 1]], np.int8).T


def check(name, problem):
    solution = SOLVERS[name]().solve(problem)
    kkt = optimality(problem, solution.weights, solution.intercepts)
    assert np.all(kkt <= problem.tol)
    # the solver's own certificate is no smaller than the truth
    assert np.all(kkt <= solution.kkt + 1e-9)
    assert np.all(np.diag(solution.weights) == 0)
    outside = ~design_voters(problem)
    assert not solution.weights[outside].any()
    assert not solution.weights[:, outside].any()
    return solution


@EVERY_SOLVER
@pytest.mark.parametrize("kind", naive_solver.KINDS)
def test_the_optimality_conditions_hold(name, kind):
    for seed in range(3):
        check(name, naive_solver.hard_problem(kind, seed))
        check(name, naive_solver.hard_problem(kind, seed, intercept=False))


@pytest.mark.parametrize("intercept", [False, True])
def test_columns_as_rare_as_health_records(intercept):
    """Without intercepts nearly constant voters stand in for them, all about equally well."""
    rng = np.random.default_rng(0)
    rates = np.exp(rng.uniform(np.log(0.002), np.log(0.08), 90))
    use = rng.standard_normal((3000, 1))
    votes = np.where(rng.random((3000, 90)) < rates * np.exp(use - 0.5), 1, -1).astype(np.int8)
    penalties = np.full(90, 2 * np.sqrt(np.log(90) / 3000))
    problem = L1Problem(np.asfortranarray(votes), penalties, fit_intercept=intercept)
    solution = check("working_set", problem)
    assert (np.count_nonzero(solution.weights) > 900) != intercept
    assert np.mean(solution.n_iter) < 15


@settings(max_examples=100)
@given(
    kind=st.sampled_from(naive_solver.KINDS),
    seed=st.integers(0, 10**6),
    intercept=st.booleans(),
    size=st.sampled_from([1e-3, 1e-2, 0.1, 1.0]),
    tol=st.sampled_from([1e-3, 1e-5]),
)
def test_the_fast_solver_solves_any_problem_with_any_penalty(kind, seed, intercept, size, tol):
    problem = naive_solver.hard_problem(kind, seed, intercept)
    check("working_set", replace(problem, penalties=problem.penalties * size, tol=tol))


@EVERY_SOLVER
def test_the_minimum_is_the_same(name):
    problem = replace(naive_solver.hard_problem("ordinary", 5), tol=1e-6)
    reference = naive_solver.ProximalGradient().solve(problem)
    solution = SOLVERS[name]().solve(problem)
    assert np.allclose(solution.weights, reference.weights, atol=1e-5)
    assert np.allclose(solution.intercepts, reference.intercepts, atol=1e-5)


@EVERY_SOLVER
def test_no_items_and_no_voters(name):
    empty = L1Problem(np.empty((0, 3), np.int8, order="F"), np.ones(3))
    assert not SOLVERS[name]().solve(empty).weights.any()
    alone = L1Problem(np.array([[1], [-1], [1]], np.int8, order="F"), np.ones(1), tol=1e-6)
    assert SOLVERS[name]().solve(alone).intercepts == pytest.approx(np.arctanh(1 / 3), abs=1e-5)


def solve(name, votes, penalty, **options):
    problem = L1Problem(np.asfortranarray(votes), np.full(votes.shape[1], penalty), tol=1e-6)
    return SOLVERS[name]().solve(replace(problem, **options))


@pytest.mark.parametrize("intercept", [False, True])
@EVERY_SOLVER
def test_two_voters_have_the_edge_whose_tanh_is_their_mean_product_less_the_penalty(
    name, intercept
):
    found = solve(name, PAIR, 0.2, fit_intercept=intercept)
    edge = np.arctanh(0.5 - 0.2)
    assert found.weights == pytest.approx(np.array([[0, edge], [edge, 0]]), abs=1e-5)
    assert found.intercepts == pytest.approx([0, 0], abs=1e-5)
    opposed = solve(name, PAIR * np.array([1, -1], np.int8), 0.2)
    assert opposed.weights == pytest.approx(np.array([[0, -edge], [-edge, 0]]), abs=1e-5)


@EVERY_SOLVER
def test_items_on_which_a_voter_abstained_do_not_count_for_it(name):
    """On the items where 0 voted it agrees with 1 always but once in four."""
    votes = PAIR.copy()
    votes[4:, 0] = 0
    found = solve(name, votes, 0.2, fit_intercept=False)
    assert found.weights[0, 1] == 0.0  # who says one thing only has no regression
    votes = np.vstack([PAIR, np.column_stack([np.zeros(5, np.int8), np.ones(5, np.int8)])])
    found = solve(name, votes, 0.2, fit_intercept=False)
    assert found.weights[0, 1] == pytest.approx(np.arctanh(0.5 - 0.2), abs=1e-5)
    # voter 1's own regression counts all 13 items; on five of them 0 says nothing
    assert found.weights[1, 0] == pytest.approx(np.arctanh(0.5 - 0.2 * 13 / 8), abs=1e-5)


@EVERY_SOLVER
def test_intercepts_are_those_of_the_mean_and_a_large_penalty_leaves_no_edge(name):
    votes = np.array([[1], [1], [1], [-1]], np.int8)
    assert solve(name, votes, 1.0).intercepts == pytest.approx([np.arctanh(0.5)], abs=1e-5)
    assert solve(name, votes, 1.0, fit_intercept=False).intercepts.tolist() == [0.0]
    assert not solve(name, PAIR, 0.501).weights.any()
    assert solve(name, PAIR, 0.499).weights[0, 1] > 0


def test_a_missed_tolerance_names_the_voters():
    problem = naive_solver.hard_problem("ordinary", 0)
    problem = replace(problem, names=["ann", "bob", "cy", "di", "ed", "flo"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = naive_solver.ProximalGradient(max_iter=3).solve(problem)
    assert len(caught) == 1
    # of scikit-learn's category too, where that is loaded
    assert issubclass(caught[0].category, ConvergenceWarning)
    missed = [problem.names[s] for s in solution.missed(problem.tol)]
    assert missed
    assert all(name in str(caught[0].message) for name in missed)
