import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unelisa.votes import Votes, order_voters
from unelisa.votes.blocks import SparseBlocks

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


def test_copies_are_neighbors():
    values = draw()[:, [0, 1, 0, 2, 3, 0]]
    order = order_voters(Votes.of(values, coding="pm1")).tolist()
    places = sorted(order.index(s) for s in (0, 2, 5))
    assert places == list(range(places[0], places[0] + 3))


def test_voters_who_discern_nothing_are_left_out():
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


def test_sparse_votes_have_the_same_order():
    import scipy.sparse as sp  # noqa: PLC0415

    values = draw()
    votes = Votes.of(values, coding="pm1")
    sparse = Votes(SparseBlocks(sp.csr_array(values)), votes.items, votes.voters)
    assert np.array_equal(order_voters(sparse), order_voters(votes))
