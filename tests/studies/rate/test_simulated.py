import numpy as np
import pytest

from studies.rate import simulated
from studies.rate.simulated import BUDGETS, MODELS, SHARES, measure_draws, simulate_models
from unelisa.analysis.scoring import bound_frequency


def test_figures_of_a_model_that_knows_nothing_are_those_of_the_labels_alone():
    truth = np.arange(400)[:, None] % 4 == np.arange(4)
    found = measure_draws(truth, np.full((400, 4), 0.25), 30, 20)
    for figure in ("coverage", "width", "error"):
        assert found[figure] == pytest.approx(found[f"alone_{figure}"])
        assert len(found[figure]) == 4
    low, high = bound_frequency(0.25, 30 * 399 / 370)
    assert found["width"][0] == pytest.approx(high - low, rel=0.15)


def test_a_perfect_model_is_always_covered_and_nearer():
    truth = np.stack([np.arange(500) < 200, np.arange(500) >= 200], axis=1)
    found = measure_draws(truth, truth * 1.0, 50, 40)
    assert found["coverage"] == [1, 1]
    assert found["width"][0] < 0.6 * found["alone_width"][0]
    assert found["error"][0] < 0.5 * found["alone_error"][0]


def test_every_model_share_and_budget_has_a_row(monkeypatch):
    monkeypatch.setattr(simulated, "ITEMS", 1000)
    rows = simulate_models(2)
    assert len(rows) == len(MODELS) * len(SHARES) * len(BUDGETS)
    perfect = [row for row in rows if row["model"] == "perfect" and row["labels"] == 50]
    assert all(row["width"] < row["alone_width"] for row in perfect if row["share"] > 0.1)
