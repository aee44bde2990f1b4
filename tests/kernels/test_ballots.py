"""Sums over listed votes, beside the same sums over the table that the lists came from."""

import numpy as np
import pytest
from scipy.special import expit, log_expit

from unelisa.kernels.ballots import (
    count_affinity,
    list_votes,
    score_by_strangers,
    tally_ballots,
    weigh_ballots,
)

FULL = np.empty(0, dtype=np.float32)
NOBODY = np.zeros(4, dtype=np.int64), np.empty(0, dtype=np.int32)  # of three voters, none is near


def lists_of(values, first=0, last=None):
    """The lists of a table, as the product asks for them: Fortran order, read-only."""
    table = np.asfortranarray(values, dtype=np.int8).view()
    table.flags.writeable = False
    return list_votes(table, first, len(table) if last is None else last)


def draw_table(n_items=40, n_voters=5, seed=0):
    return np.random.default_rng(seed).choice(
        np.array([-1, 0, 1], dtype=np.int8), (n_items, n_voters), p=[0.3, 0.4, 0.3]
    )


def test_lists_are_the_votes_item_by_item_with_voters_rising():
    values = [[0, 1, -1], [0, 0, 0], [1, 0, 1], [-1, 0, 0]]
    starts, voters, votes = lists_of(values)
    assert starts.tolist() == [0, 2, 2, 4, 5]
    assert voters.tolist() == [1, 2, 0, 2, 0]
    assert votes.tolist() == [1, -1, 1, 1, -1]
    assert (starts.dtype, voters.dtype, votes.dtype) == (np.int64, np.int32, np.int8)


def test_a_part_of_the_items_starts_at_zero():
    values = [[0, 1, -1], [0, 0, 0], [1, 0, 1], [-1, 0, 0]]
    starts, voters, votes = lists_of(values, 1, 3)
    assert (starts.tolist(), voters.tolist(), votes.tolist()) == ([0, 0, 2], [0, 2], [1, 1])
    starts, voters, votes = lists_of(values, 2, 2)
    assert (starts.tolist(), voters.size, votes.size) == ([0], 0, 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_states", [1, 2, 4])
def test_weighing_is_the_sum_over_each_items_votes(weighted, n_states):
    rng, values = np.random.default_rng(1), draw_table()
    values[3] = 0
    lists = lists_of(values)
    effects, normalizers = rng.normal(size=(2, 5, n_states))
    weights = rng.random(len(lists[2])).astype(np.float32) if weighted else FULL
    counted = np.zeros(values.shape)
    counted[values != 0] = weights if weighted else 1.0  # a table's own order is item by item
    expected = (counted * values) @ effects - counted @ normalizers
    found = weigh_ballots(*lists, weights, effects, normalizers)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)
    assert np.all(found[3] == 0)


def test_votes_of_weight_zero_do_not_count():
    lists = lists_of([[1, -1], [1, 0]])
    weights = np.array([0, 1, 0], dtype=np.float32)
    effects, normalizers = np.array([[8.0, 4.0], [2.0, 1.0]]), np.full((2, 2), 0.5)
    assert weigh_ballots(*lists, weights, effects, normalizers).tolist() == [
        [-2.5, -1.5],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize("n_states", [1, 2, 4])
def test_tallies_are_the_sums_over_each_voters_items(n_states):
    values = draw_table()
    values[:, 2] = 0
    shares = np.random.default_rng(2).random((40, n_states))
    signed, observed = tally_ballots(*lists_of(values), shares, 5)
    assert np.allclose(signed, values.T @ shares, rtol=0, atol=1e-12)
    assert np.allclose(observed, np.abs(values).T @ shares, rtol=0, atol=1e-12)
    assert np.all(observed[2] == 0)


def test_affinity_adds_the_strengths_of_those_who_voted_too():
    strengths = np.array([[0, 0.5, 0.25], [0.5, 0, 0], [0.25, 0, 0]])
    rows, others = np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0], dtype=np.int32)
    stored = np.array([0.5, 0.25, 0.5, 0.25], dtype=np.float32)
    # the second item repeats the first one's voters, the third their number alone
    values = np.array([[1, 1, 0], [-1, 1, 0], [1, 0, 1], [1, 1, -1], [0, 0, 0], [0, 1, 0]])
    starts, voters, _ = lists_of(values)
    found = count_affinity(starts, voters, rows, others, stored)
    expected = (np.abs(values) @ strengths)[values != 0]
    assert found.tolist() == expected.tolist()
    assert found.dtype == np.float32


def test_affinity_may_differ_by_direction():
    """Only voter 0 is listed as somebody's partner: voter 1 adds to 0, 0 adds nothing to 1."""
    rows, others = np.array([0, 0, 1]), np.array([0], dtype=np.int32)
    starts, voters, _ = lists_of([[1, 1]])
    found = count_affinity(starts, voters, rows, others, np.array([0.5], dtype=np.float32))
    assert found.tolist() == [0.5, 0.0]


def naive_scores(values, weights, priors, effects, near):
    """By a sum over the states, vote by vote."""
    scores = np.zeros(len(values))
    for i, s in zip(*np.nonzero(values), strict=True):
        others = [t for t in np.flatnonzero(values[i]) if t != s and not near[s, t]]
        joint = priors[i] + sum(
            (weights[i, t] * log_expit(2 * values[i, t] * effects[t]) for t in others), np.zeros(2)
        )
        posterior = np.exp(joint - np.logaddexp.reduce(joint))
        scores[i] += np.log(posterior @ expit(2 * values[i, s] * effects[s]))
    return scores


@pytest.mark.parametrize("weighted", [False, True])
def test_every_vote_is_predicted_from_strangers_alone(weighted):
    rng, values = np.random.default_rng(3), draw_table()
    near = np.zeros((5, 5), bool)
    near[0, 1] = near[1, 0] = near[1, 4] = near[4, 1] = True
    rows = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
    others = np.nonzero(near)[1].astype(np.int32)
    priors, effects = np.log(rng.dirichlet([1, 1], 40)), rng.normal(size=(5, 2))
    table = rng.random(values.shape).astype(np.float32) if weighted else np.ones(values.shape)
    weights = table[values != 0].astype(np.float32) if weighted else FULL
    found = score_by_strangers(*lists_of(values), weights, priors, effects, rows, others)
    assert found == pytest.approx(naive_scores(values, table, priors, effects, near), abs=1e-9)


def test_an_item_without_votes_scores_nothing_and_a_lone_vote_by_the_prior():
    priors = np.log([[0.25, 0.75]] * 2)
    effects = np.array([[1.0, -1.0]] * 3)
    scores = score_by_strangers(*lists_of([[0, 0, 0], [0, 1, 0]]), FULL, priors, effects, *NOBODY)
    expected = np.log(0.25 * expit(2.0) + 0.75 * expit(-2.0))
    assert scores.tolist() == [0.0, pytest.approx(expected)]


def test_no_single_vote_costs_more_than_one_in_a_million():
    priors, effects = np.log([[0.5, 0.5]]), np.full((3, 2), 40.0)
    scores = score_by_strangers(*lists_of([[0, -1, 0]]), FULL, priors, effects, *NOBODY)
    assert scores == pytest.approx([np.log(1e-6)])
