"""Which judges can be dropped."""

import numpy as np
import pytest

from unelisa import LatentIsing, Votes
from unelisa.analysis.suggestions import smaller
from unelisa.analysis.suggestions.smaller import find_smaller_panel, rank_silent

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


def test_copies_and_guessers_go_first_and_the_labels_stay(panel):
    votes, model = panel
    assert set(rank_silent(model, votes)[:3]) == {4, 5, 6}
    found = find_smaller_panel(model, votes)
    assert {"v5"} < set(found.dropped)
    assert {"v4", "v6"} & set(found.dropped)
    assert set(found.dropped) | set(found.kept) == set(votes.voters)
    assert len(found.kept) >= smaller.LEAST_JUDGES
    rest = votes.take_voters(np.isin(votes.voters, found.kept).nonzero()[0])
    labels = LatentIsing().fit(rest).predict(rest)
    assert found.labels_kept == pytest.approx(np.mean(labels == model.predict(votes)))
    assert found.labels_kept >= smaller.SAME_LABELS


def test_judges_who_are_all_needed_stay():
    votes = make_votes((0.8, 0.75, 0.75, 0.7, 0.7))
    found = find_smaller_panel(LatentIsing().fit(votes), votes)
    assert found.dropped == []
    assert (found.labels_kept, found.accuracy_change) == (1.0, 0.0)


def test_votes_that_carry_no_truth_have_an_answer_too():
    noise = Votes.of(np.random.default_rng(0).choice([-1, 1], (200, 5)))
    model = LatentIsing().fit(noise)
    assert model.expected_accuracy_ is None
    assert find_smaller_panel(model, noise).accuracy_change == 0.0


def test_fits_and_votes_are_bounded(panel, monkeypatch):
    votes, model = panel
    monkeypatch.setattr(smaller, "MOST_FITS", 1)
    monkeypatch.setattr(smaller, "MOST_VOTES", 7 * 200)
    found = find_smaller_panel(model, votes, {0: 1, 299: -1})
    assert found.items == 200
    assert found.dropped == []
