from pathlib import Path

import pytest

from unelisa.aggregators import AGGREGATORS
from unelisa.study.intervals import Figure
from unelisa.study.real import OURS, PEERS, SUPERVISED, make_row, read_real
from unelisa.study.real_page import SITUATIONS, render_real

DOCS = Path(__file__).parents[2] / "docs"


def facts(name, **changed):
    plain = {"items": 100, "labelled": 90, "voters": 9, "missing": 0.0, "base_rate": 0.5}
    return {"set": name, **plain, "unvoted": 0.0, "one_sided": 0.0, **changed}


def figures(accuracy):
    return {name: Figure(accuracy, accuracy - 0.1, accuracy) for name in ("accuracy", "auc")} | {
        "balanced_accuracy": Figure(accuracy, 0, 1)
    }


@pytest.fixture
def archive():
    rows = []
    for name in ("dense", "sparse"):
        rows += [
            make_row((name, "dawid-skene", OURS), figures(0.8), 0.1),
            make_row((name, "majority-vote", OURS), figures(0.7), 0.1),
            make_row((name, "log-linear", OURS), {}, note="refused: too many | voters"),
            make_row((name, "rival", PEERS), figures(0.9), 20.0, "version 1.0"),
            make_row((name, "penlog (50 labels)", SUPERVISED), figures(0.95), 1.0),
        ]
    sets = [facts("dense"), facts("sparse", missing=0.97, base_rate=0.1)]
    return {"format": 1, "unelisa": "0", "sets": sets, "rows": rows}


def test_the_page_says_it_when_we_lose(archive):
    page = render_real(archive)
    winners = page.split("## Who wins where")[1].split("##")[0]
    assert "| dense | dawid-skene | 0.800 [0.700, 0.800] | rival | 0.900" in winners


def test_every_method_is_on_every_set_or_the_page_says_why(archive):
    page = render_real(archive).split("## Every set")[1]
    for name in ("dense", "sparse"):
        part = page.split(f"### {name}")[1].split("###")[0]
        for method in ("dawid-skene", "majority-vote", "log-linear", "rival"):
            assert method in part
        assert "refused: too many / voters" in part


def test_situations_name_the_sets_that_are_like_that(archive):
    table = render_real(archive).split("## Which method when")[1].split("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    counts = {row.split(" | ")[0][2:]: row.split(" | ")[1] for row in rows}
    assert counts[SITUATIONS[0].words] == "2"
    assert counts["A few votes per item, from many voters"] == "1"
    assert "Voters who can say one thing only" not in counts


def test_supervised_references_have_their_columns(archive):
    table = render_real(archive).split("## What labels would buy")[1].split("## ")[0]
    assert "| dense | 0.800 | 0.700 | 0.950 | – |" in table  # noqa: RUF001


@pytest.mark.skipif(not (DOCS / "study" / "real.json").exists(), reason="the study was not run")
class TestThePageInTheRepository:
    def test_it_is_what_its_archive_says(self):
        page = (DOCS / "comparison.md").read_text(encoding="utf-8")
        assert page == render_real(read_real(DOCS / "study" / "real.json"))

    def test_it_covers_all_sets_and_methods(self):
        archive = read_real(DOCS / "study" / "real.json")
        answered = {row["method"] for row in archive["rows"] if row["kind"] != SUPERVISED}
        assert len(archive["sets"]) == 16
        assert len(answered) >= 12
        assert set(AGGREGATORS) <= answered
        told = {(row["set"], row["method"]) for row in archive["rows"]}
        for known in archive["sets"]:
            assert all((known["set"], method) in told for method in answered)
