import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
import naive_solver
from unelisa.kernels import tally
from unelisa.votes.blocks import SparseVotes

VOTES = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([-1, 0, 1]),
)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_weighing_and_tallying_equal_the_naive_sums(values, seed):
    rng = np.random.default_rng(seed)
    signed, observed = rng.normal(size=(2, values.shape[1]))
    fast = tally.weigh_votes(np.asfortranarray(values), signed, observed)
    assert fast == pytest.approx(naive.weigh_votes(values, signed, observed), abs=1e-12)
    x = np.random.default_rng(seed).normal(size=values.shape[0])
    fast = tally.tally_votes(np.asfortranarray(values), x)
    slow = naive.tally_votes(values, x)
    assert fast[0] == pytest.approx(slow[0], abs=1e-12)
    assert fast[1] == pytest.approx(slow[1], abs=1e-12)


def test_the_input_may_be_a_strided_view():
    values = np.zeros((6, 8), dtype=np.int8)
    values[:, ::2] = 1
    assert tally.weigh_votes(values[::2, ::2], np.ones(4), np.zeros(4)) == pytest.approx([4.0] * 3)


@given(VOTES)
def test_voters_are_compared_as_counted_one_by_one(values):
    counts, met = tally.compare_voters(np.asfortranarray(values))
    yes, no = (values > 0).sum(axis=1), (values < 0).sum(axis=1)
    assert met == np.count_nonzero(yes + no > 1)
    for s, vote in enumerate(values.T):
        expected = [
            np.count_nonzero(vote < 0),
            np.count_nonzero(vote > 0),
            np.count_nonzero((vote != 0) & (yes + no > 1)),
            np.count_nonzero(((vote > 0) & (no > 0)) | ((vote < 0) & (yes > 0))),
        ]
        assert counts[s].tolist() == expected


@given(VOTES, st.integers(0, 2**32 - 1))
def test_sparse_sums_have_the_bits_of_the_tables(values, seed):
    rng = np.random.default_rng(seed)
    table, sparse = np.asfortranarray(values), SparseVotes.of(sp.csr_array(values))
    parts = sparse.starts, sparse.items, sparse.votes
    signed, observed = rng.normal(size=(2, values.shape[1]))
    x = rng.normal(size=len(values))
    weighed = tally.weigh_sparse(*parts, len(values), signed, observed)
    assert np.array_equal(weighed, tally.weigh_votes(table, signed, observed))
    assert np.allclose(
        tally.tally_sparse(*parts, x), tally.tally_votes(table, x), rtol=0, atol=1e-14
    )


@given(
    hnp.arrays(
        np.uint8,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.sampled_from([0, 1, 2, 3, 130]),
    )
)
def test_classes_are_compared_as_the_naive_counts_say(codes):
    counts, met = tally.compare_classes(np.asfortranarray(codes), 130)
    voted = codes > 0
    for s in range(codes.shape[1]):
        own = codes[voted[:, s]]
        others = np.delete(own, s, axis=1)
        assert counts[s, :130].tolist() == [(own[:, s] == k).sum() for k in range(1, 131)]
        assert counts[s, 130] == (others > 0).any(axis=1).sum()
        assert counts[s, 131] == ((others > 0) & (others != own[:, [s]])).any(axis=1).sum()
    assert met == (voted.sum(axis=1) > 1).sum()
    sparse = SparseVotes.of(sp.csc_array(codes.view(np.int8)))
    again = tally.compare_sparse_classes(
        sparse.starts, sparse.items, sparse.votes.view(np.uint8), len(codes), 130
    )
    assert np.array_equal(again[0], counts)
    assert again[1] == met


def votes_of(n_items, n_voters, abstain, seed=0):
    rng = np.random.default_rng(seed)
    votes = rng.choice([-1, 1], size=(n_items, n_voters)).astype(np.int8)
    votes[rng.random(votes.shape) < abstain] = 0
    return np.ascontiguousarray(votes.T)


def packed(votes, low=0, high=None):
    high = votes.shape[1] if high is None else high
    above = np.empty((len(votes), -(-(high - low) // 64)), np.uint64)
    voted = np.empty_like(above)
    tally.pack_votes(votes, low, high, above, voted)
    return above, voted


def test_ones_are_counted_with_and_without_compilation():
    assert tally.count_ones(np.uint64(0b1011)) == 3
    assert tally.count_ones(np.uint64(2**64 - 1)) == 64


@pytest.mark.parametrize("n_items", [1, 63, 64, 65, 300])
def test_packed_bits_are_the_votes(n_items):
    votes = votes_of(n_items, 5, 0.3)
    for plane, expected in zip(packed(votes), (votes > 0, votes != 0), strict=True):
        bits = np.unpackbits(plane.view(np.uint8), axis=1, bitorder="little")
        assert np.array_equal(bits[:, :n_items], expected)
        assert not bits[:, n_items:].any()


def test_a_part_of_the_items_is_packed_or_widened_alone():
    votes = votes_of(200, 3, 0.2)
    part = packed(np.ascontiguousarray(votes[:, 70:190]))
    for one, other in zip(packed(votes, 70, 190), part, strict=True):
        assert np.array_equal(one, other)
    votes = votes_of(100, 3, 0.2)
    out = np.full((2, 50), np.nan, np.float32)
    tally.widen_votes(votes, np.array([2, 0]), 20, 60, out)
    assert np.array_equal(out[:, :40], votes[[2, 0], 20:60])
    assert np.isnan(out[:, 40:]).all()


@pytest.mark.parametrize("n_items", [1, 64, 1000])
@pytest.mark.parametrize("n_voters", [1, 3, 4, 9])
def test_agreements_equal_the_matrix_product(n_items, n_voters):
    votes = votes_of(n_items, n_voters, 0.0)
    above, voted = packed(votes)
    expected = np.triu(naive_solver.agreements(votes.T))
    sums = np.zeros((n_voters, n_voters), np.int64)
    for first in range(0, n_voters, 4):
        tally.add_complete(above, n_items, first, min(first + 4, n_voters), sums)
    assert np.array_equal(np.triu(sums), expected)
    again = np.zeros_like(sums)
    tally.add_incomplete(above, voted, 0, n_voters, again)
    assert np.array_equal(np.triu(again), expected)


def test_agreements_count_only_items_on_which_both_voted():
    votes = votes_of(500, 7, 0.4)
    above, voted = packed(votes)
    sums = np.zeros((7, 7), np.int64)
    tally.add_incomplete(above, voted, 0, 7, sums)
    assert np.array_equal(np.triu(sums), np.triu(naive_solver.agreements(votes.T)))
