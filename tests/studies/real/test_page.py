from pathlib import Path

import pytest

from studies.chances import SHARE
from studies.real.intervals import Figure
from studies.real.page import SITUATIONS, render_real
from studies.real.runs import INTERCEPTS, OURS, PEERS, SUPERVISED, VARIANTS, make_row
from studies.real.supervised import REFERENCES
from studies.records import make_archive, read_archive
from unelisa.aggregators import AGGREGATORS

DOCS = Path(__file__).parents[3] / "docs"


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
    return make_archive(sets=sets, rows=rows)


def test_the_page_says_it_when_we_lose(archive):
    page = render_real(archive)
    winners = page.split("## Who wins where")[1].split("##")[0]
    assert "| dense | dawid-skene | 0.800 | rival | 0.900 | 0.700 |" in winners


def test_a_method_that_refused_ranks_last_and_says_on_how_many_sets_it_answered(archive):
    table = render_real(archive).split("## Mean ranks")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows[-1].startswith("| **log-linear** |")
    assert "0 of 2" in rows[-1]


def test_situations_name_the_sets_that_are_like_that(archive):
    table = render_real(archive).split("## Which method when")[1].split("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    counts = {row.split(" | ")[0][2:]: row.split(" | ")[1] for row in rows}
    assert counts[SITUATIONS[0].words] == "2"
    assert counts["A few votes per item, from many voters"] == "1"
    assert "One-sided voters, such as rules" not in counts


def test_supervised_references_have_their_means(archive):
    assert "What labels would add" not in render_real(archive)  # no set has enough labels
    for name in REFERENCES:
        for n in (50, 200):
            place = "dense", f"{name} ({n} labels)", SUPERVISED
            archive["rows"].append(make_row(place, figures(0.95 if n == 50 else 0.97), 1.0))
    part = " ".join(
        render_real(archive).split("## What labels would add")[1].split("## ")[0].split()
    )
    assert "of the 1 sets that have enough labels" in part
    assert "in hindsight, has 0.800 and majority vote 0.700" in part
    assert "| penlog | 0.950 | 0.970 |" in part


def test_variants_stand_beside_what_they_vary_and_are_not_ranked(archive):
    assert "Not ranked" not in render_real(archive)
    archive["rows"] += [
        make_row(("dense", "unelisa", OURS), figures(0.6), 0.1),
        make_row(("dense", INTERCEPTS, VARIANTS), figures(0.7), 0.1),
        make_row(("dense", SHARE, VARIANTS), figures(0.7) | {"log_loss": Figure(0.4, 0, 1)}),
        make_row(
            ("dense", "crowd-kit MajorityVote", PEERS),
            figures(0.7) | {"log_loss": Figure(0.9, 0, 1)},
        ),
    ]
    ranks, variants = render_real(archive).split("## Mean ranks")[1].split("Not ranked: ")
    variants = " ".join(variants.split())
    assert "log loss of 0.400: most of the 0.900 of crowd-kit's majority vote" in variants
    assert "mean accuracy of 0.700, the default, which follows the paper, 0.600." in variants
    assert not any(f"| {name} |" in ranks for name in (INTERCEPTS, SHARE))


def test_exceptions_from_the_defaults_are_named():
    programs = (DOCS.parent / "benchmarks" / "peer_programs.py").read_text(encoding="utf-8")
    assert "n_epochs=500" in programs
    page = (DOCS / "comparison.md").read_text(encoding="utf-8")
    assert "trains for 500 epochs" in " ".join(page.split())


def test_the_archive_has_every_method_on_every_set():
    archive = read_archive(DOCS / "study" / "real.json", "rows", "")
    answered = {row["method"] for row in archive["rows"] if row["kind"] != SUPERVISED}
    assert len(archive["sets"]) == 16
    assert {*AGGREGATORS, INTERCEPTS} <= answered
    there = {(row["set"], row["method"]) for row in archive["rows"]}
    for known in archive["sets"]:
        assert all((known["set"], method) in there for method in answered)
