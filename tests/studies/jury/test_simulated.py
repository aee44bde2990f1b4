"""The simulations of systems and preferences."""

import numpy as np
import pytest

from studies.jury.discoveries import LENIENT, SYSTEMS, compare_pair, count_discoveries, draw_panel
from studies.jury.page import show_simulated
from studies.jury.pairs import draw_preferences, fit_plainly, rank_panel


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
