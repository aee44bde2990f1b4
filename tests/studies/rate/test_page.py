import pytest

from studies.rate.page import compare_figure, mean_coverage, render_rate


def test_the_page_says_what_the_archive_holds(archive):
    page = render_rate(archive)
    assert "on 2 sets of votes, 200 times 50 random items" in page
    assert "| right on .9 or more | 2 | .950 | .950 | .960 | .500 | .400 |" in page
    assert "within .93 to .97 on 2 of 2 sets, below on 0 and above on 0" in page
    assert "| useless | .950 (.960), .50 |" in page
    assert "lowest coverage of a single share is .950: a model that is *useless*, a share" in page


def test_sets_are_grouped_by_how_right_the_model_is(archive):
    archive["sets"][1] |= {"accuracy": 0.6, "coverage": [0.8, 0.8]}
    page = render_rate(archive)
    assert "| right on less than .75 | 1 | .800 | .800 |" in page
    assert "| all | 2 | .875 | .800 |" in page


def test_sets_without_gold_count_once_and_misses_are_named(archive):
    words = "The interval is given on 1 of 2 sets; on 0 of them it contains the true share of every"
    assert words in render_rate(archive)
    assert "of their rarest class: one (.400)." in render_rate(archive)
    archive["sets"][0]["without"] = [[0.5, 0.4, 0.65], [0.5, 0.35, 0.6]]
    assert "; on 1 of them" in render_rate(archive)
    archive["sets"] = archive["sets"][1:]
    assert "No interval is given on any of 1 sets." in render_rate(archive)


def test_figures_are_means_over_classes(archive):
    row = {**archive["sets"][0], "coverage": [0.9, 1.0], "error": [0.1, 0.3]}
    assert mean_coverage(row) == pytest.approx(0.95)
    assert compare_figure(row, "error") == pytest.approx(4)
