"""Panels of judges: rows, rates, simulations and the page."""

import numpy as np
import pytest

from studies.jury import estimates, runs
from studies.jury.discoveries import LENIENT, SYSTEMS, compare_pair, count_discoveries, draw_panel
from studies.jury.estimates import ask_independent_panel, correct_judge, fit_independent
from studies.jury.page import render_jury, show_simulated
from studies.jury.pairs import draw_preferences, fit_plainly, rank_panel
from studies.jury.runs import collect_jury, run_jury
from studies.records import make_archive
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


@pytest.fixture
def known():
    """Five judges on 120 items, of which 100 have a known truth."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(120) < 0.4, 1, -1).astype(np.int8)
    right = rng.random((120, 5)) < np.array([0.9, 0.8, 0.8, 0.75, 0.7])
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    signs = np.where(np.arange(120) < 100, truth, 0).astype(np.int8)
    nobody = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(Votes.of(values), signs, *nobody)


@pytest.fixture
def archive():
    """One panel of two classes, and one of more that is not to be trusted."""
    scores = {"accuracy": 0.9, "log_loss": 0.25}
    less = {"accuracy": 0.85, "log_loss": 0.5}
    figures = {"coverage": 0.95, "width": 0.2, "error": 0.05}
    repeat = {"judge": "x", "times": 2, "labels_kept": 1.0}
    two = {
        **{"set": "two", "classes": 2, "items": 1200, "judges": 9, "effective": 5.25},
        **{"families": 1, "reliable": True, "needed": None},
        "labels": {"LatentIsing": scores, "majority": less, "share of yes": less},
        "smaller": {"dropped": 3, "labels_kept": 0.994, "accuracy": 0.899},
        "repeats": [
            {**repeat, "differ": 0.0, "effective": 5.25},
            {**repeat, "differ": 0.05, "effective": 5.0, "labels_kept": 0.97},
        ],
        "rates": {
            **{"truth": 0.4, "labels": 50, "draws": 200, "gold alone": figures},
            "estimate_rate": {**figures, "width": 0.1, "error": 0.04},
            **{"judgy-style": figures, "judgepanel-style": {**figures, "coverage": 0.0}},
        },
    }
    more = {key: value for key, value in two.items() if key != "rates"}
    needed = {"n": 169, "settles": "accuracy", "among": 300}
    more |= {"set": "more", "classes": 5, "reliable": False, "needed": needed}
    more["smaller"] = {"dropped": 0, "labels_kept": 1.0, "accuracy": 0.9}
    return make_archive(panels=[more, two])


pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def test_a_panel_is_described_and_run_once(known, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "TIMES", (2,))
    monkeypatch.setattr(runs, "list_crowd_kit", tuple)  # whose import takes seconds
    monkeypatch.setattr(estimates, "PANEL_RESAMPLES", 5)
    seen = []

    def read():
        seen.append(1)
        return known

    for _ in range(2):
        run_jury({"toy": read}, tmp_path, 3)
    assert len(seen) == 1
    (row,) = collect_jury(tmp_path)["panels"]
    assert (row["items"], row["judges"], row["classes"]) == (100, 5, 2)
    truth = known.signs[:100]
    values = known.votes.values[:100]
    counted = np.mean(np.sign(values.sum(axis=1)) == truth)
    assert row["labels"]["majority"]["accuracy"] == pytest.approx(counted)
    assert row["labels"]["LatentIsing"]["accuracy"] >= counted - 0.05
    assert row["labels"]["share of yes"]["log_loss"] < row["labels"]["majority"]["log_loss"]
    assert row["rates"]["truth"] == pytest.approx(np.mean(truth > 0))
    assert row["rates"]["gold alone"]["width"] > row["rates"]["estimate_rate"]["width"]
    copies = [one for one in row["repeats"] if not one["differ"]]
    assert {one["labels_kept"] for one in copies} == {1.0}
    assert {one["effective"] for one in copies} == {row["effective"]}
    assert collect_jury(tmp_path / "none", {"panels": [row]})["panels"] == [row]


def test_the_page_says_what_the_archive_holds(archive):
    page = render_jury(archive)
    assert "on 2 panels of language models" in page
    assert "| two | 2 | 1,200 | 9 | .900 (.250) | .850 | .850 (.500) |" in page
    assert "as accurate as the following or more: majority on 2 of 2 panels." in page
    assert "| mean |  |  |  | .900 (.250) | .850 | .850 (.500) |" in page
    assert "| two | 9 | 5.2 | 1 | 3 | .994 | .900, .899 | yes | – |" in page  # noqa: RUF001
    assert "| more | 9 | 5.2 | 1 | 0 | – | .900 | no | 169 |" in page  # noqa: RUF001
    assert "over 200 draws of 50 random gold labels" in page
    assert "| two | .400 | .950 (.50, .80) | .950 (1.00, 1.00) | .950 (1.00, 1.00) |" in page
    assert "| two | 5.25 | 0.00 | 1.000 | 0.25 | .970 |" in page


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


def test_lenient_judges_pass_more_of_the_first_system_only():
    votes, good = draw_panel("leniency", 4000, np.random.default_rng(0))
    passed = votes.values > 0
    bad = ~good[:4000]
    for s, more in ((0, 0.0), (6, LENIENT)):
        first, second = passed[:4000, s][bad].mean(), passed[4000:, s][~good[4000:]].mean()
        assert first - second == pytest.approx(more * (1 - second), abs=0.05)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_comparison_has_its_interval_and_counts_are_shares():
    row = compare_pair("leniency, 100 gold labels", 60, 0)
    assert row["low"] < row["difference"] < row["high"]
    assert {row["better"], row["worse"]} == set(SYSTEMS)
    assert 0 <= count_discoveries("equal", 40, 2)["called"] <= 1


def test_a_plain_fit_finds_strengths_of_equal_judges():
    votes, strengths = draw_preferences("independent judges", np.random.default_rng(1))
    assert np.corrcoef(fit_plainly(votes)[0], strengths)[0, 1] > 0.9
    found = rank_panel("families", 2)
    assert found["ours"] > 0.7
    assert found["coverage"] > 0.5


def test_the_page_lists_what_was_simulated():
    rows = [
        {"kind": "systems", "scenario": "equal", "questions": 200, "runs": 9, "called": 0.05,
         "flagged": 0.0, "width": 0.3},
        {"kind": "pairs", "scenario": "families", "runs": 9, "ours": 0.95, "plain": 0.9,
         "coverage": 0.9, "plain_coverage": 0.7, "first": 1.0},
    ]  # fmt: skip
    text = "\n".join(show_simulated(rows))
    assert "| equal | 200 | .050 | .000 | .300 |" in text
    assert "| families | .950 | .900 | .900 | .700 | 1.000 |" in text
    assert "over 9 draws" in text
    assert show_simulated(()) == []
