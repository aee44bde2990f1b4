"""Blocks in order, whatever the threads; no more of them open than there are threads."""

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unelisa as ue
from places import crowd
from unelisa.errors import ExpertsWarning, VotesError, VotesWarning
from unelisa.kernels.l1_logistic import CHUNK
from unelisa.votes import Votes
from unelisa.votes import blocks as local
from unelisa.votes.block import rearrange_votes
from unelisa.votes.columns import RowNumbers

VOTES = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, 0], [1, 1, 1]], dtype=np.int8, order="F")
COLUMNS = np.array([2, -1, 0, 2])
WANTED = np.array([[-1, 0, 1, -1], [1, 0, 0, 1], [0, 0, -1, 0], [1, 0, 1, 1]], dtype=np.int8)


class Halves(local.LocalBlocks):
    """The votes in two blocks."""

    place = "in halves"
    n_items, n_voters = VOTES.shape
    starts = np.array([0, 1, 4])

    def open(self, number):
        start, stop = self.starts[number : number + 2]
        return local.Block(VOTES[start:stop], int(start))


BOTH = pytest.mark.parametrize(
    "blocks", [local.WholeTable(VOTES), Halves()], ids=["whole", "halves"]
)


def show(block, x, scale):
    return scale * x[:, None] * local.as_dense(block.votes) + 100 * block.start


def add(block, x, scale):
    return (scale * x @ local.as_dense(block.votes), np.array(block.start))


def split_items(block, x):
    """Yield one block per item, with the item's x added to its start."""
    for i in range(block.n_items):
        yield local.Block(block.votes[i : i + 1], block.start + i + x[i])


def double(block, factor):
    return local.Block(block.votes * factor, block.start)


@BOTH
def test_views_can_be_stacked_and_may_split_blocks(blocks):
    x, y = np.array([0.0, 10, 20, 30]), np.arange(4.0)
    view = blocks.view(split_items, per_item=(x,)).view(double, np.int8(2))
    assert [block.start for block in view] == [0, 11, 22, 33]
    assert np.array_equal(np.concatenate([block.votes for block in view]), 2 * VOTES)
    rows = view.concatenate(show, 1.0, per_item=(y,))
    assert np.array_equal(rows, 2 * y[:, None] * VOTES + 100 * np.array([[0], [11], [22], [33]]))
    assert view.sum(add, 1.0, per_item=(y,))[0].tolist() == (2 * y @ VOTES).tolist()
    taken = view.take(np.array([1, 3]))
    assert [block.start for block in taken] == [0 + 10, 1 + 30]  # numbered anew, with their own x
    assert np.array_equal(np.concatenate([block.votes for block in taken]), 2 * VOTES[[1, 3]])


def test_views_are_sent_and_made_once():
    sent = []

    class Sent(Halves):
        def visit(self, job):
            sent.append((job.function, job.parameters))
            return super().visit(job)

    Sent().rearrange(COLUMNS).concatenate(show, 1.0, per_item=(np.ones(4),))
    function, parameters = pickle.loads(pickle.dumps(sent[0]))  # noqa: S301 - our own bytes
    assert function is local._see
    assert np.array_equal(function(local.Block(VOTES, 0), np.ones(4), *parameters), WANTED)
    made = []

    def change(block):
        made.append(block.start)
        return block

    view = local.WholeTable(TABLE).view(change)
    for _ in range(3):
        view.sum(lambda block: (np.array(block.n_items),))
    assert made == [0]


def test_row_numbers_are_names_made_when_asked_for():
    names = RowNumbers(5)
    assert (len(names), list(names), names.tolist()) == (5, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert names[3] == 3
    assert names[1:4].tolist() == [1, 2, 3]
    assert names[::-2].tolist() == [4, 2, 0]
    assert names[3:99].tolist() == [3, 4]
    assert names[np.array([4, 0, 4])].tolist() == [4, 0, 4]
    assert names[np.array([True, False, False, True, False])].tolist() == [0, 3]
    assert np.asarray(names, dtype=np.float64).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert list(RowNumbers(0)) == []


def test_totals_stay_as_they_were_and_items_lie_in_blocks():
    totals, more = (np.ones(2), np.array(3)), (np.array([1.0, 5.0]), np.array(4))
    found = local.add_sums([totals, more])
    assert [part.tolist() for part in found] == [[2.0, 6.0], 7]
    assert [part.tolist() for part in totals] == [[1.0, 1.0], 3]
    with pytest.raises(ValueError, match="shorter"):
        local.add_sums([totals, more[:1]])
    starts = np.array([0, 3, 3, 7, 10])  # the second block is empty
    groups = local.group_items(np.array([0, 2, 3, 6, 7, 9]), starts)
    assert {k: places.tolist() for k, places in groups.items()} == {0: [0, 2], 2: [0, 3], 3: [0, 2]}
    assert local.group_items(np.array([], dtype=np.intp), starts) == {}
    per_item = [np.arange(6), np.empty(0), np.arange(12).reshape(6, 2)]
    numbers, none, rows = local.cut(per_item, 2, 4)
    assert (numbers.tolist(), none.size, rows.tolist()) == ([2, 3], 0, [[4, 5], [6, 7]])


class CutTable(local.LocalBlocks):
    """A table in blocks that remember how many were ever held at once."""

    place = "in pieces"

    def __init__(self, votes, starts):
        self.votes, self.starts = votes, np.array(starts)
        self.n_items, self.n_voters = votes.shape
        self.held, self.most, self.lock = 0, 0, threading.Lock()

    def open(self, number):
        start, stop = self.starts[number : number + 2]
        return local.Block(self.votes[start:stop], int(start))

    def hold(self, block):
        with self.lock:
            self.held += 1
            self.most = max(self.most, self.held)
        threading.Event().wait(0.002)
        with self.lock:
            self.held -= 1
        return (np.array(len(block.votes)),)


@pytest.fixture
def votes():
    return np.random.default_rng(0).choice(np.array([-1, 0, 1], dtype=np.int8), (50, 3))


@pytest.fixture
def table(votes):
    return CutTable(votes, [0, 1, 20, 33, 50])


def test_the_bits_of_a_sum_do_not_depend_on_the_threads():
    votes = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.int8), (3 * CHUNK + 7, 3))
    x = (
        np.random.default_rng(1).normal(size=len(votes))
        * 10.0 ** np.arange(-8, 8).repeat(385)[: len(votes)]
    )
    table = CutTable(votes, [*range(0, len(votes), CHUNK // 4), len(votes)])
    alone = table.sum(add, 1.0, per_item=(x,))[0]
    for n_threads in (2, 3, 16):
        again = table.using(n_threads).sum(add, 1.0, per_item=(x,))[0]
        assert again.tobytes() == alone.tobytes()


def test_no_block_and_any_type_of_rows(table):
    flags = table.concatenate(lambda block: (block.votes > 0).any(axis=1))
    assert (flags.dtype, flags.shape) == (np.bool_, (50,))
    table = CutTable(np.empty((0, 3), dtype=np.int8), [0])
    assert table.sum(add, 1.0, per_item=(np.empty(0),)) == ()
    assert table.concatenate(show, 1.0, per_item=(np.empty(0),)).shape == (0,)
    assert list(table) == []


@pytest.mark.parametrize("n_threads", [1, 2])
def test_no_more_blocks_are_held_than_there_are_threads(table, n_threads):
    assert table.using(n_threads).sum(table.hold) == (50,)
    assert table.most <= n_threads


TABLE = np.array([[1, -1], [0, 1], [1, 1]], dtype=np.int8, order="F")
KINDS = pytest.mark.parametrize(
    "votes", [TABLE, local.SparseVotes.of(TABLE)], ids=["table", "sparse"]
)


@KINDS
def test_a_whole_table_is_one_block(votes):
    whole, seen = local.WholeTable(votes), []

    def look(block, per_item, factor):
        seen.append(block)
        return factor * per_item

    assert whole.concatenate(look, 3.0, per_item=(np.arange(3.0),)).tolist() == [0.0, 3.0, 6.0]
    assert all(block.votes is votes and block.start == 0 for block in [*seen, *whole])
    assert (whole.shape, whole.whole, len(seen)) == ((3, 2), True, 1)
    taken = whole.take(np.array([2, 0])).table()
    assert taken.tolist() == [[1, 1], [1, -1]]
    assert taken.flags.f_contiguous


def test_who_needs_a_table_gets_it_or_says_why_not(tmp_path):
    assert local.WholeTable(TABLE).table("a test") is TABLE
    elsewhere = local.MappedBlocks(tmp_path / "votes.int8", 3, 2, 3)
    for blocks, words in (
        (elsewhere, "in a file"),
        (local.WholeTable(local.SparseVotes.of(TABLE)), "sparse"),
    ):
        with pytest.raises(VotesError, match=f"these votes are {words}, and a test needs all"):
            blocks.table("a test")


@pytest.fixture
def mapped(tmp_path):
    """Five items of two voters in blocks of two: within a block one voter after the other."""
    file = tmp_path / "votes.int8"
    file.write_bytes(np.array([1, -1, 0, 1, 1, 1, -1, -1, 0, 1], dtype=np.int8).tobytes())
    return local.MappedBlocks(file, 5, 2, 2)


def test_a_block_is_a_run_of_bytes_that_nobody_can_write(mapped, tmp_path):
    found = [(block.start, block.votes.tolist()) for block in mapped]
    assert found == [(0, [[1, 0], [-1, 1]]), (2, [[1, -1], [1, -1]]), (4, [[0, 1]])]
    assert all(block.votes.flags.f_contiguous for block in mapped)
    with pytest.raises(ValueError, match="read-only"):
        mapped.open(0).votes[0, 0] = 1
    (tmp_path / "none.int8").write_bytes(b"")
    held = local.MappedBlocks(tmp_path / "none.int8", 0, 2, 4)
    assert (list(held), held.take(np.array([], dtype=np.intp)).shape) == ([], (0, 2))


@pytest.mark.parametrize("n_voters", [1, 50, 1400, 8191, 8192, 8193, 10**6])
def test_a_block_is_as_large_as_it_may_be_in_whole_chunks(n_voters):
    items = local.fitting_items(n_voters)
    assert items % CHUNK == 0
    assert items * n_voters <= local.BLOCK_BYTES or items == CHUNK
    step = 8192 if items >= 8192 else CHUNK
    assert items % step == 0
    assert (items + step) * n_voters > local.BLOCK_BYTES


STORED = np.array([[1, 0, -1], [0, 0, 1], [-1, 0, 0], [0, 0, 1]], dtype=np.int8)


def test_runs_start_where_the_one_before_ends_and_zeros_are_no_votes():
    assert local.mark_starts([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert local.mark_starts([]).tolist() == [0]
    assert local.mark_starts(np.array([1], dtype=np.int8)).dtype == np.int64
    matrix = sp.csr_array((np.array([0, 1]), np.array([0, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert local.SparseVotes.of(matrix).starts.tolist() == [0, 0, 1]


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_votes_are_listed_voter_by_voter(layout):
    votes = local.SparseVotes.of(layout(STORED))
    assert votes.starts.tolist() == [0, 2, 2, 5]
    assert votes.items.tolist() == [0, 2, 0, 1, 3]
    assert votes.votes.tolist() == [1, -1, -1, 1, 1]
    assert (votes.starts.dtype, votes.items.dtype, votes.votes.dtype) == (
        np.int64,
        np.int32,
        np.int8,
    )
    assert (votes.shape, len(votes)) == ((4, 3), 4)


def test_a_sparse_block_and_its_table_are_the_same_votes_and_a_table_is_not_copied():
    sparse = local.SparseVotes.of(STORED)
    assert np.array_equal(sparse.matrix().toarray(), STORED)
    for votes in (sparse, STORED, STORED.astype(np.int64), np.asfortranarray(STORED)):
        dense = local.as_dense(votes)
        assert np.array_equal(dense, STORED)
        assert dense.dtype == np.int8
        assert dense.flags.f_contiguous
    table = np.asfortranarray(STORED)
    assert local.as_dense(table) is table


@pytest.mark.parametrize("items", [[0, 3], [2], []])
def test_some_rows_are_picked(items):
    items = np.array(items, dtype=np.intp)
    for votes in (local.SparseVotes.of(STORED), STORED):
        picked = local.pick_items(votes, items)
        assert np.array_equal(picked, STORED[items])
        assert picked.dtype == np.int8
        assert picked.flags.f_contiguous


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_nothing_is_nothing(shape):
    votes = local.SparseVotes.of(sp.csr_array(shape, dtype=np.int8))
    assert votes.shape == shape
    assert local.as_dense(votes).shape == shape


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("votes", [VOTES, local.SparseVotes.of(VOTES)], ids=["table", "sparse"])
def test_columns_are_picked_repeated_left_empty_and_reversed(votes, side):
    changed = rearrange_votes(votes, COLUMNS, side)
    assert type(changed) is type(votes)
    assert np.array_equal(local.as_dense(changed), side * WANTED)
    assert local.as_dense(changed).flags.f_contiguous
    assert np.array_equal(local.as_dense(votes), VOTES)  # the original is unchanged
    assert local.as_dense(rearrange_votes(votes, np.array([], dtype=np.intp))).shape == (4, 0)
    assert not local.as_dense(rearrange_votes(votes, np.array([-1, -1]))).any()


@pytest.mark.parametrize("shape", [(0, 3), (4, 3), (1, 1)])
def test_where_nobody_voted_all_is_zero(shape):
    for held in (np.zeros(shape, np.int8, order="F"), local.SparseVotes.of(sp.csr_array(shape))):
        assert (
            local.weigh_votes(held, np.ones(shape[1]), np.ones(shape[1])).tolist()
            == [0.0] * shape[0]
        )
        assert not np.any(local.tally_votes(held, np.ones(shape[0])))
        counts, met = local.compare_voters(held)
        assert (counts.tolist(), met) == ([[0] * 4] * shape[1], 0)


def test_callers_arrays_stay_writable():
    votes, x = VOTES.copy(order="F"), np.ones(4)
    local.tally_votes(votes, x)
    local.weigh_votes(votes, np.ones(3), np.ones(3))
    assert votes.flags.writeable
    assert x.flags.writeable


@pytest.fixture
def sparse_votes(monkeypatch):
    """Sparse votes in three blocks, and the same as a table; no part of them becomes a table."""
    votes = crowd(2500, 12, abstain=0.8)
    monkeypatch.setattr(local, "DENSE_BYTES", 1000 * 12)
    monkeypatch.setattr(local, "SMALL_TABLE", 0)
    monkeypatch.setattr(local, "VOTE_BYTES", 0)
    names = np.array([f"v{s}" for s in range(12)], dtype=object)
    held = local.SparseBlocks(sp.csr_array(votes))
    assert len(held.blocks) == 3
    table = Votes.of(votes, coding="pm1")
    return Votes(held, np.arange(2500), names, named=False), table


def test_few_votes_in_a_large_table_are_never_a_table_and_small_ones_stay():
    rng = np.random.default_rng(0)
    i, s = rng.integers(0, 40_000, 3000), rng.integers(0, 5000, 3000)
    matrix = sp.coo_array((np.ones(3000, dtype=np.int8), (i, s)), shape=(40_000, 5000)).tocsr()
    matrix.data = rng.choice(np.array([-1, 1], dtype=np.int8), matrix.nnz)
    votes = Votes.of(matrix)
    assert isinstance(votes.blocks, local.SparseBlocks)
    assert matrix.nnz == votes.vote_counts().sum()
    with pytest.warns((VotesWarning, ExpertsWarning)):
        model = ue.MajorityVote().fit(matrix)
    assert model.weights_.sum() == np.count_nonzero(votes.vote_counts())
    assert local.hold_sparse(sp.csr_array(crowd(500))).whole


def test_large_tables_become_sparse_and_stay_so():
    rng = np.random.default_rng(0)
    n = 20_000
    long = {
        "item": rng.permutation(n).astype(str),
        "voter": rng.integers(0, 5000, n).astype(str),
        "vote": rng.choice(["no", "yes"], n),
    }
    votes = Votes.of(pd.DataFrame(long))
    assert isinstance(votes.blocks, local.SparseBlocks)
    one = int(np.flatnonzero(votes.items == long["item"][0])[0])
    whose = int(np.flatnonzero(votes.voters == long["voter"][0])[0])
    block = next(b for b in votes.blocks if b.start <= one < b.start + len(b.votes))
    assert local.as_dense(block.votes)[one - block.start, whose] == (
        1 if long["vote"][0] == "yes" else -1
    )
    # a pass has sums of all voters for each block: blocks of few votes would cost the square
    n_items, n_voters, rng = 60_000, 30_000, np.random.default_rng(0)
    voters = rng.integers(n_voters, size=(n_items, 3))
    table = np.ones(voters.size, dtype=np.int8), voters.ravel(), np.arange(0, voters.size + 1, 3)
    blocks = local.SparseBlocks(sp.csr_array(table, shape=(n_items, n_voters)))
    assert len(blocks.blocks) * n_voters <= 0.6 * voters.size
    assert (
        sum(len(block.votes.votes) for block in blocks)
        == np.unique(voters + n_voters * np.arange(n_items)[:, None]).size
    )


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
    assert isinstance(taken.blocks, local.SparseBlocks)
    assert np.array_equal(taken.blocks.expand(), table.values[rows])
    assert votes.take_items(rows[:0]).blocks.expand().shape == (0, 12)
