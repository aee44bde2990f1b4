"""Labels that would settle a jury, and judges that it can do without."""

import numpy as np
import pytest

from unelisa import LatentIsing, Votes
from unelisa.analysis.judged import Judged
from unelisa.analysis.suggestions import advice

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def make_votes(accuracies, n=300, copies=()):
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], n)
    right = rng.random((n, len(accuracies))) < np.array(accuracies)
    said = np.where(right, truth[:, None], -truth[:, None])
    return Votes.of(np.hstack([said, said[:, list(copies)]]))


@pytest.fixture(scope="module")
def panel():
    votes = make_votes((0.98, 0.98, 0.97, 0.96, 0.95, 0.5), copies=(4,))
    return votes, LatentIsing().fit(votes)


def test_a_smaller_panel_drops_copies_and_guessers_within_bounds(panel, monkeypatch):
    votes, model = panel
    assert set(advice.rank_silent(model, votes)[:3]) == {4, 5, 6}
    found = advice.find_smaller_panel(model, votes)
    assert {"v5"} < set(found.dropped)
    assert {"v4", "v6"} & set(found.dropped)
    assert set(found.dropped) | set(found.kept) == set(votes.voters)
    assert len(found.kept) >= advice.LEAST_JUDGES
    rest = votes.take_voters(np.isin(votes.voters, found.kept).nonzero()[0])
    labels = LatentIsing().fit(rest).predict(rest)
    assert found.labels_kept == pytest.approx(np.mean(labels == model.predict(votes)))
    assert found.labels_kept >= advice.SAME_LABELS
    monkeypatch.setattr(advice, "MOST_FITS", 1)
    monkeypatch.setattr(advice, "MOST_VOTES", 7 * 200)
    found = advice.find_smaller_panel(model, votes, {0: 1, 299: -1})
    assert found.items == 200
    assert found.dropped == []


def test_judges_who_are_all_needed_stay_and_noise_has_an_answer_too():
    votes = make_votes((0.8, 0.75, 0.75, 0.7, 0.7))
    found = advice.find_smaller_panel(LatentIsing().fit(votes), votes)
    assert found.dropped == []
    assert (found.labels_kept, found.accuracy_change) == (1.0, 0.0)
    noise = Votes.of(np.random.default_rng(0).choice([-1, 1], (200, 5)))
    model = LatentIsing().fit(noise)
    assert model.expected_accuracy_ is None
    assert advice.find_smaller_panel(model, noise).accuracy_change == 0.0


def vote(leader, accuracy, rng):
    return np.where(rng.random(len(leader)) < accuracy, leader, -leader)


def fit(columns):
    votes = Votes.of(np.stack(columns, axis=1))
    model = LatentIsing().fit(votes)
    return model, Judged.of(model, votes)


def test_panels_need_labels_to_tell_their_accuracy_or_their_reading():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 400)
    model, judged = fit([vote(truth, p, rng) for p in (0.9, 0.85, 0.8, 0.8, 0.75)])
    assert model.reliable_
    assert advice.count_labels(model, judged) is None
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 5000)
    model, judged = fit([vote(truth, p, rng) for p in (0.8, 0.8)])
    needed = advice.count_labels(model, judged)
    assert (needed["settles"], needed["among"]) == ("accuracy", 5000)
    assert model.expected_accuracy_interval_ is None
    infinite = 1.96**2 * 0.5**2 / 0.05**2
    assert needed["n"] == pytest.approx(infinite / (1 + (infinite - 1) / 5000), abs=1.5)
    rng = np.random.default_rng(0)
    n = advice.count_for_accuracy(0.7, 2000)
    right = rng.random(2000) < 0.7
    found = [rng.choice(right, n, replace=False).mean() for _ in range(400)]
    assert np.mean(np.abs(found - right.mean()) <= 0.05) == pytest.approx(0.95, abs=0.03)
    rng = np.random.default_rng(1)
    truth = rng.choice([-1, 1], 1000)
    shared = vote(truth, 0.55, rng)
    columns = [vote(truth, 0.8, rng) for _ in range(6)]
    model, judged = fit([*columns, *(vote(shared, 0.98, rng) for _ in range(6))])
    assert model.two_readings_
    needed = advice.count_labels(model, judged)
    assert (needed["settles"], needed["among"]) == ("readings", 1000)
    assert 10 <= needed["n"] <= 60
    chosen = rng.choice(1000, needed["n"], replace=False)
    gold = {int(i): int(truth[i]) for i in chosen}
    learned = LatentIsing().fit(judged.votes, gold)
    assert (learned.predict(judged.votes) == truth).mean() > 0.85
