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


def test_every_set_has_its_table_with_the_best_in_bold(page):
    first = lines(page, "### a, 3 classes, 5 items with known truth")
    assert "| *EBCC* | **.650** | **.350** | 0.50 |" in first
    second = lines(page, "### b, ordered, 3 classes, 5 items with known truth")
    assert "| **dawid-skene** | **.800** | **.200** | **.250** | 0.50 |" in second
    assert not any("EBCC" in line for line in second)


def test_notes_say_why_a_row_is_missing_and_that_the_data_were_seen(page):
    assert "- *EBCC* on b: not run (time)." in page
    assert "- crowd-kit: version 1." in page
    assert "**These are development data**" in " ".join(page.split())
