import numpy as np
import pytest
import scipy.sparse as sp

from latent.worlds import plain_crowd
from unelisa.blocks import MappedBlocks, SparseBlocks, WholeTable
from unelisa.latent import ballots as module
from unelisa.latent.ballots import (
    Ballots,
    MemoryBallots,
    VisitedBallots,
    count_votes,
    lay_ballots,
    pick_items,
)


@pytest.fixture
def values():
    return plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)[0]


def tabulate(ballots, n_voters):
    out = np.zeros((ballots.n_items, n_voters), dtype=np.int8)
    out[ballots.items, ballots.voters] = ballots.votes
    return out


def margins(ballots):
    return np.bincount(ballots.items, ballots.votes, ballots.n_items) + ballots.fields


def halve(ballots, share):
    return ballots._replace(weights=np.full(len(ballots.votes), share, dtype=np.float32))


def total_weight(ballots):
    return (np.array([ballots.weights.sum()]),)


def test_lists_hold_every_vote_once_and_in_order(values):
    ballots = MemoryBallots.of(values).blocks[0]
    assert np.array_equal(tabulate(ballots, 7), values)
    assert ballots.counts.tolist() == np.count_nonzero(values, axis=1).tolist()
    assert all(np.all(np.diff(part) > 0) for part in np.split(ballots.voters, ballots.starts[1:-1]))


def test_counts(values):
    votes, yes, (heard, pairs, n_items) = MemoryBallots.of(values).sum(count_votes, 7)
    assert votes.tolist() == np.count_nonzero(values, axis=0).tolist()
    assert yes.tolist() == (values > 0).sum(axis=0).tolist()
    assert (heard, pairs, n_items) == (50, 50 * 3 * 2, 50)


def test_the_size_of_blocks_and_threads_change_no_bit(values, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 8)
    fields = np.linspace(-1, 1, 50)
    found = [MemoryBallots.of(values, fields, n_jobs) for n_jobs in (1, 2, 4)]
    assert len(found[0].blocks) == 7
    for blocks in found:
        assert blocks.n_items == 50
        assert np.array_equal(blocks.concatenate(margins), values.sum(axis=1) + fields)
        assert np.array_equal(blocks.sum(count_votes, 7)[0], np.count_nonzero(values, axis=0))


def test_some_items_can_be_taken(values, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 8)
    items = np.array([0, 7, 8, 31, 49])
    fields = np.arange(50.0)
    blocks = MemoryBallots.of(values, fields).rewrite(halve, 0.5)
    taken = blocks.take(items).blocks[0]
    assert np.array_equal(tabulate(taken, 7), values[items])
    assert taken.fields.tolist() == fields[items].tolist()
    assert set(taken.weights) == {np.float32(0.5)}
    nobody = pick_items(taken, np.empty(0, dtype=np.intp))
    assert (nobody.n_items, len(nobody.votes)) == (0, 0)


def test_votes_elsewhere_give_the_same_as_votes_in_memory(values):
    fields = np.linspace(-1, 1, 50)
    here = MemoryBallots.of(values, fields)
    visited = VisitedBallots(WholeTable(values), fields, 2).rewrite(halve, 0.5)
    sparse = lay_ballots(SparseBlocks(sp.csr_array(values)), fields)
    assert isinstance(sparse, MemoryBallots)
    for blocks in (visited, sparse):
        assert np.array_equal(blocks.concatenate(margins), here.concatenate(margins))
        for one, other in zip(blocks.sum(count_votes, 7), here.sum(count_votes, 7), strict=True):
            assert np.array_equal(one, other)
        items = np.array([3, 4, 40])
        assert np.array_equal(tabulate(blocks.take(items).blocks[0], 7), values[items])
    assert visited.sum(total_weight)[0] == [np.count_nonzero(values) / 2]


def test_what_is_laid_depends_on_where_the_votes_are(values):
    assert isinstance(lay_ballots(values, np.zeros(50)), MemoryBallots)
    assert isinstance(lay_ballots(WholeTable(values), np.zeros(50)), VisitedBallots)
    assert issubclass(MappedBlocks, module.ItemBlocks)
    assert Ballots(*MemoryBallots.of(values).blocks[0][:4]).weights.size == 0
