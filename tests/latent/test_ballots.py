import numpy as np
import pytest
import scipy.sparse as sp

from latent.worlds import ballots_of, plain_crowd, run_of
from places import write_blocks
from unelisa.blocks import SparseBlocks
from unelisa.latent import ballots as module
from unelisa.latent.ballots import (
    count_votes,
    fill_silence,
    keep_voters,
    list_ballots,
    set_prior_odds,
    take_ballots,
)


@pytest.fixture
def values():
    return plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)[0]


def tabulate(ballots, n_voters):
    out = np.zeros((ballots.n_items, n_voters), dtype=np.int8)
    out[ballots.items, ballots.voters] = ballots.votes
    return out


def margins(ballots):
    return np.bincount(ballots.items, ballots.votes, ballots.n_items) + ballots.prior_odds


def reverse(ballots, side):
    return ballots._replace(votes=(side * ballots.votes).astype(np.int8))


def test_lists_hold_every_vote_once_and_in_order(values):
    ballots = run_of(values)
    assert np.array_equal(tabulate(ballots, 7), values)
    assert ballots.counts.tolist() == np.count_nonzero(values, axis=1).tolist()
    assert all(np.all(np.diff(part) > 0) for part in np.split(ballots.voters, ballots.starts[1:-1]))


def test_counts(values):
    votes, yes, pairs = ballots_of(values).sum(count_votes, 7)
    assert votes.tolist() == np.count_nonzero(values, axis=0).tolist()
    assert yes.tolist() == (values > 0).sum(axis=0).tolist()
    assert pairs == 50 * 3 * 2


def test_runs_and_threads_change_no_bit(values, monkeypatch):
    monkeypatch.setattr(module, "RUN", 8)
    prior_odds = np.linspace(-1, 1, 50)
    for n_jobs in (1, 2, 4):
        ballots = ballots_of(values, prior_odds, n_jobs)
        assert (len(list(ballots)), ballots.n_items) == (7, 50)
        assert np.array_equal(ballots.concatenate(margins), values.sum(axis=1) + prior_odds)
        assert np.array_equal(ballots.sum(count_votes, 7)[0], np.count_nonzero(values, axis=0))


@pytest.mark.parametrize("place", ["memory", "sparse", "file"])
def test_ballots_are_the_same_wherever_the_votes_are(values, place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RUN", 8)
    prior_odds = np.linspace(-1, 1, 50)
    here = ballots_of(values, prior_odds)
    blocks = {
        "memory": lambda: None,
        "sparse": lambda: SparseBlocks(sp.csr_array(values)),
        "file": lambda: write_blocks(tmp_path / "votes", values, 20),
    }[place]()
    listed = ballots_of(values) if blocks is None else list_ballots(blocks, 2)
    there = set_prior_odds(listed, prior_odds)
    assert np.array_equal(there.concatenate(margins), here.concatenate(margins))
    for one, other in zip(there.sum(count_votes, 7), here.sum(count_votes, 7), strict=True):
        assert np.array_equal(one, other)
    reversed_, items = there.view(reverse, -1), np.array([0, 7, 8, 31, 49])
    assert np.array_equal(reversed_.concatenate(margins), prior_odds - values.sum(axis=1))
    taken = take_ballots(reversed_, items)
    assert np.array_equal(tabulate(taken, 7), -values[items])
    assert taken.prior_odds.tolist() == prior_odds[items].tolist()
    assert take_ballots(there, items[:0]).n_items == 0
    joined = take_ballots(reversed_, np.arange(50))  # several runs as one
    assert np.array_equal(tabulate(joined, 7), -values)


def test_without_prior_odds_they_are_zero(values):
    (run,) = set_prior_odds(ballots_of(values), np.zeros(50))
    assert run.prior_odds.tolist() == [0.0] * 50


def test_silence_is_filled_on_items_with_votes_only():
    values = np.array([[1, 0, 1], [0, 0, 0], [0, -1, 0]], dtype=np.int8)
    ballots = run_of(values)
    filled = fill_silence(ballots, np.array([-1, 1, 0], dtype=np.int8))
    assert filled.counts.tolist() == [3, 0, 2]
    assert filled.votes.tolist() == [1, 1, 1, -1, -1]
    assert filled.voters.tolist() == [0, 1, 2, 0, 1]


def test_votes_of_some_voters_are_kept(values):
    kept = np.arange(7) != 2
    ballots = run_of(values, np.linspace(-1, 1, 50))
    found = keep_voters(ballots, kept)
    assert np.array_equal(tabulate(found, 7), np.where(kept, values, 0))
    assert np.array_equal(found.prior_odds, ballots.prior_odds)
    assert keep_voters(ballots, np.ones(7, dtype=bool)) is ballots
