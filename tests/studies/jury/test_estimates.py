import numpy as np
import pytest

from studies.jury import estimates
from studies.jury.estimates import ask_independent_panel, correct_judge, fit_independent


def test_a_judge_is_corrected_by_its_rates_of_true_passes_and_fails():
    rng = np.random.default_rng(0)
    truth = rng.random(20_000) < 0.3
    said = np.where(truth, rng.random(20_000) < 0.9, rng.random(20_000) < 0.2)
    gold = np.arange(20_000) < 500
    rate = correct_judge(truth[gold], said[gold], said[~gold], 0.95, rng)
    assert said.mean() > 0.38
    assert rate.share == pytest.approx(0.3, abs=0.05)
    assert rate.low < rate.share < rate.high
    assert rate.high - rate.low < 0.2


@pytest.mark.parametrize("truth", [np.ones(5, dtype=bool), np.zeros(5, dtype=bool)])
def test_labels_of_one_class_say_nothing(truth):
    rate = correct_judge(truth, ~truth, truth, 0.95, np.random.default_rng(0))
    assert (rate.low, rate.high) == (0.0, 1.0)
    upside_down = np.array([True, False] * 5)
    rate = correct_judge(upside_down, ~upside_down, truth, 0.95, np.random.default_rng(0))
    assert (rate.low, rate.high) == (0.0, 1.0)


def test_independent_judges_are_described_and_relatives_are_not(monkeypatch):
    monkeypatch.setattr(estimates, "PANEL_RESAMPLES", 20)
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(1500) < 0.3, 1, -1)

    def follow(leader, accuracy):
        return np.where(rng.random(1500) < accuracy, leader, -leader)

    alone = np.stack([follow(truth, p) for p in (0.85, 0.8, 0.8, 0.75)], axis=1)
    rate = ask_independent_panel(alone.astype(np.int8), 0.95)
    assert rate.low < 0.3 < rate.high
    shared = np.where(rng.random(1500) < 0.5, 1, truth)
    kin = np.stack([follow(shared, 0.95) for _ in range(5)], axis=1)
    values = np.hstack([alone, kin])
    yes, no = (values > 0) * 1.0, (values < 0) * 1.0
    assert fit_independent(yes, no, np.ones(1500)) > 0.5
