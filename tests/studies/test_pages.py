"""The pages whose numbers are measured by benchmarks/, from their stored results."""

import json
from pathlib import Path

import pytest

from studies.markdown import has_mark, store_tables
from studies.pages import performance, scaling
from studies.pages.model import TABLES, write_pages
from studies.pages.reliability import render_reliability

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def assert_shown(page, name, part):
    """A part stands on its page, and a long table in its file."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    shown, tables = store_tables(f"{part}\n", page, name)
    assert text.split(f"<!-- {name} -->\n")[1].split(f"<!-- end {name} -->")[0] == shown
    for file, table in tables.items():
        assert (ROOT / "docs" / "study" / file).read_text(encoding="utf-8") == table


@pytest.mark.parametrize("name", performance.PARTS)
def test_the_page_on_performance_is_what_was_measured(name):
    assert_shown("performance", name, performance.PARTS[name](load("solver")))


@pytest.mark.parametrize("name", scaling.PARTS)
def test_the_page_on_scaling_is_what_was_measured(name):
    assert_shown("scaling", name, scaling.PARTS[name](load("scaling")))


@pytest.mark.parametrize("name", scaling.DEFAULT_PARTS)
def test_the_default_beside_crowd_kit_is_what_was_measured(name):
    assert_shown("scaling", name, scaling.DEFAULT_PARTS[name](load("default")))


def test_the_default_on_a_gpu_is_what_was_measured():
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    for found in load("latent_gpu")["sizes"]:
        n_items, _, _, n_classes = map(int, found["size"].split("x"))
        near = [found[name] for name in ("fit_seconds", "first_fit", "predict_seconds")]
        far = [found.get(name) for name in ("processor_fit", "processor_predict")]
        cells = [f"{n_items:,}", str(n_classes), *(f"{one:.2f} s" for one in near)]
        cells += ["-" if one is None else f"{one:.1f} s" for one in far]
        assert f"| {' | '.join(cells)} | {found['peak_gb']:.1f} GB |" in page
        assert not found.get("labels_that_differ")


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
    assert "| 16 sets | latent-ising |" in page
    assert "| panels |" not in page


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
