"""Intervals of shares, over draws of gold labels."""

import numpy as np
import pytest

from studies.rate import simulated
from studies.rate.runs import find_rate_sets, run_set
from studies.rate.simulated import BUDGETS, MODELS, SHARES, measure_draws, simulate_models
from studies.worth.runs import Target, count_cases, judge_target, list_measures
from studies.worth.simulated import KINDS, draw_crowd
from unelisa.analysis.scoring import bound_frequency
from unelisa.errors import ModelError
from unelisa.votes import Votes


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


def test_models_that_know_nothing_or_all():
    truth = np.arange(400)[:, None] % 4 == np.arange(4)
    found = measure_draws(truth, np.full((400, 4), 0.25), 30, 20)
    for figure in ("coverage", "width", "error"):
        assert found[figure] == pytest.approx(found[f"alone_{figure}"])
        assert len(found[figure]) == 4
    low, high = bound_frequency(0.25, 30 * 399 / 370)
    assert found["width"][0] == pytest.approx(high - low, rel=0.15)
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


def test_measures_are_shares_of_cases_on_items_with_known_truth():
    tables = np.array([[[6.0, 2.0], [1.0, 3.0]]])  # class no: 6 no, 2 yes; class yes: 1 no, 3 yes
    found = {name: float(share[0]) for name, (share, _) in list_measures(tables).items()}
    assert found == pytest.approx(
        {"accuracy": 9 / 12, "sensitivity": 3 / 4, "specificity": 6 / 8, "ppv": 3 / 5, "npv": 6 / 7}
    )
    votes = Votes.of([[1, -1], [1, 0], [-1, -1], [1, 1]], coding="pm1")
    tables = count_cases(votes, np.array([1, 1, -1, 0], dtype=np.int8))
    assert tables.tolist() == [[[1, 0], [0, 2]], [[1, 0], [1, 0]]]


def test_intervals_are_counted_where_they_are_told():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300).astype(np.int8)
    right = rng.random((300, 5)) < [0.9, 0.8, 0.7, 0.75, 0.6]
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    votes = Votes.of(values, coding="pm1")
    row = judge_target(Target(votes, count_cases(votes, truth), counted=True))
    assert row["told"]
    inside, asked, widths = row["held"]["accuracy"]
    assert asked == 5
    assert 4 <= inside <= 5
    assert 0 < widths / asked < 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_votes_follow_the_chances_that_are_told(kind):
    """Over many crowds a voter says each class as often as its table has it."""
    away = []
    for number in range(12):
        crowd = draw_crowd(kind, number)
        codes = (-1, 1) if kind != "classes" else range(1, crowd.tables.shape[1] + 1)
        voted = (crowd.values != 0).sum(axis=0)
        said = np.stack([(crowd.values == code).sum(axis=0) for code in codes], axis=1)
        away += list((said / voted[:, None] - crowd.tables.sum(axis=1)).ravel())
        assert crowd.tables.sum(axis=(1, 2)) == pytest.approx(1)
    assert abs(np.mean(away)) < 1e-9 + 0.01
    assert np.sqrt(np.mean(np.square(away))) < 0.05


def test_a_crowd_is_drawn_by_its_number():
    first, again, other = (draw_crowd("plain", number).values for number in (3, 3, 4))
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)
