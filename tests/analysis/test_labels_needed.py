"""How many labels settle whether a panel can be trusted."""

import numpy as np
import pytest

from unelisa import LatentIsing, Votes
from unelisa.analysis.judged import Judged
from unelisa.analysis.labels_needed import count_for_accuracy, count_labels

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def vote(leader, accuracy, rng):
    return np.where(rng.random(len(leader)) < accuracy, leader, -leader)


def fit(columns):
    votes = Votes.of(np.stack(columns, axis=1))
    model = LatentIsing().fit(votes)
    return model, Judged.of(model, votes)


def test_a_trusted_panel_needs_none():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 400)
    model, judged = fit([vote(truth, p, rng) for p in (0.9, 0.85, 0.8, 0.8, 0.75)])
    assert model.reliable_
    assert count_labels(model, judged) is None


def test_two_judges_need_as_many_as_tell_their_accuracy():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 5000)
    model, judged = fit([vote(truth, p, rng) for p in (0.8, 0.8)])
    needed = count_labels(model, judged)
    assert (needed["settles"], needed["among"]) == ("accuracy", 5000)
    assert model.expected_accuracy_interval_ is None
    infinite = 1.96**2 * 0.5**2 / 0.05**2
    assert needed["n"] == pytest.approx(infinite / (1 + (infinite - 1) / 5000), abs=1.5)


def test_the_labels_tell_the_accuracy_within_five_points():
    rng = np.random.default_rng(0)
    n = count_for_accuracy(0.7, 2000)
    right = rng.random(2000) < 0.7
    found = [rng.choice(right, n, replace=False).mean() for _ in range(400)]
    assert np.mean(np.abs(found - right.mean()) <= 0.05) == pytest.approx(0.95, abs=0.03)


def test_two_readings_are_decided_by_so_many_labels_of_random_items():
    rng = np.random.default_rng(1)
    truth = rng.choice([-1, 1], 1000)
    shared = vote(truth, 0.55, rng)
    columns = [vote(truth, 0.8, rng) for _ in range(6)]
    model, judged = fit([*columns, *(vote(shared, 0.98, rng) for _ in range(6))])
    assert model.two_readings_
    needed = count_labels(model, judged)
    assert (needed["settles"], needed["among"]) == ("readings", 1000)
    assert 10 <= needed["n"] <= 60
    chosen = rng.choice(1000, needed["n"], replace=False)
    gold = {int(i): int(truth[i]) for i in chosen}
    learned = LatentIsing().fit(judged.votes, gold)
    assert (learned.predict(judged.votes) == truth).mean() > 0.85
