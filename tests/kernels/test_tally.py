import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
from unelisa.kernels.tally import (
    compare_classes,
    compare_sparse_classes,
    compare_voters,
    tally_sparse,
    tally_votes,
    weigh_sparse,
    weigh_votes,
)
from unelisa.votes.blocks import SparseVotes

VOTES = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([-1, 0, 1]),
)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_weighing_equals_the_naive_sum(values, seed):
    rng = np.random.default_rng(seed)
    signed, observed = rng.normal(size=(2, values.shape[1]))
    fast = weigh_votes(np.asfortranarray(values), signed, observed)
    assert fast == pytest.approx(naive.weigh_votes(values, signed, observed), abs=1e-12)


@given(VOTES, st.integers(0, 2**32 - 1))
def test_tallying_equals_the_naive_sum(values, seed):
    x = np.random.default_rng(seed).normal(size=values.shape[0])
    fast = tally_votes(np.asfortranarray(values), x)
    slow = naive.tally_votes(values, x)
    assert fast[0] == pytest.approx(slow[0], abs=1e-12)
    assert fast[1] == pytest.approx(slow[1], abs=1e-12)


def test_the_input_may_be_a_strided_view():
    values = np.zeros((6, 8), dtype=np.int8)
    values[:, ::2] = 1
    assert weigh_votes(values[::2, ::2], np.ones(4), np.zeros(4)) == pytest.approx([4.0] * 3)


@given(VOTES)
def test_voters_are_compared_as_counted_one_by_one(values):
    counts, met = compare_voters(np.asfortranarray(values))
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
    weighed = weigh_sparse(*parts, len(values), signed, observed)
    assert np.array_equal(weighed, weigh_votes(table, signed, observed))
    assert np.allclose(tally_sparse(*parts, x), tally_votes(table, x), rtol=0, atol=1e-14)


@given(
    hnp.arrays(
        np.uint8,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.sampled_from([0, 1, 2, 3, 130]),
    )
)
def test_classes_are_compared_as_the_naive_counts_say(codes):
    counts, met = compare_classes(np.asfortranarray(codes), 130)
    voted = codes > 0
    for s in range(codes.shape[1]):
        own = codes[voted[:, s]]
        others = np.delete(own, s, axis=1)
        assert counts[s, :130].tolist() == [(own[:, s] == k).sum() for k in range(1, 131)]
        assert counts[s, 130] == (others > 0).any(axis=1).sum()
        assert counts[s, 131] == ((others > 0) & (others != own[:, [s]])).any(axis=1).sum()
    assert met == (voted.sum(axis=1) > 1).sum()
    sparse = SparseVotes.of(sp.csc_array(codes.view(np.int8)))
    again = compare_sparse_classes(
        sparse.starts, sparse.items, sparse.votes.view(np.uint8), len(codes), 130
    )
    assert np.array_equal(again[0], counts)
    assert again[1] == met
