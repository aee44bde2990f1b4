import numpy as np
import pytest

from studies.real import supervised
from studies.real.supervised import BUDGETS, REFERENCES, order_voters, score_reference
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def known():
    """Three good voters among twelve, of whom two are sure to be wrong; 3,000 labelled items."""
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 3000)
    accuracies = np.array([0.85, 0.85, 0.85, 0.2, 0.2, *[0.5] * 7])
    right = rng.random((3000, 12)) < accuracies
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    values[rng.random(values.shape) < 0.1] = 0
    nothing = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(Votes.of(values, coding="pm1"), truth, *nothing)


@pytest.fixture(autouse=True)
def two_splits(monkeypatch):
    monkeypatch.setattr(supervised, "SPLITS", 2)


@pytest.mark.parametrize("name", REFERENCES)
def test_labels_help_and_more_labels_help_more(name, known):
    few, many = (score_reference(name, known, budget) for budget in (50, 500))
    accuracy = few["accuracy"]
    assert accuracy.low <= accuracy.value <= accuracy.high
    assert many["accuracy"].value > max(accuracy.value - 0.01, 0.85)
    if name == "ordered-aggregation":  # no probabilities
        assert many["log_loss"] is None
    else:
        assert many["log_loss"].value < 0.5


def naive_order(votes, truth):
    chosen = []
    for step in range(1, votes.shape[1] + 1):
        best, nearest = None, np.inf
        for s in range(votes.shape[1]):
            if s in chosen:
                continue
            total = sum(votes[:, t] * truth for t in [*chosen, s]) / votes.shape[1]
            distance = float(np.sum((2 * np.sqrt(2 * step) / votes.shape[1] - total) ** 2))
            if distance < nearest - 1e-9:
                best, nearest = s, distance
        chosen.append(best)
    return chosen


def test_the_order_of_voters_is_the_naive_one(known):
    votes, truth = known.votes.values[:100], known.signs[:100]
    order = order_voters(votes, truth)
    assert order.tolist() == naive_order(votes.astype(int), truth.astype(int))
    assert set(order[:3]) == {0, 1, 2}
    assert set(order[-2:]) == {3, 4}


def test_too_few_labels_give_no_figures(known):
    small = KnownLabels(
        known.votes.take_items(range(80)), known.signs[:80], *(np.empty(0), np.empty(0, np.int8))
    )
    assert score_reference("penlog", small, 50) is None
    rare = np.where(np.arange(3000) < 20, 1, -1).astype(np.int8)
    lopsided = KnownLabels(known.votes, rare, np.empty(0), np.empty(0, np.int8))
    assert score_reference("penlog", lopsided, 50) is None


def test_unknown_references_are_refused(known):
    assert BUDGETS == (50, 200, 1000)
    with pytest.raises(ModelError, match="choose from penlog"):
        score_reference("oracle", known, 50)
