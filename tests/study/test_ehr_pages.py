"""The EHR study's tables, figure and page, from made-up splits."""

import json
from pathlib import Path

import pytest

from unelisa.study.ehr import FIGURES, NONE, OURS, PAPER, PENLOG, UNELISA
from unelisa.study.ehr_figures import draw_splits
from unelisa.study.ehr_page import render_ehr
from unelisa.study.ehr_rare import HELPS, summarise_rare
from unelisa.study.ehr_tables import FORMAT, format_ehr, summarise_splits
from unelisa.study.figures import drawing

DOCUMENTS = Path(__file__).parents[2] / "docs"


def make_row(split, protocol, method, value):
    figures = dict.fromkeys(FIGURES, value)
    return {
        "set": "ra-7",
        "split": split,
        "protocol": protocol,
        "method": method,
        "figures": figures,
    }


@pytest.fixture
def rows():
    ways = ((PAPER, UNELISA, 0.7), (PAPER, PENLOG, 0.8), (NONE, OURS, 0.9))
    return [make_row(n, *way[:2], way[2] + 0.02 * n) for n in (0, 1) for way in ways]


@pytest.fixture
def rare():
    row = {"set": "ra-7 rare 0", "true_prevalence": 0.03, "auc": 0.9, "true_ppv": 0.8}
    found = [
        {**row, "told": told, "charts": charts, "prevalence": p, "ppv": [0.9, low, 0.95]}
        for told, charts in HELPS
        for p, low in ((0.03, 0.7), (0.05, 0.85))
    ]
    return summarise_rare(found)


@pytest.fixture
def archive(rows, rare):
    roles = {"anchor": 2, "code": 0, "core": 11, "weak": 0, "irrelevant": 0}
    facts = {
        "set": "ra-7",
        "patients": 46568,
        "features": 142,
        "reviewed": 435,
        "cases": 98,
        "prevalence": 0.16,
        "ppv": [0.96, 0.8, 0.98],
        "seconds": 1.5,
        "everybody": {"auc": 0.92, "ppv": None},
        "selected": {PAPER: ["NLP:synovitis"], OURS: ["ICD:714.0"]},
        "roles": {PAPER: roles, OURS: roles},
    }
    return {
        "format": FORMAT,
        "unelisa": "0",
        "sets": [facts, {**facts, "set": "ehr_phecap"}],
        "methods": summarise_splits(rows),
        "rare": rare,
    }


def test_means_and_deviations(rows):
    found = {row["method"]: row for row in summarise_splits(rows)}
    assert found[OURS]["figures"]["auc"] == [0.91, 0.0141]
    assert found[OURS]["splits"] == 2
    rows[-1]["figures"]["ppv"] = None
    assert summarise_splits(rows)[-1]["figures"]["ppv"] == [0.9, 0.0]
    assert summarise_splits(rows + rows)[-1]["splits"] == 2  # no split counts twice


def test_rare_cohorts_are_counted(rare):
    assert rare[0]["within"] == 1
    assert rare[0]["covered"] == 1
    assert rare[0]["prevalence"] == [0.04, 0.03, 0.05]


def test_the_page_shows_every_number_with_its_protocol(archive):
    page = render_ehr(archive)
    assert "| **Phenotyper** | none | .910 (.014) |" in page
    assert "| unElisa | all charts (leak) | .710 (.014) |" in page
    assert "| *published penLog* | all charts (leak) | .907 (.015) | .635 (.077) |" in page
    assert "too good by leakage" in page
    assert "ra-7: `Phenotyper` selects ICD:714.0." in page
    assert "On all 46,568 patients `Phenotyper` has AUC .920. It took 1.5 s" in page
    assert "## ehr_phecap" in page
    assert "| .03 | - | .040 (.030 to .050) | 1 of 2 |" in page
    assert "--seeds 7 " in page


def test_an_archive_is_json_with_a_set_or_method_a_line(archive):
    text = format_ehr(archive)
    assert json.loads(text) == json.loads(json.dumps(archive))
    starts = [line[:8] for line in text.splitlines()[1:]]
    assert set(starts) == {'{"set":"', '{"told":'}


def test_the_page_in_the_documents_is_the_one_that_its_archive_gives():
    archive = json.loads((DOCUMENTS / "study" / "ehr.json").read_text(encoding="utf-8"))
    page = (DOCUMENTS / "phenotyping_study.md").read_text(encoding="utf-8")
    assert render_ehr(archive) == page


def test_boxes_hold_the_splits_and_diamonds_the_published_means(rows):
    with drawing():
        figure = draw_splits(rows, "ra-7")
    assert figure.axes[0].get_title() == "AUC"
    marks = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert marks == [0.904, 0.907]
    assert len(figure.axes[0].patches) == 3
