from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unelisa.errors import VotesError
from unelisa.votes import Votes, join_votes, order_voters
from unelisa.votes.blocks import MappedBlocks, SparseBlocks, WholeTable


def draw_long(seed, n_items=30, n_voters=5):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "item": rng.integers(0, n_items, 60),
            "voter": rng.choice(list("abcdefg")[:n_voters], 60),
            "vote": rng.choice(["no", "yes"], 60),
        }
    )
    return frame.drop_duplicates(["item", "voter"])


@pytest.mark.parametrize("place", [WholeTable, SparseBlocks])
def test_it_equals_reading_both_tables_with_the_last_vote_counting(place):
    first, then = draw_long(0), draw_long(1, 40, 7)
    earlier, more = Votes.of(first), Votes.of(then)
    if place is SparseBlocks:
        matrix = sp.csr_array(earlier.values)
        earlier = Votes(SparseBlocks(matrix), earlier.items, earlier.voters, earlier.classes)
    found = join_votes(earlier, more)
    both = Votes.of(pd.concat([first, then]), duplicates="last")
    rows = np.argsort(found.items)
    table = np.vstack([block.votes for block in found.take_items(rows).blocks])
    assert np.array_equal(table[:, np.argsort(found.voters)], both.values)
    assert np.array_equal(np.sort(found.items), both.items)
    keyed = then.merge(first, how="left", on=["item", "voter"])
    assert (keyed["vote_x"] != keyed["vote_y"])[keyed["vote_y"].notna()].any()  # some are changed
    assert np.array_equal(found.items[: earlier.n_items], earlier.items)


@pytest.mark.parametrize("two", ["2", " 2", 2.0])
def test_names_are_compared_in_their_one_spelling(two):
    first = Votes.of(pd.DataFrame({"item": [1, 2], "a": [1, -1], "b": [1, 1]}))
    more = Votes(first.blocks, np.array([two, "x"], dtype=object), np.array(["a", "c"]))
    more = replace(more, blocks=WholeTable(np.array([[1, -1], [1, 1]], dtype=np.int8)))
    joined = join_votes(first, more)
    assert joined.items.tolist() == [1, 2, "x"]
    assert joined.voters.tolist() == ["a", "b", "c"]
    assert joined.values.tolist() == [[1, 1, 0], [1, 1, -1], [1, 0, 1]]


def test_rows_without_names_are_new_items_and_memory_is_limited(tmp_path):
    votes = Votes.of(np.array([[1, 0], [0, 1]]))
    joined = join_votes(votes, votes)
    assert joined.values.tolist() == [[1, -1], [-1, 1]] * 2
    file = tmp_path / "votes"
    file.write_bytes(np.ones((2, 3), dtype=np.int8).tobytes())
    votes = Votes.of(draw_long(0))
    with file.open("rb") as opened:
        blocks = MappedBlocks(opened, 2, 3, 2)
        large = Votes(blocks, np.arange(2), np.array(list("abc")), votes.classes)
        with pytest.raises(VotesError, match="beyond the memory limit"):
            join_votes(votes, large)


TABLES = hnp.arrays(
    np.int8,
    st.tuples(st.integers(2, 30), st.integers(2, 7)),
    elements=st.sampled_from([-1, 0, 1, 1]),
).filter(np.any)


def sort_columns(values):
    votes = Votes.of(np.asfortranarray(values), coding="pm1")
    return values[:, order_voters(votes)]


def draw(shape=(200, 12), seed=0):
    return np.random.default_rng(seed).choice(np.array([-1, 0, 1, 1], dtype=np.int8), shape)


@pytest.mark.parametrize("side", [1, -1])
def test_the_order_of_voters_and_items_and_the_side_leave_no_trace(side):
    values = draw()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(200), rng.permutation(12)
    mixed = side * values[rows][:, columns]
    assert np.array_equal(side * sort_columns(mixed), sort_columns(values)[rows])


def test_copies_are_neighbors_and_who_discerns_nothing_is_left_out():
    values = draw()[:, [0, 1, 0, 2, 3, 0]]
    order = order_voters(Votes.of(values, coding="pm1")).tolist()
    places = sorted(order.index(s) for s in (0, 2, 5))
    assert places == list(range(places[0], places[0] + 3))
    values = draw()
    wider = np.insert(np.insert(values, 5, 1, axis=1), [0, 3], [0, -1], axis=1)
    assert np.array_equal(sort_columns(wider), sort_columns(values))


def test_equal_sums_are_told_apart_by_hashed_margins():
    """Two voters with as many votes and the same agreement, on items of other margins."""
    pattern = np.array(
        [[1, 1, 1, 1], [1, -1, 1, 1], [-1, 1, 1, -1], [1, 1, -1, -1], [-1, -1, 1, 1]]
    )
    keys = {tuple(column) for column in sort_columns(pattern).T.tolist()}
    assert keys == {tuple(column) for column in pattern.T.tolist()}


@given(TABLES)
def test_every_voter_who_discerns_items_is_there_once(values):
    votes = Votes.of(values, coding="pm1")
    assert sorted(order_voters(votes).tolist()) == np.flatnonzero(votes.discerning()).tolist()
