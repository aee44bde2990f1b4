import pickle

import numpy as np
import pytest

from unelisa.blocks import SparseVotes, WholeTable, as_dense, rearrange
from unelisa.blocks.base import Block
from unelisa.blocks.local import LocalBlocks
from unelisa.blocks.rearranged import _Seen

VOTES = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, 0], [1, 1, 1]], dtype=np.int8, order="F")
COLUMNS = np.array([2, -1, 0, 2])
WANTED = np.array([[-1, 0, 1, -1], [1, 0, 0, 1], [0, 0, -1, 0], [1, 0, 1, 1]], dtype=np.int8)


class Halves(LocalBlocks):
    """The votes in two blocks."""

    place = "in halves"
    n_items, n_voters = VOTES.shape
    starts = np.array([0, 1, 4])

    def open(self, number):
        start, stop = self.starts[number : number + 2]
        return Block(VOTES[start:stop], int(start))


def show(block, x, scale):
    return scale * x[:, None] * as_dense(block.votes) + 100 * block.start


def add(block, x, scale):
    return (scale * x @ as_dense(block.votes), np.array(block.start))


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("votes", [VOTES, SparseVotes.of(VOTES)], ids=["table", "sparse"])
def test_columns_are_picked_repeated_left_empty_and_turned(votes, side):
    changed = rearrange(votes, COLUMNS, side)
    assert type(changed) is type(votes)
    assert np.array_equal(as_dense(changed), side * WANTED)
    assert as_dense(changed).flags.f_contiguous
    assert np.array_equal(as_dense(votes), VOTES)  # what it was made of stays


@pytest.mark.parametrize("votes", [VOTES, SparseVotes.of(VOTES)], ids=["table", "sparse"])
def test_no_columns_and_only_strangers(votes):
    assert as_dense(rearrange(votes, np.array([], dtype=np.intp))).shape == (4, 0)
    assert not as_dense(rearrange(votes, np.array([-1, -1]))).any()


@pytest.mark.parametrize("held", [WholeTable(VOTES), Halves()], ids=["whole", "halves"])
def test_blocks_are_rearranged_as_they_are_looked_at(held):
    changed, x = rearrange(held, COLUMNS, -1), np.arange(1.0, 5.0)
    starts = 0 if held.whole else np.array([0, 1, 1, 1])[:, None]
    assert changed.shape == (4, 4)
    assert changed.place == held.place
    rows = changed.concatenate(show, 2.0, per_item=(x,), n_threads=2)
    assert np.array_equal(rows, -2 * x[:, None] * WANTED + 100 * starts)
    sums = changed.sum(add, 2.0, per_item=(x,), n_threads=2)
    assert sums[0].tolist() == (-2 * x @ WANTED).tolist()
    assert np.array_equal(np.concatenate([b.votes for b in changed]), -WANTED)
    assert [b.start for b in changed] == [b.start for b in held]
    assert np.array_equal(changed.take(np.array([0, 3])), -WANTED[[0, 3]])


def test_turning_twice_gives_the_votes_back():
    once = rearrange(Halves(), np.array([2, 1, 0]), -1)
    back = rearrange(once, np.array([2, 1, 0]), -1)
    assert np.array_equal(back.take(np.arange(4)), VOTES)


def test_a_pass_can_travel():
    seen = pickle.loads(pickle.dumps(_Seen(show, COLUMNS, 1)))  # noqa: S301 - our own bytes
    assert np.array_equal(seen(Block(VOTES, 0), np.ones(4), 1.0), WANTED)
