"""Sums over listed votes, beside the same sums over the table that the lists came from."""

import numpy as np
import pytest

from unelisa.kernels.ballots import list_votes, tally_ballots, weigh_ballots


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


def test_weighing_is_the_sum_over_each_items_votes():
    values, weights = draw_table(), np.random.default_rng(1).normal(size=5)
    values[3] = 0
    found = weigh_ballots(*lists_of(values), weights)
    assert np.allclose(found, values @ weights, rtol=0, atol=1e-12)
    assert found[3] == 0


@pytest.mark.parametrize("n_states", [1, 2, 4])
def test_tallies_are_the_sums_over_each_voters_items(n_states):
    values = draw_table()
    values[:, 2] = 0
    shares = np.random.default_rng(2).random((40, n_states))
    signed, observed = tally_ballots(*lists_of(values), shares, 5)
    assert np.allclose(signed, values.T @ shares, rtol=0, atol=1e-12)
    assert np.allclose(observed, np.abs(values).T @ shares, rtol=0, atol=1e-12)
    assert np.all(observed[2] == 0)
