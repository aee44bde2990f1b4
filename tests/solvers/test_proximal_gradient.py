"""The slow solver, where the minimum can be written down."""

from dataclasses import replace

import numpy as np
import pytest

from unelisa.blocks import SparseVotes, WholeTable
from unelisa.errors import ConvergenceWarning, VotesError
from unelisa.solvers import L1Problem, ProximalGradient

# of eight items the two voters agree on six; both say yes on half of them
PAIR = np.array([[1, 1, 1, 1, -1, -1, -1, -1], [1, 1, 1, -1, -1, -1, -1, 1]], np.int8).T


def solve(votes, penalty, **options):
    problem = L1Problem(np.asfortranarray(votes), np.full(votes.shape[1], penalty), tol=1e-9)
    return ProximalGradient().solve(replace(problem, **options))


@pytest.mark.parametrize("intercept", [False, True])
def test_two_voters_have_the_edge_whose_tanh_is_their_mean_product_less_the_penalty(intercept):
    found = solve(PAIR, 0.2, fit_intercept=intercept)
    edge = np.arctanh(0.5 - 0.2)
    assert found.weights == pytest.approx(np.array([[0, edge], [edge, 0]]), abs=1e-8)
    assert found.intercepts == pytest.approx([0, 0], abs=1e-8)
    opposed = solve(PAIR * np.array([1, -1], np.int8), 0.2)
    assert opposed.weights == pytest.approx(np.array([[0, -edge], [-edge, 0]]), abs=1e-8)


def test_at_a_penalty_of_their_mean_product_there_is_no_edge():
    assert not solve(PAIR, 0.5).weights.any()
    assert solve(PAIR, 0.499).weights[0, 1] > 0


def test_items_on_which_a_voter_abstained_do_not_count_for_it():
    """On the items where 0 voted it agrees with 1 always but once in four."""
    votes = PAIR.copy()
    votes[4:, 0] = 0
    found = solve(votes, 0.2, fit_intercept=False)
    assert found.weights[0, 1] == 0.0  # who says one thing only has no regression
    votes = np.vstack([PAIR, np.column_stack([np.zeros(5, np.int8), np.ones(5, np.int8)])])
    found = solve(votes, 0.2, fit_intercept=False)
    assert found.weights[0, 1] == pytest.approx(np.arctanh(0.5 - 0.2), abs=1e-8)
    # voter 1's own regression counts all 13 items; on five of them 0 says nothing
    assert found.weights[1, 0] == pytest.approx(np.arctanh(0.5 - 0.2 * 13 / 8), abs=1e-8)


def test_a_weight_counts_an_item_so_often_and_zero_leaves_it_out():
    weights = np.array([2.0, 1, 1, 0, 1, 1, 1, 1])  # agreement 7 - 1 of 8
    found = solve(PAIR, 0.2, item_weights=weights, fit_intercept=False)
    assert found.weights[0, 1] == pytest.approx(np.arctanh(6 / 8 - 0.2), abs=1e-8)


def test_intercepts_are_those_of_the_mean():
    votes = np.array([[1], [1], [1], [-1]], np.int8)
    assert solve(votes, 1.0).intercepts == pytest.approx([np.arctanh(0.5)], abs=1e-8)
    assert solve(votes, 1.0, fit_intercept=False).intercepts.tolist() == [0.0]


def test_who_says_one_thing_only_leaves_the_design():
    votes = np.column_stack([PAIR, np.ones(8, np.int8), np.zeros(8, np.int8)])
    found = solve(votes, 0.2)
    assert found.weights[:2, :2] == pytest.approx(solve(PAIR, 0.2).weights, abs=1e-8)
    assert not found.weights[2:].any()
    assert not found.weights[:, 2:].any()
    assert not found.intercepts[2:].any()


def test_too_few_steps_are_told_of_and_counted():
    problem = L1Problem(np.asfortranarray(PAIR), np.full(2, 0.2), tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="voters 0, 1 did not reach the tolerance 1e-09"):
        found = ProximalGradient(max_iter=2).solve(problem)
    assert found.n_iter.tolist() == [2, 2]


def test_votes_that_are_not_in_memory_are_refused():
    problem = L1Problem(WholeTable(SparseVotes.of(PAIR)), np.ones(2))
    with pytest.raises(VotesError, match="these votes are sparse"):
        ProximalGradient().solve(problem)
