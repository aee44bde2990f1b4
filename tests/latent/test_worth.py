"""What each voter is worth: the sums against plain arithmetic, and intervals that hold."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, log_softmax

import unelisa as ue
from unelisa.errors import UnelisaWarning
from unelisa.latent.ballots import list_ballots
from unelisa.latent.worth import (
    DOUBT,
    Cases,
    _sum_many,
    _sum_two,
    measure_worth,
)
from unelisa.votes import Votes

TWO = ("accuracy", "sensitivity", "specificity", "ppv", "npv")


def read_as(scores, n_voters, silence=None):
    """A reading whose scores are given."""
    silence = np.zeros(n_voters, dtype=np.int8) if silence is None else silence
    return SimpleNamespace(score=lambda _: scores, silence=silence)


def draw_two(rng, n_items=400, accuracies=(0.9, 0.8, 0.7, 0.75, 0.6)):
    truth = rng.choice([-1, 1], n_items, p=[0.6, 0.4])
    right = rng.random((n_items, len(accuracies))) < accuracies
    return np.where(right, truth[:, None], -truth[:, None]).astype(np.int8), truth


def count_shares(values, yes):
    """Return the measures of two classes by their definitions."""
    said, no = np.where(values > 0, 1.0, 0.0), np.where(values < 0, 1.0, 0.0)
    met_yes, met_no = (np.abs(values).T @ p for p in (yes, 1 - yes))
    right = said.T @ yes, no.T @ (1 - yes)
    votes = said.sum(axis=0), no.sum(axis=0)
    return np.array(
        [
            sum(right) / sum(votes),
            right[0] / met_yes,
            right[1] / met_no,
            right[0] / votes[0],
            right[1] / votes[1],
        ]
    )


def test_measures_of_two_classes_are_shares_of_expected_cases():
    rng = np.random.default_rng(0)
    values, _ = draw_two(rng)
    values[rng.random(values.shape) < 0.3] = 0
    odds = rng.normal(0, 2, len(values))
    ballots = list_ballots(Votes.of(values, coding="pm1").blocks)
    worth = measure_worth(ballots, read_as(odds, 5), 2)
    assert worth.values == pytest.approx(count_shares(values, expit(odds)))
    assert np.all(worth.low <= worth.values)
    assert np.all(worth.values <= worth.high)


def test_two_classes_are_a_case_of_many():
    rng = np.random.default_rng(1)
    values, _ = draw_two(rng)
    odds = rng.normal(0, 1.5, len(values))
    (run,) = list_ballots(Votes.of(values, coding="pm1").blocks)
    two = Cases(*_sum_two(run, read_as(odds, 5), 5, 2))
    classes = run._replace(votes=np.where(run.votes > 0, 2, 1).astype(np.int8))
    logs = log_softmax(np.stack([0 * odds, odds], axis=1), axis=1)
    many = Cases(*_sum_many(classes, read_as(logs, 5), 5, 2))
    for one, other in zip(two, many, strict=True):
        assert np.abs(one) == pytest.approx(np.abs(other), abs=1e-6)


def test_measures_of_many_classes_are_shares_of_expected_cases():
    rng = np.random.default_rng(2)
    said = rng.integers(0, 3, (300, 4))
    votes = Votes.of(np.array(["a", "b", "c"])[said])
    logs = log_softmax(rng.normal(0, 2, (300, 3)), axis=1)
    worth = measure_worth(list_ballots(votes.blocks), read_as(logs, 4), 3)
    chances = np.exp(logs)
    right = np.array([chances[np.arange(300), column] for column in said.T])
    assert worth.values[0] == pytest.approx(right.mean(axis=1))
    for k in range(3):
        named = [(chances[:, k] * (column == k)).sum() for column in said.T]
        assert worth.values[1 + k] == pytest.approx(named / chances[:, k].sum())
    names = [
        name
        for name in worth.tabulate(np.array(votes.classes))
        if not name.endswith(("low", "high"))
    ]
    assert names == ["accuracy", "recall_a", "recall_b", "recall_c"]


def test_a_rule_is_as_accurate_as_what_it_says():
    """Its silence is no: how often it is right is the share of its yes votes that are."""
    rng = np.random.default_rng(3)
    truth = rng.random(500) < 0.3
    fires = np.where(truth, rng.random(500) < 0.6, rng.random(500) < 0.05)
    values = np.stack([fires, rng.random(500) < 0.5], axis=1).astype(np.int8)
    odds = np.where(truth, 30.0, -30.0)
    silence = np.array([-1, -1], dtype=np.int8)
    ballots = list_ballots(Votes.of(values, coding="pm1").blocks)
    worth = measure_worth(ballots, read_as(odds, 2, silence), 2)
    heard = values.any(axis=1)
    assert worth.values[0, 0] == pytest.approx(truth[fires].mean())
    assert worth.values[1, 0] == pytest.approx(fires[truth & heard].mean())


def test_intervals_grow_with_doubt():
    rng = np.random.default_rng(4)
    values, _ = draw_two(rng)
    ballots = list_ballots(Votes.of(values, coding="pm1").blocks)
    reading = read_as(rng.normal(0, 2, len(values)), 5)
    sure, doubtful = (measure_worth(ballots, reading, 2, doubt) for doubt in (1.0, DOUBT))
    assert np.array_equal(sure.values, doubtful.values)
    assert np.all(doubtful.high - doubtful.low > sure.high - sure.low)


def test_intervals_hold_where_the_model_is_true():
    """25 crowds: the accuracies that the votes were drawn with."""
    held = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        accuracies = rng.uniform(0.55, 0.95, 8)
        values, _ = draw_two(rng, 300, accuracies)
        table = ue.LatentIsing().fit(values).voters_
        held += list((table.accuracy_low <= accuracies) & (accuracies <= table.accuracy_high))
    assert 0.85 <= np.mean(held) <= 0.98


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("crowd", ["two voters", "copies", "one family"])
def test_what_cannot_be_told_is_not_told(crowd):
    rng = np.random.default_rng(5)
    values, truth = draw_two(rng)
    found = {
        "two voters": values[:, :2],
        "copies": np.repeat(values[:, :1], 5, axis=1),
        "one family": values[:, [0, 0, 0, 1]],
    }[crowd]
    table = ue.LatentIsing().fit(found).voters_
    assert table[[name for name in table if name.startswith(TWO)]].isna().all(axis=None)
    gold = {i: truth[i] for i in range(100)}
    judged = ue.LatentIsing().fit(found, gold).voters_
    right = (found == truth[:, None]).mean(axis=0)
    assert np.all((judged.accuracy_low <= right) & (right <= judged.accuracy_high))


def test_gold_labels_count_as_the_truth_of_their_items():
    rng = np.random.default_rng(6)
    values, truth = draw_two(rng, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        table = ue.LatentIsing().fit(values, truth).voters_
    assert table.accuracy.to_numpy() == pytest.approx((values == truth[:, None]).mean(axis=0))


def test_the_worth_of_more_classes_is_stored(tmp_path):
    votes = ue.simulate_classes(n_items=200, random_state=0).votes
    model = ue.LatentIsing().fit(votes)
    ue.save(model, tmp_path / "model")
    assert ue.load(tmp_path / "model").voters_full_.equals(model.voters_full_)
