"""The aggregators' sums on a table and on sparse votes, beside sums one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from unelisa.votes.blocks import SparseVotes, compare_voters, tally_votes, weigh_votes

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


@KINDS
def test_whole_numbers_are_added_too(kind):
    signed, observed = tally_votes(hold(draw(), kind), np.ones(37))
    assert signed.tolist() == draw().sum(axis=0).tolist()
    assert observed.tolist() == np.abs(draw()).sum(axis=0).tolist()


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
