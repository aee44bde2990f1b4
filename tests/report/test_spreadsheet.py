import csv
from io import StringIO

import numpy as np
import pytest

from unelisa.aggregators import MajorityVote
from unelisa.report.spreadsheet import defuse_cell, write_labels, write_table
from unelisa.votes import Votes


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\rx", "=", "-1+2"])
def test_formulas_become_text(cell):
    assert defuse_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1", "+1", "-.5", "-1.5e-3", "ward 3", "", "a=b", -1, None])
def test_numbers_and_plain_text_are_left_alone(cell):
    assert defuse_cell(cell) == cell


def test_headers_are_defused_too():
    file = StringIO()
    write_table(file, ("item", "=voter"), [(1, None)])
    assert file.getvalue() == "item,'=voter\n1,\n"


def test_labels_are_the_users_own():
    values = np.array([[1, 1, -1], [-1, -1, 1]], dtype=np.int8)
    votes = Votes.of_values(
        values, np.array(["=a", 'b,"c'], dtype=object), np.array(["x", "y", "z"])
    )
    file = StringIO()
    write_labels(file, MajorityVote().fit(votes), votes)
    rows = list(csv.reader(StringIO(file.getvalue())))
    assert rows == [["item", "label", "probability"], ["'=a", "1", ""], ['b,"c', "-1", ""]]
