import numpy as np
import pytest

import naive_solver
from unelisa.kernels.tally import (
    add_complete,
    add_incomplete,
    count_ones,
    count_votes,
    pack_votes,
    widen_votes,
)


def votes_of(n_items, n_voters, abstain, seed=0):
    rng = np.random.default_rng(seed)
    votes = rng.choice([-1, 1], size=(n_items, n_voters)).astype(np.int8)
    votes[rng.random(votes.shape) < abstain] = 0
    return np.ascontiguousarray(votes.T)


def packed(votes, low=0, high=None):
    high = votes.shape[1] if high is None else high
    above = np.empty((len(votes), -(-(high - low) // 64)), np.uint64)
    voted = np.empty_like(above)
    pack_votes(votes, low, high, above, voted)
    return above, voted


def test_ones_are_counted_with_and_without_compilation():
    assert count_ones(np.uint64(0b1011)) == 3
    assert count_ones(np.uint64(2**64 - 1)) == 64


@pytest.mark.parametrize("n_items", [1, 63, 64, 65, 300])
def test_packed_bits_are_the_votes(n_items):
    votes = votes_of(n_items, 5, 0.3)
    for plane, expected in zip(packed(votes), (votes > 0, votes != 0), strict=True):
        bits = np.unpackbits(plane.view(np.uint8), axis=1, bitorder="little")
        assert np.array_equal(bits[:, :n_items], expected)
        assert not bits[:, n_items:].any()


def test_a_part_of_the_items_is_packed_alone():
    votes = votes_of(200, 3, 0.2)
    part = packed(np.ascontiguousarray(votes[:, 70:190]))
    for one, other in zip(packed(votes, 70, 190), part, strict=True):
        assert np.array_equal(one, other)


def test_votes_are_counted():
    votes = votes_of(150, 4, 0.3)
    counts = np.zeros((4, 2), np.int64)
    count_votes(*packed(votes), counts)
    assert np.array_equal(counts[:, 0], (votes != 0).sum(axis=1))
    assert np.array_equal(counts[:, 1], (votes > 0).sum(axis=1))


@pytest.mark.parametrize("n_items", [1, 64, 1000])
@pytest.mark.parametrize("n_voters", [1, 3, 4, 9])
def test_agreements_equal_the_matrix_product(n_items, n_voters):
    votes = votes_of(n_items, n_voters, 0.0)
    above, voted = packed(votes)
    expected = np.triu(naive_solver.agreements(votes.T))
    sums = np.zeros((n_voters, n_voters), np.int64)
    for first in range(0, n_voters, 4):
        add_complete(above, n_items, first, min(first + 4, n_voters), sums)
    assert np.array_equal(np.triu(sums), expected)
    again = np.zeros_like(sums)
    add_incomplete(above, voted, 0, n_voters, again)
    assert np.array_equal(np.triu(again), expected)


def test_agreements_count_only_items_on_which_both_voted():
    votes = votes_of(500, 7, 0.4)
    above, voted = packed(votes)
    sums = np.zeros((7, 7), np.int64)
    add_incomplete(above, voted, 0, 7, sums)
    assert np.array_equal(np.triu(sums), np.triu(naive_solver.agreements(votes.T)))


def test_votes_are_widened():
    votes = votes_of(100, 3, 0.2)
    out = np.full((3, 50), np.nan, np.float32)
    widen_votes(votes, 20, 60, out)
    assert np.array_equal(out[:, :40], votes[:, 20:60])
    assert np.isnan(out[:, 40:]).all()
