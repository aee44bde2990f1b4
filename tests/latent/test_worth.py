"""What each voter is worth: the sums against plain loops, and intervals that hold."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from latent.worlds import class_crowd, plain_crowd, run_of
from unelisa.latent.worth import STEP, TWO_CLASSES, Cases, describe_worth, find_experts, sum_cases

FACTORS = 0.6, 1.5


def draw(n_classes, n_items=150, n_voters=4):
    """Votes as classes from 0 (-1: none), their run, and log-probabilities."""
    if n_classes == 2:
        values, _ = plain_crowd(0, n_items, n_voters, votes_per_item=3)
        answers = np.where(values == 0, -1, values > 0)
    else:
        values, _ = class_crowd(0, n_items, n_classes, n_voters, votes_per_item=3)
        answers = values - 1
    logs = np.random.default_rng(1).normal(0, 2, (n_items, n_classes))
    return answers, run_of(values), log_softmax(logs, axis=1)


def cases_of(n_classes):
    answers, run, logs = draw(n_classes)
    return answers, softmax(logs, axis=1), Cases(*sum_cases(run, logs, FACTORS, 4))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_cases_are_summed_vote_by_vote_under_every_form(n_classes):
    answers, run, logs = draw(n_classes)
    found = Cases(*sum_cases(run, logs, FACTORS, 4))
    forms = [logs, *(factor * logs for factor in FACTORS)]
    for k in range(n_classes):
        forms += [logs + sign * STEP * np.eye(n_classes)[k] for sign in (1, -1)]
    assert found.said.shape == found.met.shape == (len(forms), 4, n_classes)
    votes = np.zeros((4, n_classes))
    said, met = np.zeros(found.said.shape), np.zeros(found.met.shape)
    for i, s in np.argwhere(answers >= 0):
        c = answers[i, s]
        votes[s, c] += 1
        for form, own in enumerate(forms):
            chances = np.exp(own[i] - np.logaddexp.reduce(own[i]))
            said[form, s, c] += chances[c]
            met[form, s] += chances
    assert np.array_equal(found.votes, votes)
    assert found.said == pytest.approx(said)
    assert found.met == pytest.approx(met)


def test_measures_of_two_and_more_classes_are_shares_of_expected_cases():
    answers, chances, cases = cases_of(2)
    worth, yes = describe_worth(cases, 0.5), chances[:, 1]
    for s, column in enumerate(answers.T):
        said, no, voted = column == 1, column == 0, column >= 0
        right = yes[said].sum(), (1 - yes[no]).sum()
        assert worth.values[:, s] == pytest.approx(
            [
                sum(right) / voted.sum(),
                right[0] / yes[voted].sum(),
                right[1] / (1 - yes[voted]).sum(),
                right[0] / said.sum(),
                right[1] / no.sum(),
            ]
        )
    assert worth.coins == pytest.approx(np.stack([1 - worth.values[2], worth.values[1]]))
    assert worth.met == pytest.approx(np.array([chances[c >= 0].sum(axis=0) for c in answers.T]))
    assert list(worth.tabulate(np.array(["no", "yes"])))[::3] == list(TWO_CLASSES)
    answers, chances, cases = cases_of(3)
    worth = describe_worth(cases, 0.5)
    for s, column in enumerate(answers.T):
        own = [chances[column == k, k].sum() for k in range(3)]
        recall = own / chances[column >= 0].sum(axis=0)
        assert worth.values[:, s] == pytest.approx([sum(own) / (column >= 0).sum(), *recall])
    columns = worth.tabulate(np.array(["a", "b", "c"]))
    assert list(columns)[:3] == ["accuracy", "accuracy_low", "accuracy_high"]
    assert list(columns)[::3] == ["accuracy", "recall_a", "recall_b", "recall_c"]
    assert np.array_equal(columns["recall_b"], worth.values[2])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_hold_their_value_and_grow_with_doubt(n_classes):
    _, _, cases = cases_of(n_classes)
    sure, doubtful = describe_worth(cases, 0.1), describe_worth(cases, 1.0)
    assert np.array_equal(sure.values, doubtful.values)
    assert np.all((sure.low <= sure.values) & (sure.values <= sure.high))
    assert np.all(doubtful.high - doubtful.low > sure.high - sure.low)
    narrow = describe_worth(cases._replace(said=cases.said[[0] * len(cases.said)]), 0.1)
    assert np.all(narrow.high[0] - narrow.low[0] < sure.high[0] - sure.low[0])


def test_no_votes_have_no_worth_and_shifts_move_accuracy():
    _, run, logs = draw(2)
    worth = describe_worth(Cases(*sum_cases(run, logs, FACTORS, 5)), 0.5)
    for part in (worth.values, worth.low, worth.high):
        assert np.isnan(part[:, 4]).all()
        assert np.isfinite(part[:, :4]).all()
    untold = worth.unknown()
    assert np.isnan([untold.values, untold.low, untold.high]).all()
    assert np.array_equal(untold.met, worth.met)
    answers, run, logs = draw(2)
    accuracy = Cases(*sum_cases(run, logs, FACTORS, 4)).compare()[0]
    for s, column in enumerate(answers.T):
        voted, sign = column >= 0, 2 * column - 1
        odds = logs[voted, 1] - logs[voted, 0]
        ends = [expit(sign[voted] * (odds + step)).mean() for step in (STEP, -STEP)]
        assert accuracy.shift[s] == pytest.approx(abs(ends[0] - ends[1]) / (2 * STEP))


def test_intervals_of_known_truth_hold_nine_times_in_ten():
    rng, held = np.random.default_rng(0), []
    for _ in range(40):
        truth, rates = rng.random(60) < 0.4, rng.uniform(0.55, 0.95, 5)
        values = np.where((rng.random((60, 5)) < rates) == truth[:, None], 1, -1)
        logs = np.log(np.stack([~truth, truth], axis=1) + 1e-12)
        cases = Cases(*sum_cases(run_of(values.astype(np.int8)), logs, FACTORS, 5))
        worth = describe_worth(cases, 0.0)
        held += list((worth.low[0] <= rates) & (rates <= worth.high[0]))
    assert 0.85 < np.mean(held) < 0.97


@pytest.mark.parametrize("n_classes", [2, 3])
def test_experts_are_clearly_better_than_the_crowd(n_classes):
    rng = np.random.default_rng(0)
    truth, rates = rng.integers(0, n_classes, 400), [0.7, 0.7, 0.97, 0.72, 0.74, 0.5]
    other = (truth + 1) % n_classes
    said = np.array([np.where(rng.random(400) < rate, truth, other) for rate in rates]).T
    values = (2 * said - 1 if n_classes == 2 else said + 1).astype(np.int8)
    values[:398, 5] = 0  # nearly no votes: nothing is clear
    logs = np.log(np.eye(n_classes)[truth] + 1e-9)
    found = find_experts(Cases(*sum_cases(run_of(values), logs, FACTORS, 7)))
    assert np.flatnonzero(found).tolist() == [2]
