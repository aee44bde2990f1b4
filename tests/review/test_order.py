import numpy as np

from review.reviewing import small_crowd
from unelisa.analysis.rate import correct_shares
from unelisa.analysis.suggestions import suggest_votes
from unelisa.review.order import (
    _count_alike,
    measure_gains,
    mix_chances,
    rank_useful,
    spread_sample,
)


def pair(yes):
    return np.column_stack([1 - yes, yes])


def test_the_gain_is_what_suggest_votes_expects_of_a_human():
    votes, _, model = small_crowd()
    asked = suggest_votes(model, votes, n=5, voters=[], gold_cost=1.0)
    gains = measure_gains(model.predict_proba(votes))
    best = rank_useful(model.predict_proba(votes))[0]
    np.testing.assert_allclose(asked["gain"], np.sort(gains)[::-1][:5])
    assert gains[best] == gains.max()


def test_items_alike_are_worth_less_one_after_the_other():
    yes = np.concatenate([np.full(100, 0.5), np.linspace(0.3, 0.4, 50), np.full(50, 0.99)])
    first = rank_useful(pair(yes))[:20]
    assert first[0] < 100
    assert np.count_nonzero(first < 100) < 5  # 0.5 / sqrt(3) is less than 0.3
    naive = [yes[:i].tolist().count(yes[i]) + 1 for i in range(200)]
    assert sorted(_count_alike(pair(yes), np.arange(200.0))) == sorted(naive)
    assert _count_alike(pair(yes), np.arange(200.0)).tolist() == naive


def test_equal_gains_come_in_a_random_order():
    chances = pair(np.full(50, 0.5))
    assert rank_useful(chances).tolist() != list(range(50))
    assert sorted(rank_useful(chances)) == list(range(50))
    assert rank_useful(chances, seed=1).tolist() != rank_useful(chances).tolist()


def test_every_beginning_of_a_sample_is_spread_over_the_probabilities():
    chances = pair(np.random.default_rng(0).random(500))
    order = spread_sample(chances, seed=3)
    assert sorted(order) == list(range(500))
    for n in (8, 16, 64):
        assert abs(chances[order[:n], 1].mean() - chances[:, 1].mean()) < 1 / n
    three = np.eye(3)[np.arange(300) % 3]
    counts = np.bincount(spread_sample(three)[:30] % 3)
    assert counts.min() >= 8


def test_intervals_from_a_spread_sample_hold():
    """A stratified sample of equal shares is what `estimate_rate` takes: its intervals cover."""
    rng = np.random.default_rng(1)
    yes = rng.beta(0.6, 1.4, 1000)
    truth = rng.random(1000) < np.clip(1.3 * yes, 0, 1)  # the model underestimates
    labels, held = pair(truth).astype(bool), 0
    for seed in range(300):
        sample = np.zeros_like(labels)
        drawn = spread_sample(pair(yes), seed)[:60]
        sample[drawn] = labels[drawn]
        rate = correct_shares(sample, pair(yes), 0.95)[1]
        held += rate.low <= truth.mean() <= rate.high
    assert held / 300 > 0.93


def test_readings_are_averaged():
    assert mix_chances([pair(np.array([0.0])), pair(np.array([0.5]))]).tolist() == [[0.75, 0.25]]
