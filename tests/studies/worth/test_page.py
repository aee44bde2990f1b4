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
    assert "| Crowds drawn from the model | 2 | 1.00 | .95 (.15) | .80 (.30) |" in page
    assert "| Real votes | 2 | .50 | .75 (.25) |" in page
    worst = page.split("## Where")[1]
    plain, ease = (worst.index(f"| Crowds drawn from the model | {x}") for x in ("plain", "ease"))
    assert plain < ease
    assert "| Real votes | toy | .75 (.25) |" in worst
    assert "untold" not in worst
    assert "Other worlds |" not in page


def test_crowds_count_equally():
    rows = [
        make_row("model", "plain", {"accuracy": [1.0, 1.0, 0.5]}),
        make_row("model", "plain", {"accuracy": [0.0, 9.0, 0.9]}),
    ]
    covered, width = mean_held(rows, "accuracy")
    assert covered == 0.5
    assert abs(width - 0.3) < 1e-12
    assert mean_held(rows, "npv") is None
