import numpy as np
import pytest

from latent.worlds import ballots_of, class_crowd, class_rules, copied_classes, ordered_crowd
from unelisa.errors import ModelError
from unelisa.latent.ballots import set_prior_odds
from unelisa.latent.potts import read_classes


def read(values, n_classes=4, *, ordered=False, structure="auto"):
    ballots = ballots_of(values)
    return read_classes(ballots, n_classes, ordered=ordered, structure=structure), ballots


def test_a_reading_describes_items_and_voters():
    values, truth = class_crowd(0)
    reading, ballots = read(values)
    reading = reading.answering(ballots)
    chances = np.exp(reading.score(ballots))
    assert chances.sum(axis=1) == pytest.approx(1)
    answers = reading.answers
    right = np.mean(chances.argmax(axis=1) == truth)
    assert answers.expected_accuracy == pytest.approx(chances.max(axis=1).mean())
    assert answers.expected_accuracy == pytest.approx(right, abs=0.08)
    low, high = answers.share_bounds
    assert (low < answers.shares).all()
    assert (answers.shares < high).all()
    assert answers.labels.sum() == pytest.approx(1)
    said = np.einsum("skk->sk", answers.confusions).mean(axis=1)
    accuracy = [np.mean((values[:, s] - 1 == truth)[values[:, s] > 0]) for s in range(12)]
    assert np.corrcoef(said, accuracy)[0, 1] > 0.8
    assert answers.votes.sum(axis=1) == pytest.approx(np.count_nonzero(values, axis=0))


def test_experts_are_better_than_the_crowd():
    values, _ = copied_classes(0)
    reading, ballots = read(values)
    assert np.flatnonzero(reading.answering(ballots).experts).tolist() == [0, 1, 2, 3, 4, 5]
    assert reading.effective_voters == pytest.approx(6.5, abs=0.6)
    links = reading.links
    assert len(links.first) == 15
    assert links.first.min() == 6


def test_prior_odds_are_added_to_the_score():
    values, _ = class_crowd(1)
    reading, ballots = read(values)
    odds = np.zeros((600, 4))
    odds[:, 2] = 50.0
    found = reading.score(set_prior_odds(ballots, odds))
    assert (found.argmax(axis=1) == 2).all()


def test_the_order_of_classes_helps():
    errors = []
    for seed in range(4):
        values, truth = ordered_crowd(seed)
        both = [read(values, 5, ordered=ordered) for ordered in (False, True)]
        labels = [reading.score(ballots).argmax(axis=1) for reading, ballots in both]
        errors.append([np.abs(one - truth).mean() for one in labels])
    plain, ordered = np.mean(errors, axis=0)
    assert ordered < plain


def test_rules_are_read_with_their_silence():
    values, truth = class_rules(0)
    reading, ballots = read(values, 3)
    heard = values.any(axis=1)
    labels = reading.score(ballots).argmax(axis=1)
    counts = np.stack([(values == k + 1).sum(axis=1) for k in range(3)], axis=1)
    most = counts == counts.max(axis=1, keepdims=True)
    majority = (most[np.arange(len(truth)), truth] / most.sum(axis=1))[heard].mean()
    assert "silence filled in" in reading.structure
    assert np.mean(labels == truth, where=heard) > majority


def test_ease_is_low_where_voters_disagree():
    values, _ = class_crowd(2, votes_per_item=12)
    rng = np.random.default_rng(0)
    values[:100] = rng.integers(1, 5, (100, 12))
    reading, ballots = read(values)
    ease = reading.measure_ease(ballots)
    assert np.mean(ease[:100]) < np.mean(ease[100:]) - 0.2


def test_structures_of_two_classes_are_refused():
    values, _ = class_crowd(3)
    with pytest.raises(ModelError, match="structure 'tilt' takes two classes, found 4"):
        read(values, structure="tilt")


def test_a_structure_that_the_votes_do_not_admit_is_replaced():
    values, _ = class_crowd(0, votes_per_item=3)  # too few items in common
    reading, _ = read(values, structure="families")
    assert any("do not admit it" in note.text for note in reading.notes)
