import re
from copy import deepcopy
from pathlib import Path

import pytest

from unelisa.errors import ModelError
from unelisa.study.archive import read_archive
from unelisa.study.page import render_page
from unelisa.study.published import PUBLISHED
from unelisa.study.trial import LABELS

DOCS = Path(__file__).resolve().parents[2] / "docs"


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
            assert f"; {number:.3f}".replace("; 0.", "; .") in page


def test_tables_are_rectangular_and_cover_the_cells(archive):
    found = tables(render_page(archive))
    assert len(found) == 2 + 3 + 1 + 1 + 3 + 1
    for table in found:
        assert len({len(row) for row in table}) == 1
    assert all(len(table) == 27 + 2 for table in found[2:])


def test_the_first_cell_reads_as_it_should(archive):
    row = tables(render_page(archive))[2][2]
    assert [entry.strip() for entry in row[:4]] == [
        "high 25/4",
        ".500 ±.000; .986 ▼",
        ".750 ±.000; .987 ▼",
        ".960 ±.010; .942 =",
    ]


def test_errors_that_are_too_large_are_not_hidden(archive):
    assert "(too large)" in render_page(archive)


def test_unfinished_runs_show_how_far_they_are(archive):
    unfinished = deepcopy(archive)
    unfinished["studies"][1]["cells"][3]["trials"] = 1
    assert "| mixed | half | 1-2 |" in render_page(unfinished)


def test_every_method_has_a_name_in_print(archive):
    assert set(archive["studies"][0]["cells"][0]["accuracy"]) <= set(LABELS)


def test_a_page_needs_both_samplers(archive):
    part = deepcopy(archive)
    part["studies"].pop()
    with pytest.raises(ModelError, match="lack the mixed sampler"):
        render_page(part)


def test_the_page_in_the_documentation_is_made_from_its_archive():
    archive = DOCS / "study" / "tables.json"
    if not archive.exists():
        pytest.skip("the study has not been run yet")
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert page == render_page(read_archive(archive))
    for link in re.findall(r"\]\((images/[^)]+)\)", page):
        assert (DOCS / link).exists(), link
