import pickle

import numpy as np
import pytest

from unelisa.votes.blocks import (
    Block,
    ItemBlocks,
    LocalBlocks,
    WholeTable,
    _see,
    add_sums,
    as_dense,
    cut,
    group_items,
)
from unelisa.votes.columns import RowNumbers

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


BOTH = pytest.mark.parametrize("blocks", [WholeTable(VOTES), Halves()], ids=["whole", "halves"])


def show(block, x, scale):
    return scale * x[:, None] * as_dense(block.votes) + 100 * block.start


def add(block, x, scale):
    return (scale * x @ as_dense(block.votes), np.array(block.start))


@BOTH
def test_blocks_are_rearranged_when_they_are_visited(blocks):
    changed, x = blocks.using(2).rearrange(COLUMNS, -1), np.arange(1.0, 5.0)
    starts = 0 if blocks.whole else np.array([0, 1, 1, 1])[:, None]
    assert (changed.shape, changed.place) == ((4, 4), blocks.place)
    rows = changed.concatenate(show, 2.0, per_item=(x,))
    assert np.array_equal(rows, -2 * x[:, None] * WANTED + 100 * starts)
    assert changed.sum(add, 2.0, per_item=(x,))[0].tolist() == (-2 * x @ WANTED).tolist()
    assert np.array_equal(np.concatenate([b.votes for b in changed]), -WANTED)
    assert [b.start for b in changed] == [b.start for b in blocks]
    assert np.array_equal(changed.take(np.array([0, 3])).table(), -WANTED[[0, 3]])


def test_reversing_twice_gives_the_votes_back():
    back = Halves().rearrange(np.array([2, 1, 0]), -1).rearrange(np.array([2, 1, 0]), -1)
    assert np.array_equal(back.take(np.arange(4)).table(), VOTES)
    assert back.using(3).source.source.n_threads == 3


def split_items(block, x):
    """Yield one block per item, with the item's x added to its start."""
    for i in range(block.n_items):
        yield Block(block.votes[i : i + 1], block.start + i + x[i])


def double(block, factor):
    return Block(block.votes * factor, block.start)


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


def test_a_pass_over_a_view_can_be_sent():
    sent = []

    class Sent(Halves):
        def visit(self, job):
            sent.append((job.function, job.parameters))
            return super().visit(job)

    Sent().rearrange(COLUMNS).concatenate(show, 1.0, per_item=(np.ones(4),))
    function, parameters = pickle.loads(pickle.dumps(sent[0]))  # noqa: S301 - our own bytes
    assert function is _see
    assert np.array_equal(function(Block(VOTES, 0), np.ones(4), *parameters), WANTED)


def test_a_place_must_say_how_it_sums_and_takes():
    with pytest.raises(TypeError, match="abstract"):
        ItemBlocks()


def test_blocks_have_the_size_of_their_votes():
    held = WholeTable(np.zeros((4, 3), dtype=np.int8))
    assert (held.shape, len(held)) == ((4, 3), 4)


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


def test_adding_leaves_the_totals_as_they_were():
    totals, more = (np.ones(2), np.array(3)), (np.array([1.0, 5.0]), np.array(4))
    found = add_sums([totals, more])
    assert [part.tolist() for part in found] == [[2.0, 6.0], 7]
    assert [part.tolist() for part in totals] == [[1.0, 1.0], 3]
    with pytest.raises(ValueError, match="shorter"):
        add_sums([totals, more[:1]])


def test_items_are_grouped_by_the_block_they_lie_in():
    starts = np.array([0, 3, 3, 7, 10])  # the second block is empty
    groups = group_items(np.array([0, 2, 3, 6, 7, 9]), starts)
    assert {k: places.tolist() for k, places in groups.items()} == {
        0: [0, 2],
        2: [0, 3],
        3: [0, 2],
    }
    assert group_items(np.array([], dtype=np.intp), starts) == {}


def test_arrays_are_cut_to_a_block_and_an_empty_one_stays():
    per_item = [np.arange(6), np.empty(0), np.arange(12).reshape(6, 2)]
    numbers, none, rows = cut(per_item, 2, 4)
    assert (numbers.tolist(), none.size, rows.tolist()) == ([2, 3], 0, [[4, 5], [6, 7]])
