import numpy as np
import pytest

from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.silence import fill_silence, odds_before_silence, share_spoken


def test_silence_is_filled_on_items_with_votes_only():
    values = np.array([[1, 0, 1], [0, 0, 0], [0, -1, 0]], dtype=np.int8)
    ballots = MemoryBallots.of(values).blocks[0]
    filled = fill_silence(ballots, np.array([-1, 1, 0], dtype=np.int8))
    assert filled.counts.tolist() == [3, 0, 2]
    assert filled.votes.tolist() == [1, 1, 1, -1, -1]
    assert filled.voters.tolist() == [0, 1, 2, 0, 1]


def test_rules_that_speak_more_on_one_side_make_it_rarer_among_all_items():
    """Items of known rate and rules; the rate is then recovered from the items with votes."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(200_000) < 0.3, 1, -1)
    chances = np.array([[0.02, 0.05, 0.1], [0.5, 0.3, 0.02]])  # no, yes
    speaks = rng.random((200_000, 3)) < chances[(truth > 0).astype(int)]
    spoken = speaks.any(axis=1)
    silence = np.array([-1, -1, 1], dtype=np.int8)
    seen = np.stack([speaks[spoken & (truth == side)].mean(axis=0) for side in (-1, 1)])
    coins = np.where(silence < 0, seen, 1 - seen)
    share = np.mean(truth[spoken] > 0)
    odds = odds_before_silence(coins, silence, np.log(share / (1 - share)))
    assert share > 0.5
    assert odds == pytest.approx(np.log(0.3 / 0.7), abs=0.05)


def test_only_those_who_speak_make_the_first_majority():
    values = np.array([[1, 0, 0, 0], [1, 0, -1, 0], [0, 0, 0, 0], [0, 0, -1, -1]], dtype=np.int8)
    silence = np.array([-1, -1, 1, 1], dtype=np.int8)
    ballots = fill_silence(MemoryBallots.of(values).blocks[0], silence)
    yes = share_spoken(ballots, silence)[:, 0]
    assert yes == pytest.approx([0.95, 0.5, 0.5, 0.05])
