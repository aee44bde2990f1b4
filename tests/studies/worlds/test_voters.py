import numpy as np
import pytest

from studies.worlds.voters import (
    answer,
    draw_truth,
    join_voters,
    lose,
    repeat,
    respond,
    seat_crowd,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_rates_are_those_asked_for(rng):
    truth = draw_truth(rng, 20_000, 0.3)
    votes = answer(rng, truth, 0.9, 0.6)
    assert np.mean(truth > 0) == pytest.approx(0.3, abs=0.02)
    assert np.mean(votes[truth > 0] > 0) == pytest.approx(0.9, abs=0.02)
    assert np.mean(votes[truth < 0] < 0) == pytest.approx(0.6, abs=0.02)
    assert np.mean(repeat(rng, votes, 0.95) == votes) == pytest.approx(0.95, abs=0.01)
    assert np.mean(lose(rng, votes, 0.4) == 0) == pytest.approx(0.4, abs=0.02)


def test_a_tendency_is_half_a_logit(rng):
    votes = respond(rng, np.full(20_000, 0.5))
    assert np.mean(votes > 0) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.02)


def test_a_missing_vote_stays_missing_when_repeated(rng):
    votes = lose(rng, draw_truth(rng, 1000, 0.5), 0.5)
    assert np.array_equal(repeat(rng, votes, 0.9) == 0, votes == 0)


def test_everybody_has_a_column(rng):
    truth = draw_truth(rng, 50, 0.5)
    world = join_voters([truth, -truth], truth)
    assert world.votes.shape == (50, 2)
    assert np.array_equal(world.votes[:, 1], -world.truth)


def test_a_crowd_has_so_many_votes_per_item_and_a_few_busy_voters(rng):
    seated = seat_crowd(rng, 500, 40, 5)
    assert set(seated.sum(axis=1)) == {5}
    counts = np.sort(seated.sum(axis=0))[::-1]
    assert counts[:4].sum() > 2 * 500 * 5 * 4 / 40
