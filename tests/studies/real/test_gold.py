import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from studies.real.gold import BUDGETS, MOST_ODDS, WAYS, draw_labels, regress, run_gold
from unelisa.sources.labels import KnownLabels


@pytest.fixture
def known(crowd):
    votes, truth = crowd
    nothing = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(votes, truth.astype(np.int8), *nothing)


def test_every_way_is_scored_with_every_number_of_labels(known):
    found = run_gold(known, first_seed=0, draws=2)
    for figure in ("accuracy", "log_loss"):
        keys = [f"{figure}, {way}, {budget}" for way in WAYS for budget in BUDGETS]
        assert all(0 < found[key] < 1 for key in keys)
    assert found["accuracy, with, 50"] > 0.8


def test_labels_are_those_of_known_items_and_at_most_half_of_them():
    signs = np.tile(np.array([1, 0, -1], dtype=np.int8), 20)
    for budget, drawn in ((10, 10), (50, 20)):
        gold = draw_labels(signs, budget, seed=3)
        assert np.count_nonzero(gold) == drawn
        assert np.array_equal(gold[gold != 0], signs[gold != 0])


def test_the_regression_is_on_the_votes_and_our_log_odds(known):
    values, signs, items = known.votes.values, known.signs, np.arange(40)
    odds = values.sum(axis=1) / 2.0
    columns = np.column_stack([np.clip(odds, -MOST_ODDS, MOST_ODDS), values])
    peer = LogisticRegression(max_iter=1000).fit(columns[items], signs[items])
    found = regress(values, odds, items, signs)
    assert found == pytest.approx(peer.decision_function(columns), abs=1e-2)
    assert regress(values, odds, np.flatnonzero(signs > 0)[:5], signs) is odds
