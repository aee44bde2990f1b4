from studies.worth.page import mean_held, render_worth


def make_row(part, kind, held):
    return {"part": part, "kind": kind, "number": 1, "told": bool(held), "held": held}


def test_the_page_says_what_the_archive_holds():
    rows = [
        make_row("model", "plain", {"accuracy": [9.0, 10.0, 2.0], "npv": [8.0, 10.0, 3.0]}),
        make_row("model", "ease", {"accuracy": [5.0, 5.0, 0.5]}),
        make_row("set", "untold", {}),
        make_row("set", "toy", {"accuracy": [3.0, 4.0, 1.0]}),
    ]
    page = render_worth({"voters": rows})
    assert "plain: voters who err independently | 1 | 1.00 | .90 (.20) | .80 (.30) |" in page
    assert "for .950 of the voters in the mean over rows, from .900 to 1.000" in page
    assert "| toy | 1 | 1.00 | .75 (.25) |" in page
    assert "| untold | 1 | .00 | – |" in page  # noqa: RUF001
    assert "Other worlds" not in page


def test_crowds_count_equally():
    rows = [
        make_row("model", "plain", {"accuracy": [1.0, 1.0, 0.5]}),
        make_row("model", "plain", {"accuracy": [0.0, 9.0, 0.9]}),
    ]
    covered, width = mean_held(rows, "accuracy")
    assert covered == 0.5
    assert abs(width - 0.3) < 1e-12
    assert mean_held(rows, "npv") is None
