"""Blocks in order, whatever the threads; no more of them open than there are threads."""

import threading

import numpy as np
import pytest

from unelisa.errors import VotesError
from unelisa.kernels.l1_logistic import CHUNK
from unelisa.votes.blocks import Block, LocalBlocks, MappedBlocks, SparseVotes, WholeTable


class CutTable(LocalBlocks):
    """A table in blocks that remember how many were ever held at once."""

    place = "in pieces"

    def __init__(self, votes, starts):
        self.votes, self.starts = votes, np.array(starts)
        self.n_items, self.n_voters = votes.shape
        self.held, self.most, self.lock = 0, 0, threading.Lock()

    def open(self, number):
        start, stop = self.starts[number : number + 2]
        return Block(self.votes[start:stop], int(start))

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


def add(block, x, scale):
    return (scale * (x @ block.votes), np.array(block.start))


def double(block, x, scale):
    return scale * x[:, None] * block.votes + block.start


def test_sums_are_those_of_one_table(votes, table):
    x = np.random.default_rng(1).normal(size=50)
    sums, starts = table.sum(add, 2.0, per_item=(x,))
    assert np.allclose(sums, 2 * x @ votes)
    assert starts == 0 + 1 + 20 + 33


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


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_rows_come_in_the_items_order(votes, table, n_threads):
    x = np.arange(50.0)
    rows = table.using(n_threads).concatenate(double, 3.0, per_item=(x,))
    starts = np.repeat([0, 1, 20, 33], [1, 19, 13, 17])
    assert np.array_equal(rows, 3.0 * x[:, None] * votes + starts[:, None])


def test_rows_keep_the_type_that_the_function_gives(table):
    flags = table.concatenate(lambda block: (block.votes > 0).any(axis=1))
    assert (flags.dtype, flags.shape) == (np.bool_, (50,))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_no_more_blocks_are_held_than_there_are_threads(table, n_threads):
    assert table.using(n_threads).sum(table.hold) == (50,)
    assert table.most <= n_threads


def test_items_are_taken_from_the_blocks_they_lie_in(votes, table):
    items = np.array([0, 1, 19, 20, 49])
    taken = table.take(items).table()
    assert np.array_equal(taken, votes[items])
    assert taken.flags.f_contiguous
    none = table.take(np.array([], dtype=np.intp)).table()
    assert (none.shape, none.dtype) == ((0, 3), np.int8)


def test_blocks_are_visited_one_by_one(votes, table):
    assert [block.start for block in table] == [0, 1, 20, 33]
    assert np.array_equal(np.concatenate([block.votes for block in table]), votes)


def test_without_items_there_are_no_blocks():
    table = CutTable(np.empty((0, 3), dtype=np.int8), [0])
    assert table.sum(add, 1.0, per_item=(np.empty(0),)) == ()
    assert table.concatenate(double, 1.0, per_item=(np.empty(0),)).shape == (0,)
    assert list(table) == []


TABLE = np.array([[1, -1], [0, 1], [1, 1]], dtype=np.int8, order="F")
KINDS = pytest.mark.parametrize("votes", [TABLE, SparseVotes.of(TABLE)], ids=["table", "sparse"])


@KINDS
def test_a_whole_table_is_one_block(votes):
    whole, seen = WholeTable(votes), []

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
    assert WholeTable(TABLE).table("a test") is TABLE
    elsewhere = MappedBlocks(tmp_path / "votes.int8", 3, 2, 3)
    for blocks, words in (
        (elsewhere, "in a file"),
        (WholeTable(SparseVotes.of(TABLE)), "sparse"),
    ):
        with pytest.raises(VotesError, match=f"these votes are {words}, and a test needs all"):
            blocks.table("a test")


def test_a_view_in_memory_is_made_once():
    made = []

    def change(block):
        made.append(block.start)
        return block

    view = WholeTable(TABLE).view(change)
    for _ in range(3):
        view.sum(lambda block: (np.array(block.n_items),))
    assert made == [0]
