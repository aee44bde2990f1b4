import numpy as np
import pytest

from studies.chances import rate_honesty
from studies.real.intervals import FIGURES, score_with_intervals
from unelisa.analysis.scoring import score_labels


@pytest.fixture
def answers():
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 200)
    scores = np.round(truth + rng.normal(0, 1.5, 200), 1)  # with ties, some of them at 0
    scores[:10] = 0
    return truth, scores, 1 / (1 + np.exp(-scores))


def test_values_are_the_plain_figures_and_lie_within(answers):
    truth, scores, chances = answers
    figures = score_with_intervals(truth, scores, chances, 200)
    plain = {**score_labels(truth, scores, chances)._asdict(), **rate_honesty(truth, chances)}
    for name in FIGURES:
        assert figures[name].value == pytest.approx(plain[name])
        assert figures[name].low < figures[name].high
        if name != "ece":  # resampling adds noise to every bin, so that its interval lies higher
            assert figures[name].low < plain[name] < figures[name].high


def test_an_interval_is_as_wide_as_the_binomial_says():
    rng = np.random.default_rng(0)
    truth = np.ones(1000, dtype=np.int8)
    truth[500:] = -1
    scores = truth * np.where(rng.random(1000) < 0.8, 1.0, -1.0)
    accuracy = score_with_intervals(truth, scores)["accuracy"]
    assert accuracy.high - accuracy.low == pytest.approx(2 * 1.96 * np.sqrt(0.16 / 1000), rel=0.2)


def test_unknown_items_and_missing_probabilities(answers):
    truth, scores, _ = answers
    more = np.concatenate([truth, np.zeros(50, dtype=np.int8)])
    padded = np.concatenate([scores, np.full(50, 9.0)])
    figures = score_with_intervals(more, padded)
    assert figures["log_loss"] is figures["ece"] is figures["confidence"] is None
    assert figures["accuracy"] == score_with_intervals(truth, scores)["accuracy"]


def test_one_class_has_no_balanced_accuracy_and_no_auc():
    figures = score_with_intervals(np.ones(20, dtype=np.int8), np.linspace(-1, 1, 20))
    assert figures["auc"] is figures["balanced_accuracy"] is None
    assert figures["accuracy"].value == pytest.approx(0.5, abs=0.1)
