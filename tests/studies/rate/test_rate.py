"""Intervals of shares, over draws of gold labels."""

import numpy as np
import pytest

from studies.rate import simulated
from studies.rate.runs import find_rate_sets, run_set
from studies.rate.simulated import BUDGETS, MODELS, SHARES, measure_draws, simulate_models
from unelisa.analysis.scoring import bound_frequency
from unelisa.errors import ModelError


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_set_is_judged_on_its_items_with_known_truth(known):
    row = run_set(known, "toy", 5)
    signs = known.scored_signs()
    assert (row["items"], row["labels"], row["draws"]) == (81, 40, 5)
    assert row["truth"][1] == pytest.approx(np.mean(signs[signs != 0] > 0), abs=1e-5)
    assert len(row["coverage"]) == 2
    assert row["width"][0] < row["alone_width"][0]


def write_set(folder, labels):
    folder.mkdir(parents=True)
    (folder / "truth.csv").write_text("item,label\n" + "".join(f"{x},{x}\n" for x in labels))
    (folder / "votes.csv.gz").write_bytes(b"")


def test_sets_of_both_folders_are_found(tmp_path):
    write_set(tmp_path / "data" / "signs", (-1, 1))
    assert list(find_rate_sets(tmp_path / "data", None)) == ["signs"]
    write_set(tmp_path / "data_k" / "judges", ("no", "yes"))
    write_set(tmp_path / "data_k" / "animals", ("cat", "dog", "owl"))
    assert set(find_rate_sets(tmp_path / "data", None)) == {"signs", "judges", "animals"}
    with pytest.raises(ModelError, match="is not a folder"):
        find_rate_sets(tmp_path / "data", tmp_path / "none")


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
