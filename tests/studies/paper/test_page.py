import re
from copy import deepcopy
from pathlib import Path

import pytest

from studies.paper.cells import CELLS, PUBLISHED, Trial
from studies.paper.page import _show_mixing, render_page, show_intercepts, show_latent
from studies.paper.tables import tabulate_study
from studies.paper.trials import FIRST_TRIALS, LABELS
from unelisa.errors import ModelError

DOCS = Path(__file__).resolve().parents[3] / "docs"


def tables(page):
    """Every table of the page as rows of entries."""
    blocks = re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE)
    return [
        [re.split(r"(?<!\\)\|", line.strip("|\n")) for line in block.splitlines()]
        for block in blocks
    ]


def test_every_published_number_stands_on_the_page(archive):
    page = render_page(archive)
    for row in PUBLISHED.values():
        for number in row.figures.values():
            assert f"/{number:.3f}".replace("/0.", "/.") in page


def test_tables_are_rectangular_and_cover_the_cells(archive):
    found = tables(render_page(archive))
    assert len(found) == 1 + 1 + 1
    for table in found:
        assert len({len(row) for row in table}) == 1
    assert [len(table) - 2 for table in found[1:]] == [27, 3]


def test_the_first_cell_reads_as_it_should(archive):
    row = tables(render_page(archive))[1][2]
    assert [entry.strip() for entry in row[:4]] == [
        "high 25/4",
        ".500/.986▼",
        ".750/.987▼",
        ".960/.942=",
    ]


def test_errors_that_are_too_large_are_not_hidden(archive):
    assert "(too large)" in render_page(archive)


def test_unfinished_runs_show_how_far_they_are(archive):
    unfinished = deepcopy(archive)
    unfinished["studies"][1]["cells"][3]["trials"] = 1
    assert "| mixed | half | 1-2 |" in render_page(unfinished)


def test_every_method_has_a_name_in_print(archive):
    assert set(archive["studies"][0]["cells"][0]["accuracy"]) <= set(LABELS)


def test_the_page_is_short(archive):
    """Tables are data: most of them stand in docs/study/tables.json alone."""
    stored = (DOCS / "reproduction.md").read_text()
    assert len(stored.split()) <= 3000
    assert "conjecture" in render_page(archive)


def test_a_page_needs_both_samplers(archive):
    part = deepcopy(archive)
    part["studies"].pop()
    with pytest.raises(ModelError, match="lack the mixed sampler"):
        render_page(part)


def study(make_record, method, accuracies, hits=(1.0, 1.0)):
    """Two trials of one cell: one method's accuracies and hit rates beside .9 of all others."""
    results = {}
    for number, (accuracy, hit) in enumerate(zip(accuracies, hits, strict=True)):
        trial = Trial(CELLS[0], number, "mixed")
        record = make_record(trial)
        scores = {"accuracy": accuracy, "hit_rate": hit, "precision": 1.0}
        record["scores"][method] = scores
        record["seconds"]["latent-ising"] = 1.5
        results[trial] = record
    return tabulate_study(results, "mixed", "half")


def test_differences_are_up_to_sign_on_the_same_trials(make_record):
    done = study(make_record, "latent-ising", (0.06, 0.9))
    row = tables(_show_mixing(done, done))[0][2]
    assert [entry.strip() for entry in row[:3]] == ["high", ".500", ".750"]
    assert ".920" in {entry.strip() for entry in row[3:]}
    assert "took 1.5 s" in show_latent(done, done)
    done = study(make_record, "unelisa-intercepts", (0.06, 0.9))
    assert "the mean difference is +0.020" in show_intercepts(done, done)


@pytest.mark.parametrize(("accuracy", "within"), [(0.87, 1), (0.8697, 0)])
def test_cells_are_counted_before_rounding(make_record, accuracy, within):
    done = study(make_record, "latent-ising", (accuracy, accuracy), hits=(0.9, 0.98))
    page = show_latent(done, done)
    assert f"within .005 of the oracle in 0 of 1 cells and within .03 in {within} of 1" in page
    assert "both at least .95 in 0 of 1; it is more than .005 below unElisa-Bayes in 1 of 1" in page


def test_a_stuck_chain_is_counted_and_not_claimed(make_record):
    done = study(make_record, "latent-ising", (0.9, 0.9))
    counted = {**done, "stuck": {"trials": 39, "claimed": 10, "reliable": 9}}
    page = " ".join(show_latent(done, counted).split())
    assert "of the 39 such trials among the first 2 of every cell, it selects experts in 10" in page


def test_trials_beyond_the_first_ones_do_not_count(make_record):
    late = Trial(CELLS[0], FIRST_TRIALS["latent-ising"], "mixed")
    results = {late: make_record(late, methods=("oracle", "unelisa-bayes"))}
    done = tabulate_study(results, "mixed", "half")
    assert show_latent(done, done) == ""
    assert show_intercepts(done, done) == ""
