import pytest

from studies.classes.page import render_classes
from studies.classes.runs import OURS, PEERS, SHARE, STORED, VARIANTS, make_row


def row(name, method, kind, accuracy, note="", **more):
    figures = {} if accuracy is None else {"accuracy": accuracy, "log_loss": 1 - accuracy, **more}
    return make_row((name, method, kind), figures, 0.5, note)


@pytest.fixture(scope="module")
def page():
    sets = [
        {
            "set": name,
            "classes": 3,
            "ordered": name == "b",
            "items": 9,
            "labeled": 5,
            "voters": 4,
            "votes": 20,
        }
        for name in "ab"
    ]
    rows = [
        row("a", "dawid-skene", OURS, 0.6),
        row("b", "dawid-skene", OURS, 0.8, mean_absolute_error=0.25),
        row("a", SHARE, VARIANTS, 0.99),
        row("b", SHARE, VARIANTS, 0.99, mean_absolute_error=0.01),
        row("a", "crowd-kit GLAD", PEERS, 0.5, "version 1"),
        row("b", "crowd-kit GLAD", PEERS, 0.7, "version 1", mean_absolute_error=0.5),
        row("a", "EBCC", STORED, 0.65, "best of 40"),
        row("b", "EBCC", STORED, None, "not run (time)"),
    ]
    return render_classes({"sets": sets, "rows": rows})


def lines(page, heading):
    return page.split(f"{heading}\n")[1].split("\n#")[0].splitlines()


def test_means_are_over_all_sets_and_errors_in_steps_over_ordered_ones(page):
    table = [line for line in lines(page, "## Means over the sets") if line.startswith("|")]
    assert table[0] == "| method | accuracy | log loss | MAE |"
    assert "| **dawid-skene** | **.700** | **.300** | **.250** |" in table
    assert f"| {SHARE} | .990 | .010 | .010 |" in table  # shown, not ranked
    assert "| crowd-kit GLAD | .600 | .400 | .500 |" in table
    assert "| *EBCC* | – | – | – |" in table  # noqa: RUF001


def test_ours_stand_beside_the_best_of_each_set(page):
    table = lines(page, "## Accuracy, set by set")
    assert "| a | – | .600 | – | *EBCC* .650 |" in table  # noqa: RUF001
    assert "| b | – | .800 | – | **dawid-skene** .800 |" in table  # noqa: RUF001


def test_the_page_says_that_the_data_were_seen(page):
    assert "**These are development data**" in " ".join(page.split())
