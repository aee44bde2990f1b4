import numpy as np
import pytest
import scipy.sparse as sp

from latent.worlds import ballots_of, plain_crowd, run_of
from places import write_blocks
from unelisa.votes import ballots as module
from unelisa.votes.blocks import SparseBlocks


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


def test_lists_and_answers_are_by_class(values):
    assert run_of(np.array([[1, -1, 0, 1]], dtype=np.int8)).answer(2).tolist() == [1, 0, 1]
    codes = np.array([[3, 0, 1], [0, 2, 127]], dtype=np.int8)
    answers = run_of(codes).answer(127)
    assert answers.tolist() == [2, 0, 1, 126]
    assert answers.dtype == np.uint8
    assert run_of(values).log_priors(2).shape == (0, 2)
    odds = np.linspace(-1, 1, 50)
    logs = run_of(values, odds).log_priors(2)
    assert logs[:, 1] - logs[:, 0] == pytest.approx(odds)
    table = np.arange(150.0).reshape(50, 3)
    assert np.array_equal(run_of(np.abs(values), table).log_priors(3), table)
    odds = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 0.0]])
    fixed = module.fix_labels(odds, np.array([2, 0], dtype=np.int8))
    assert fixed.tolist() == [[-module.CERTAIN, 0.0, -module.CERTAIN], [0.5, 0.0, 0.0]]
    assert odds[0].tolist() == [0.0, 1.0, 2.0]
    (run,) = module.set_prior_odds(ballots_of(values), np.zeros(50))
    assert run.prior_odds.tolist() == [0.0] * 50
    ballots = run_of(values)
    assert np.array_equal(tabulate(ballots, 7), values)
    assert ballots.counts.tolist() == np.count_nonzero(values, axis=1).tolist()
    assert all(np.all(np.diff(part) > 0) for part in np.split(ballots.voters, ballots.starts[1:-1]))
    kept, ballots = np.arange(7) != 2, run_of(values, np.linspace(-1, 1, 50))
    found = module.keep_voters(ballots, kept)
    assert np.array_equal(tabulate(found, 7), np.where(kept, values, 0))
    assert np.array_equal(found.prior_odds, ballots.prior_odds)
    assert module.keep_voters(ballots, np.ones(7, dtype=bool)) is ballots
    cast, pairs = ballots_of(values).sum(module.count_votes, 7, 2)
    assert cast.tolist() == np.stack([values < 0, values > 0]).sum(axis=1).T.tolist()
    assert pairs == 50 * 3 * 2
    assert ballots_of(values).concatenate(module.count_heard).tolist() == [3] * 50
    codes = np.array([[1, 3, 0], [2, 3, 3]], dtype=np.int8)
    cast, pairs = ballots_of(codes).sum(module.count_votes, 3, 3)
    assert cast.tolist() == [[1, 1, 0], [0, 0, 2], [0, 0, 1]]
    assert pairs == 2 + 6


def test_runs_and_threads_change_no_bit(values, monkeypatch):
    monkeypatch.setattr(module, "RUN", 8)
    prior_odds = np.linspace(-1, 1, 50)
    for n_jobs in (1, 2, 4):
        ballots = ballots_of(values, prior_odds, n_jobs)
        assert (len(list(ballots)), ballots.n_items) == (7, 50)
        assert np.array_equal(ballots.concatenate(margins), values.sum(axis=1) + prior_odds)
        assert np.array_equal(
            ballots.sum(module.count_votes, 7, 2)[0].sum(axis=1), (values != 0).sum(axis=0)
        )


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
    listed = ballots_of(values) if blocks is None else module.list_ballots(blocks, 2)
    there = module.set_prior_odds(listed, prior_odds)
    assert np.array_equal(there.concatenate(margins), here.concatenate(margins))
    for one, other in zip(
        there.sum(module.count_votes, 7, 2), here.sum(module.count_votes, 7, 2), strict=True
    ):
        assert np.array_equal(one, other)
    reversed_, items = there.view(reverse, -1), np.array([0, 7, 8, 31, 49])
    assert np.array_equal(reversed_.concatenate(margins), prior_odds - values.sum(axis=1))
    taken = module.take_ballots(reversed_, items)
    assert np.array_equal(tabulate(taken, 7), -values[items])
    assert taken.prior_odds.tolist() == prior_odds[items].tolist()
    assert module.take_ballots(there, items[:0]).n_items == 0
    joined = module.take_ballots(reversed_, np.arange(50))  # several runs as one
    assert np.array_equal(tabulate(joined, 7), -values)
