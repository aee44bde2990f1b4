"""The pages whose numbers are measured by benchmarks/, from their stored results."""

import json
from pathlib import Path

import pytest

from studies.markdown import has_mark
from studies.pages import performance, scaling
from studies.pages.model import DOUBT, TABLES, flatten, with_error, write_pages
from studies.pages.reliability import render_reliability

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def between_marks(page, name):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.split(f"<!-- {name} -->\n")[1].split(f"\n<!-- end {name} -->")[0]


@pytest.mark.parametrize("name", performance.PARTS)
def test_the_page_on_performance_is_what_was_measured(name):
    assert between_marks("performance.md", name) == performance.PARTS[name](load("solver"))


@pytest.mark.parametrize("name", scaling.PARTS)
def test_the_page_on_scaling_is_what_was_measured(name):
    assert between_marks("scaling.md", name) == scaling.PARTS[name](load("scaling"))


def test_both_methods_are_timed_on_the_same_votes():
    report = load("scaling")
    sizes = [[(x["items"], x["voters"]) for x in report["growth"][m]] for m in scaling.METHODS]
    assert sizes[0] == sizes[1]
    assert set(scaling.METHODS) <= set(report["crowd"])


def test_the_page_on_reliability_is_what_was_measured():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    real = json.loads((ROOT / "docs" / "study" / "real.json").read_text(encoding="utf-8"))
    measured = {**load("reliability"), "attacks": load("attacks")}
    assert page == render_reliability(measured, real)
    assert "| **mean of the sets** |" in page
    assert "| **mean of the panels** |" in page


def test_calibration_on_real_votes_by_hand():
    def row(name, method, value):
        keys = ("accuracy", "balanced_accuracy", "log_loss", "ece", "confidence")
        return {"set": name, "method": method, "figures": {key: [value, 0, 1] for key in keys}}

    methods = ("latent-ising", "share-of-yes", "dawid-skene")
    rows = [row(name, m, v) for name, v in (("a", 0.5), ("b", 0.7)) for m in methods]
    rows += [row("c", "latent-ising", 0.9)]  # the others have not run there
    page = render_reliability({}, {"rows": rows, "panels": {"rows": rows[:3]}})
    assert "| a | .500 / .500 / .500 |" in page
    assert "| **mean of the sets** | .600 / .600 / .600 |" in page
    assert "| **mean of the panels** | .500 / .500 / .500 |" in page
    assert "| c |" not in page
    assert "Calibration on real votes" not in render_reliability({}, {"rows": []})


def test_the_tables_of_the_model_are_what_was_measured(tmp_path):
    pages = list((ROOT / "docs").glob("*.md"))
    for page in pages:
        (tmp_path / page.name).write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    written = write_pages(load("latent"), tmp_path)
    for page in written:
        same = (ROOT / "docs" / page.name).read_text(encoding="utf-8")
        assert page.read_text(encoding="utf-8") == same
    for name in TABLES:
        assert sum(has_mark(page, name) for page in written) == 1


def test_standard_errors_stand_beside_the_means():
    rows = [flatten(row) for row in load("latent") if row["part"] == "real"]
    auto = [row["accuracy"] for row in rows if row["structure"] == "auto"]
    mean = TABLES["real"](rows).splitlines()[-2]
    assert mean.startswith(f"| **mean** |  |  | {with_error(auto, 4)} |")


def test_the_doubt_of_a_set_is_chosen_on_the_others():
    grid = [(0.05, 0.1, 0.2), DOUBT]
    losses = {"a": (0.9, 0.2), "b": (0.3, 0.4), "c": (0.3, 0.4)}
    rows = [
        {"set": name, "share": share, "misfit": misfit, "apart": apart, "log_loss": loss}
        for name, pair in losses.items()
        for (share, misfit, apart), loss in zip(grid, pair, strict=True)
    ]
    table = TABLES["doubt"](rows).splitlines()
    # without a, the first point is best on b and c; without b or c, a decides for the second
    assert table[2:5] == [
        "| a | .200 | .900 | +0.700 | .05 | .1 | .2 |",
        "| b | .400 | .400 | +0.000 | .1 | .1 | .2 |",
        "| c | .400 | .400 | +0.000 | .1 | .1 | .2 |",
    ]
    assert table[-2:] == ["| .05 | .500 |", "| .1 | .333 |"]
