import numpy as np
import pytest

from analysis.suggestions.crowds import draw_crowd, fit
from analysis.suggestions.test_beliefs import believe
from unelisa import DawidSkene, OneCoinDawidSkene
from unelisa.analysis.suggestions.gains import (
    WORTH,
    bound_gains,
    measure_gains,
    measure_knowledge,
    measure_label_gains,
)

MANY = np.arange(300)


def with_vote(votes, item, voter, code):
    values = votes.values[[item]].copy()
    values[0, voter] = code
    names = votes.items[[item]], votes.voters, votes.classes
    return type(votes).of_values(np.asfortranarray(values), *names)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", [DawidSkene, OneCoinDawidSkene])
def test_gains_of_dawid_skene_are_those_of_predicting_again(method, n_classes):
    """P(v | votes) = sum_k P(k | votes) P(v | k), and P(k | votes, v) is what `predict_proba` says
    with the vote added."""
    votes = draw_crowd(n_classes, n_items=200)
    model = fit(method(), votes)
    panel, _, belief = believe(model, votes)
    errors, knowledge, precision = (measure_gains(panel, belief, name) for name in WORTH)
    tables = model.confusions_.set_index(["voter", "meant", "said"])["probability"]
    codes = (-1, 1) if n_classes == 2 else range(1, n_classes + 1)
    checked = 0
    for item, voter in zip(*np.nonzero(votes.values[:12] == 0), strict=True):
        now = model.predict_proba(votes.take_items([item]))[0]
        best, expected, squares = -now.max(), -float(now @ np.log(now)), -float(now @ now)
        for said, code in zip(model.classes_, codes, strict=True):
            likely = [tables[votes.voters[voter], meant, said] for meant in model.classes_]
            chance = float(now @ likely)
            after = model.predict_proba(with_vote(votes, item, voter, code))[0]
            best += chance * after.max()
            expected += chance * float(after @ np.log(after))
            squares += chance * float(after @ after)
        assert errors[item, voter] == pytest.approx(best, abs=1e-9)
        assert knowledge[item, voter] == pytest.approx(expected, abs=1e-9)
        assert precision[item, voter] == pytest.approx(squares, abs=1e-9)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("criterion", list(WORTH))
def test_no_gain_is_negative_and_none_exceeds_its_bound(copied, criterion):
    model, votes = copied
    panel, _, belief = believe(model, votes, MANY)
    gains = measure_gains(panel, belief, criterion)
    assert gains.min() > -1e-12
    prices = np.linspace(1, 2, panel.n_voters)
    bound = bound_gains(panel, belief, criterion, prices)
    assert (gains / prices <= bound[:, None] + 1e-12).all()
    assert bound.max() < 1


def test_a_relative_adds_as_much_less_as_it_counts_less(copied):
    model, votes = copied
    panel, _, belief = believe(model, votes, MANY)
    gains = measure_gains(panel, belief, "log_loss").mean(axis=0)
    assert gains[[0, 7, 8]].max() < 0.5 * gains[1:7].min()
    assert gains[[0, 7, 8]].min() > 0


def test_a_perfect_label_gains_all_that_is_missing():
    chances = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(measure_label_gains(chances, np.eye(3), "errors"), [0.3, 0.0])
    found = measure_label_gains(chances, np.eye(3), "log_loss")
    np.testing.assert_allclose(found, -measure_knowledge(chances), atol=1e-12)
    guess = np.full((3, 3), 1 / 3)
    np.testing.assert_allclose(measure_label_gains(chances, guess, "log_loss"), 0, atol=1e-12)
