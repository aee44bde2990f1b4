import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unelisa as ue
from places import crowd
from unelisa.errors import VotesError, VotesWarning
from unelisa.votes import Votes
from unelisa.votes import blocks as local_module
from unelisa.votes.blocks import SparseBlocks, as_dense, hold_sparse


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


def test_voters_are_matched_by_name_on_sparse_votes(sparse_votes):
    votes, table = sparse_votes
    named = Votes(votes.blocks, votes.items, votes.voters)
    chosen = named.take_voters([3, 0])
    model = ue.MajorityVote().fit(chosen)
    assert model.decision_function(chosen) == pytest.approx(
        ue.MajorityVote()
        .fit(table.take_voters([3, 0]))
        .decision_function(table.take_voters([3, 0]))
    )
