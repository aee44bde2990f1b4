import re
from pathlib import Path

import pytest

from unelisa.study.cells import CELLS, Cell
from unelisa.study.published import PUBLISHED, PUBLISHED_COLUMNS

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper" / "unelisa.tex"


def test_every_cell_has_its_table_and_row():
    assert list(PUBLISHED) == list(CELLS)
    assert [row.table for row in PUBLISHED.values()] == [
        t for t in ("5.1", "5.2", "5.3") for _ in range(9)
    ]
    assert [row.row for row in PUBLISHED.values()] == [*range(1, 10)] * 3
    figures = PUBLISHED[Cell("medium", 81, "sqrt")].figures
    assert tuple(figures) == PUBLISHED_COLUMNS
    assert figures["spectral-meta-learner"] == 0.064


@pytest.mark.shared
def test_the_numbers_are_those_of_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper (../shared/paper) is not beside this checkout")
    row = re.compile(r"\$\s*(?:\\log p|\\sqrt\{p\}|p/4)\s*\$\s*&([^\\]+)\\\\")
    printed = [[float(x) for x in line.split("&")] for line in row.findall(PAPER.read_text())]
    assert printed == [list(row.figures.values()) for row in PUBLISHED.values()]
