import pytest

from studies.rate.page import compare_figure, mean_coverage, render_rate


def test_the_page_says_what_the_archive_holds(archive):
    page = render_rate(archive)
    assert "on 2 sets of votes, 200 times 50 random items" in page
    assert "| one | 2 | 1,000 | 50 | .900 | .950 | .960 | .50 | .40 |" in page
    assert "within .93 to .97 on 2 of 2 sets, below on 0 and above on 0" in page
    assert "| useless | .950 (.960), .50 |" in page


def test_an_interval_without_gold_is_shown_or_missing(archive):
    page = render_rate(archive)
    assert "The interval is given on 1 of 2 sets; there it contains 0 of 2 true shares" in page
    assert "| one | .400 | .500 | .450 to .600 | no |" in page
    assert "| two | .400 | .500 | – | – |" in page  # noqa: RUF001


def test_more_classes_show_the_worst_one(archive):
    row = archive["sets"][0]
    row |= {"classes": 3, "coverage": [0.9, 0.95, 1.0], "alone_coverage": [0.95, 0.95, 0.95]}
    row |= {"truth": [0.5, 0.3, 0.2], "without": [[0.5, 0.4, 0.6], [0.4, 0.3, 0.5], [0.1, 0, 0.2]]}
    page = render_rate(archive)
    assert "| .950 (.90) | .950 |" in page
    assert "| one | .300 | .400 | .300 to .500 | yes |" in page


def test_figures_are_means_over_classes(archive):
    row = {**archive["sets"][0], "coverage": [0.9, 1.0], "error": [0.1, 0.3]}
    assert mean_coverage(row) == pytest.approx(0.95)
    assert compare_figure(row, "error") == pytest.approx(4)
