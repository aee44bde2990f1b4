import numpy as np
import pytest

from unelisa.blocks import ItemBlocks, RowNumbers, WholeTable
from unelisa.blocks.base import add_sums, cut, group_items


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
    found = add_sums(totals, more)
    assert [part.tolist() for part in found] == [[2.0, 6.0], 7]
    assert [part.tolist() for part in totals] == [[1.0, 1.0], 3]
    with pytest.raises(ValueError, match="shorter"):
        add_sums(totals, more[:1])


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
