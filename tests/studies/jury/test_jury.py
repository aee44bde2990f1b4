"""Panels of judges: rows, rates, simulations and the page."""

import numpy as np
import pytest

from studies.jury import estimates, runs
from studies.jury.discoveries import LENIENT, SYSTEMS, compare_pair, count_discoveries, draw_panel
from studies.jury.estimates import ask_independent_panel, correct_judge, fit_independent
from studies.jury.pairs import draw_preferences, fit_plainly, rank_panel
from studies.jury.runs import collect_jury, run_jury
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


def test_judges_are_corrected_by_their_rates_and_lenient_ones_seen():
    rng = np.random.default_rng(0)
    truth = rng.random(20_000) < 0.3
    said = np.where(truth, rng.random(20_000) < 0.9, rng.random(20_000) < 0.2)
    gold = np.arange(20_000) < 500
    rate = correct_judge(truth[gold], said[gold], said[~gold], 0.95, rng)
    assert said.mean() > 0.38
    assert rate.share == pytest.approx(0.3, abs=0.05)
    assert rate.low < rate.share < rate.high
    assert rate.high - rate.low < 0.2
    votes, good = draw_panel("leniency", 4000, np.random.default_rng(0))
    passed = votes.values > 0
    bad = ~good[:4000]
    for s, more in ((0, 0.0), (6, LENIENT)):
        first, second = passed[:4000, s][bad].mean(), passed[4000:, s][~good[4000:]].mean()
        assert first - second == pytest.approx(more * (1 - second), abs=0.05)


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


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_plain_fits_and_comparisons_have_their_intervals():
    votes, strengths = draw_preferences("independent judges", np.random.default_rng(1))
    assert np.corrcoef(fit_plainly(votes)[0], strengths)[0, 1] > 0.9
    found = rank_panel("families", 2)
    assert found["ours"] > 0.7
    assert found["coverage"] > 0.5
    row = compare_pair("leniency, 100 gold labels", 60, 0)
    assert row["low"] < row["difference"] < row["high"]
    assert {row["better"], row["worse"]} == set(SYSTEMS)
    assert 0 <= count_discoveries("equal", 40, 2)["called"] <= 1
