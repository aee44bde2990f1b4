import numpy as np
import pytest

from unelisa.errors import VotesError
from unelisa.votes.columns import Column


def test_number_columns_know_their_labels_and_rows():
    column = Column.of(np.array([1.0, np.nan, 0.0, 1.0]))
    assert column.distinct() == {0, 1}
    assert column.first_row(0) == 2
    assert column.encode({0: -1, 1: 1}).tolist() == [1, 0, -1, 1]
    small = Column.of(np.array([-1, 1, -128, 127], dtype=np.int8))
    assert small.distinct() == {-128, -1, 1, 127}


@pytest.mark.parametrize("missing", [None, float("nan"), "", np.datetime64("NaT")])
def test_text_columns_recognise_missing_values(missing):
    column = Column.of(["b", missing, "a", "b"])
    assert column.distinct() == {"a", "b"}
    assert column.first_row("a") == 2
    assert column.encode({"a": -1, "b": 1}).tolist() == [1, 0, -1, 1]


def test_a_cell_must_be_one_label():
    with pytest.raises(VotesError, match="found a list in a cell"):
        Column.of(["a", ["b"]])


@pytest.mark.parametrize("make", [lambda x: Column.of(np.array(x)), Column.of])
def test_labels_are_counted(make):
    column = make([2, 1, 2, 5])
    assert [column.count(label) for label in (1, 2, 7)] == [1, 2, 0]
