import numpy as np
import pytest
import scipy.sparse as sp

from unelisa.votes.blocks import SparseVotes, as_dense, mark_starts, pick_items
from unelisa.votes.one_block import rearrange_votes

VOTES = np.array([[1, 0, -1], [0, 0, 1], [-1, 0, 0], [0, 0, 1]], dtype=np.int8)


def test_runs_start_where_the_one_before_ends():
    assert mark_starts([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert mark_starts([]).tolist() == [0]
    assert mark_starts(np.array([1], dtype=np.int8)).dtype == np.int64


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_votes_are_listed_voter_by_voter(layout):
    votes = SparseVotes.of(layout(VOTES))
    assert votes.starts.tolist() == [0, 2, 2, 5]
    assert votes.items.tolist() == [0, 2, 0, 1, 3]
    assert votes.votes.tolist() == [1, -1, -1, 1, 1]
    assert (votes.starts.dtype, votes.items.dtype, votes.votes.dtype) == (
        np.int64,
        np.int32,
        np.int8,
    )
    assert (votes.shape, len(votes)) == ((4, 3), 4)


def test_stored_zeros_are_no_votes():
    matrix = sp.csr_array((np.array([0, 1]), np.array([0, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert SparseVotes.of(matrix).starts.tolist() == [0, 0, 1]


def test_a_sparse_block_and_its_table_are_the_same_votes():
    sparse = SparseVotes.of(VOTES)
    assert np.array_equal(sparse.matrix().toarray(), VOTES)
    for votes in (sparse, VOTES, VOTES.astype(np.int64), np.asfortranarray(VOTES)):
        dense = as_dense(votes)
        assert np.array_equal(dense, VOTES)
        assert dense.dtype == np.int8
        assert dense.flags.f_contiguous


def test_a_table_as_it_should_be_is_not_copied():
    table = np.asfortranarray(VOTES)
    assert as_dense(table) is table


@pytest.mark.parametrize("items", [[0, 3], [2], []])
def test_some_rows_are_picked(items):
    items = np.array(items, dtype=np.intp)
    for votes in (SparseVotes.of(VOTES), VOTES):
        picked = pick_items(votes, items)
        assert np.array_equal(picked, VOTES[items])
        assert picked.dtype == np.int8
        assert picked.flags.f_contiguous


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_nothing_is_nothing(shape):
    votes = SparseVotes.of(sp.csr_array(shape, dtype=np.int8))
    assert votes.shape == shape
    assert as_dense(votes).shape == shape


FOUR = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, 0], [1, 1, 1]], dtype=np.int8, order="F")


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("votes", [FOUR, SparseVotes.of(FOUR)], ids=["table", "sparse"])
def test_columns_are_picked_repeated_left_empty_and_reversed(votes, side):
    changed = rearrange_votes(votes, np.array([2, -1, 0, 2]), side)
    wanted = np.array([[-1, 0, 1, -1], [1, 0, 0, 1], [0, 0, -1, 0], [1, 0, 1, 1]])
    assert type(changed) is type(votes)
    assert np.array_equal(as_dense(changed), side * wanted)
    assert as_dense(changed).flags.f_contiguous
    assert np.array_equal(as_dense(votes), FOUR)  # the original is unchanged
    assert as_dense(rearrange_votes(votes, np.array([], dtype=np.intp))).shape == (4, 0)
    assert not as_dense(rearrange_votes(votes, np.array([-1, -1]))).any()
