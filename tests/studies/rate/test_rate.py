"""Intervals of shares, over draws of gold labels."""

import numpy as np
import pytest

from studies.rate import simulated
from studies.rate.page import render_rate
from studies.rate.runs import find_rate_sets, run_set
from studies.rate.simulated import BUDGETS, MODELS, SHARES, measure_draws, simulate_models
from studies.records import make_archive
from unelisa.analysis.scoring import bound_frequency
from unelisa.errors import ModelError


@pytest.fixture
def archive():
    """Two sets, one without an interval of the model's own, and one simulated model."""
    figures = {
        **{"coverage": [0.95, 0.95], "width": [0.1, 0.1], "error": [0.02, 0.02]},
        **{"alone_coverage": [0.96, 0.96], "alone_width": [0.2, 0.2], "alone_error": [0.05, 0.05]},
    }
    facts = {"classes": 2, "items": 1000, "labels": 50, "reliable": True, "accuracy": 0.9}
    one = {
        **{"set": "one", **facts, "truth": [0.6, 0.4], "draws": 200},
        **{"without": [[0.5, 0.4, 0.55], [0.5, 0.45, 0.6]], **figures},
    }
    two = {**one, "set": "two", "without": [[0.5, None, None], [0.5, None, None]]}
    model = {"model": "useless", "share": 0.5, "labels": 20}
    single = {key: values[0] for key, values in figures.items()}
    return make_archive(sets=[one, two], models=[{**model, **single}])


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


def test_the_page_says_what_the_archive_holds(archive):
    page = render_rate(archive)
    assert "on 2 sets of votes, 200 times 50 random items" in page
    assert "| right on .9 or more | 2 | .950 | .950 | .960 | .500 | .400 |" in page
    assert "within .93 to .97 on 2 of 2 sets, below on 0 and above on 0" in page
    assert "| useless | .950 (.960), .50 |" in page
    assert "lowest coverage of a single share is .950: a model that is *useless*, a share" in page


def test_sets_without_gold_count_once_and_misses_are_named(archive):
    words = "The interval is given on 1 of 2 sets; on 0 of them it contains the true share of every"
    assert words in render_rate(archive)
    assert "of their rarest class: one (.400)." in render_rate(archive)
    archive["sets"][0]["without"] = [[0.5, 0.4, 0.65], [0.5, 0.35, 0.6]]
    assert "; on 1 of them" in render_rate(archive)
    archive["sets"] = archive["sets"][1:]
    assert "No interval is given on any of 1 sets." in render_rate(archive)


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
