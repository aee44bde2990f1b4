"""The aggregators' sums on a table and on sparse votes, beside sums one by one."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import naive
import unelisa as ue
from places import crowd
from unelisa.errors import VotesError, VotesWarning
from unelisa.votes import Votes
from unelisa.votes import blocks as local_module
from unelisa.votes.block import rearrange_votes
from unelisa.votes.blocks import (
    SparseBlocks,
    SparseVotes,
    as_dense,
    compare_voters,
    hold_sparse,
    mark_starts,
    pick_items,
    tally_votes,
    weigh_votes,
)

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


KINDS = pytest.mark.parametrize("kind", ["table", "sparse"])


def draw(seed=0, n_items=37, n_voters=5):
    """Votes with an item nobody voted on, and a voter who never voted."""
    votes = np.random.default_rng(seed).choice(np.array([-1, 0, 1], np.int8), (n_items, n_voters))
    votes[3], votes[:, 2] = 0, 0
    return np.asfortranarray(votes)


def hold(votes, kind):
    return SparseVotes.of(votes) if kind == "sparse" else votes


@KINDS
def test_weighing_is_the_sum_over_an_items_votes(kind):
    signed, observed = np.random.default_rng(1).normal(size=(2, 5))
    found = weigh_votes(hold(draw(), kind), signed, observed)
    assert found == pytest.approx(naive.weigh_votes(draw(), signed, observed), abs=1e-12)
    assert found[3] == 0


@KINDS
def test_a_tally_is_the_sum_over_a_voters_items(kind):
    x = np.random.default_rng(2).normal(size=37)
    signed, observed = tally_votes(hold(draw(), kind), x)
    wanted = naive.tally_votes(draw(), x)
    assert signed == pytest.approx(wanted[0], abs=1e-12)
    assert observed == pytest.approx(wanted[1], abs=1e-12)
    assert signed[2] == observed[2] == 0


def test_flags_count_as_zero_and_one():
    flags = np.arange(37) % 2 == 0
    assert tally_votes(draw(), flags)[0].tolist() == draw()[flags].sum(axis=0).tolist()


@pytest.mark.parametrize("kind", ["table", "sparse"])
def test_voters_are_compared_item_by_item(kind):
    # nobody; alone; two agree; two disagree; all three, one against
    votes = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 1]]
    held = hold(np.array(votes, dtype=np.int8, order="F"), kind)
    counts, met = compare_voters(held)
    assert counts.tolist() == [[1, 3, 3, 2], [2, 1, 3, 2], [0, 1, 1, 1]]
    assert met == 3
    assert counts.dtype == np.int64


@pytest.mark.parametrize("shape", [(0, 3), (4, 3), (1, 1)])
def test_where_nobody_voted_all_is_zero(shape):
    for held in (np.zeros(shape, np.int8, order="F"), SparseVotes.of(sp.csr_array(shape))):
        assert weigh_votes(held, np.ones(shape[1]), np.ones(shape[1])).tolist() == [0.0] * shape[0]
        assert not np.any(tally_votes(held, np.ones(shape[0])))
        counts, met = compare_voters(held)
        assert (counts.tolist(), met) == ([[0] * 4] * shape[1], 0)


def test_callers_arrays_stay_writable():
    votes, x = draw(), np.ones(37)
    tally_votes(votes, x)
    weigh_votes(votes, np.ones(5), np.ones(5))
    assert votes.flags.writeable
    assert x.flags.writeable


@pytest.fixture
def sparse_votes(monkeypatch):
    """Sparse votes in three blocks, and the same as a table; no part of them becomes a table."""
    votes = crowd(2500, 12, abstain=0.8)
    monkeypatch.setattr(local_module, "DENSE_BYTES", 1000 * 12)
    monkeypatch.setattr(local_module, "SMALL_TABLE", 0)
    monkeypatch.setattr(local_module, "VOTE_BYTES", 0)
    names = np.array([f"v{s}" for s in range(12)], dtype=object)
    held = SparseBlocks(sp.csr_array(votes))
    assert len(held.blocks) == 3
    table = Votes.of(votes, coding="pm1")
    return Votes(held, np.arange(2500), names, named=False), table


def test_few_votes_in_a_large_table_are_never_a_table():
    rng = np.random.default_rng(0)
    i, s = rng.integers(0, 40_000, 3000), rng.integers(0, 5000, 3000)
    matrix = sp.coo_array((np.ones(3000, dtype=np.int8), (i, s)), shape=(40_000, 5000)).tocsr()
    matrix.data = rng.choice(np.array([-1, 1], dtype=np.int8), matrix.nnz)
    votes = Votes.of(matrix)
    assert isinstance(votes.blocks, SparseBlocks)
    assert matrix.nnz == votes.vote_counts().sum()
    with pytest.warns(VotesWarning):
        model = ue.MajorityVote().fit(matrix)
    assert model.weights_.sum() == np.count_nonzero(votes.vote_counts())


def test_a_long_table_becomes_sparse_where_that_is_smaller():
    rng = np.random.default_rng(0)
    n = 20_000
    long = {
        "item": rng.permutation(n).astype(str),
        "voter": rng.integers(0, 5000, n).astype(str),
        "vote": rng.choice(["no", "yes"], n),
    }
    votes = Votes.of(pd.DataFrame(long))
    assert isinstance(votes.blocks, SparseBlocks)
    one = int(np.flatnonzero(votes.items == long["item"][0])[0])
    whose = int(np.flatnonzero(votes.voters == long["voter"][0])[0])
    block = next(b for b in votes.blocks if b.start <= one < b.start + len(b.votes))
    assert as_dense(block.votes)[one - block.start, whose] == (
        1 if long["vote"][0] == "yes" else -1
    )


def test_small_or_dense_votes_stay_a_table():
    assert hold_sparse(sp.csr_array(crowd(500))).whole


@pytest.mark.parametrize(
    "method",
    [ue.MajorityVote, ue.Wawa, ue.ZeroBasedSkill, ue.OneCoinDawidSkene, ue.DawidSkene, ue.UnElisa],
)
def test_methods_give_the_same_answer_on_sparse_votes(method, sparse_votes):
    votes, table = sparse_votes
    settings = {"random_state": 0} if "random_state" in method().get_params() else {}
    if method is ue.UnElisa:
        settings |= {"fit_intercept": True, "penalty": 0.05}
    here, there = method(**settings).fit(table), method(**settings).fit(votes)
    assert there.weights_ == pytest.approx(here.weights_, abs=1e-6)
    assert there.decision_function(votes) == pytest.approx(here.decision_function(table), abs=1e-6)
    for column in ("votes", "overlaps", "conflicts", "reason"):
        assert there.voters_[column].tolist() == here.voters_[column].tolist()


@pytest.mark.parametrize("method", [ue.SpectralMetaLearner, ue.StackedRBM])
def test_other_methods_say_that_they_need_a_table(method, sparse_votes):
    with pytest.raises(VotesError, match="these votes are sparse, and this method needs"):
        method().fit(sparse_votes[0])


def test_some_items_of_sparse_votes_stay_sparse(sparse_votes):
    votes, table = sparse_votes
    rows = np.array([2400, 3, 3, 1700])
    taken = votes.take_items(rows)
    assert isinstance(taken.blocks, SparseBlocks)
    assert np.array_equal(taken.blocks.expand(), table.values[rows])
    assert votes.take_items(rows[:0]).blocks.expand().shape == (0, 12)
