import pytest

from studies.rules.page import mean_of, render_rules


def test_the_page_says_what_the_archive_holds(archive):
    page = render_rules(archive)
    assert "- *arthritis*, the package's own datamart" in page
    assert "*lupus*" not in page
    assert "| arthritis | 22% | 0 | .030, .90 (20 of 30) |" in page
    assert "| arthritis | 1% | 10 | – (0 of 30) |" in page  # noqa: RUF001
    assert "the error of sensitivity is .030 on average, and .900 of its intervals hold" in page
    assert "specificity is .030 on average (more than .02 for arthritis at 22%" in page
    assert "| arthritis | 22% | .030, .90 | .400 |" in page
    assert "| arthritis | 22% | 1 | .90 (.50 to .95), .80 | 9 of 10 | .010, .002 | 15 |" in page
    assert ".85 (.60 to .90), .80 | 10 of 10 | .040, .020, .030 |" in page


def test_means_count_figures_not_cells(archive):
    found = mean_of(archive["cells"], "ppv", "records")
    assert found == {
        "told": 20, "n": 60, "held": 0.9, "error": pytest.approx(0.03), "width": 0.2
    }  # fmt: skip
    assert mean_of(archive["cells"][1:], "ppv", "records")["error"] is None


def test_worlds_to_choose_on_are_not_shown(archive):
    cells = [{**cell, "part": "choosing"} for cell in archive["cells"]]
    assert "## Without charts" not in render_rules({**archive, "cells": cells})
