import datetime

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unelisa.errors import VotesError
from unelisa.votes import frames
from unelisa.votes.columns import Column, Names


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


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([0, 5, 10, 1, 100, 11, 99], np.int8),
        ([2_000_000_000, 3, 30], np.int32),
        ([-3, 7, 10], np.int64),
        ([10**18, 2], np.int64),
        ([], np.int64),
    ],
)
def test_numbers_become_texts_in_the_order_of_texts(numbers, kind):
    """Short ones are sorted as numbers, which is faster: the order is that of texts."""
    names = Names.of(np.array(numbers, dtype=kind)).as_text()
    assert names.names.tolist() == sorted(map(str, numbers))
    assert names.rows().tolist() == list(map(str, numbers))


def test_a_cell_must_be_one_label():
    with pytest.raises(VotesError, match="found a list in a cell"):
        Column.of(["a", ["b"]])


@pytest.mark.parametrize("make", [lambda x: Column.of(np.array(x)), Column.of])
def test_labels_are_counted(make):
    column = make([2, 1, 2, 5])
    assert [column.count(label) for label in (1, 2, 7)] == [1, 2, 0]


CELLS = {"item": ["a", "b"], "ann": [1, -1]}
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
EVERY_LIBRARY = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


def series_of(make, cells):
    return frames.as_frame(make({"x": cells})).get_column("x")


@pytest.mark.parametrize("other", [np.ones((2, 2)), [[1, -1]], pd.Series([1, 2]), None])
def test_what_is_no_frame_is_none(other):
    assert frames.as_frame(other) is None


def cells_of(column):
    """What stands in each row of a column: its label, or None where it abstained."""
    labels = sorted(column.distinct(), key=str)
    places = column.encode({label: place for place, label in enumerate(labels, 1)})
    return [None if place == 0 else labels[place - 1] for place in places]


@EVERY_LIBRARY
@pytest.mark.parametrize(
    "cells",
    [
        [1, -1, 1],
        [1, None, -1],
        [0.5, 1.5, 0.5],
        [True, False, True],
        [True, None, False],
        ["no", None, "yes"],
        [None, None, None],
    ],
)
def test_a_column_of_votes_says_what_its_cells_say(make, cells):
    column = frames.read_column(series_of(make, cells))
    assert cells_of(column) == cells


def categories():
    """The same four cells as each library's list of labels and places."""
    cells = ["no", None, "yes", "no"]
    return {
        "pandas": pd.DataFrame({"x": pd.Categorical(cells)}),
        "polars": pl.DataFrame({"x": pl.Series(cells, dtype=pl.Categorical)}),
        "arrow": pa.table({"x": pa.array(cells).dictionary_encode()}),
        "chunks": pa.table(
            {"x": pa.chunked_array([pa.array(["no", None]), pa.array(["yes", "no"])])}
        ).cast(pa.schema({"x": pa.dictionary(pa.int8(), pa.string())})),
    }


@pytest.mark.parametrize("library", categories())
def test_labels_with_places_are_read_as_the_text_they_stand_for(library):
    column = frames.read_column(frames.as_frame(categories()[library]).get_column("x"))
    assert cells_of(column) == ["no", None, "yes", "no"]


@EVERY_LIBRARY
def test_names_are_text_and_whole_numbers_as_they_are(make):
    assert frames.read_names(series_of(make, ["b", "a"])).rows().tolist() == ["b", "a"]
    numbers = frames.read_names(series_of(make, [7, 3])).rows()
    assert numbers.dtype.kind == "i"
    assert numbers.tolist() == [7, 3]
    assert frames.read_names(series_of(make, [1.5, 2.0])).rows().tolist() == ["1.5", "2"]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "chunks"])
def test_names_may_be_labels_with_places(library):
    column = frames.as_frame(categories()[library]).get_column("x")
    whole = column.filter(~column.is_null())
    assert frames.read_names(whole).rows().tolist() == ["no", "yes", "no"]
    with pytest.raises(VotesError, match="column 'x' has no name in data row 2"):
        frames.read_names(column)


@EVERY_LIBRARY
@pytest.mark.parametrize("cells", [["a", None, "b"], ["a", " ", None], [1, None, 3]])
def test_a_row_without_a_name_is_told_by_its_number(make, cells):
    with pytest.raises(VotesError, match="column 'x' has no name in data row 2; fill it or drop"):
        frames.read_names(series_of(make, cells))


def test_lists_and_impossible_dates_are_no_names():
    with pytest.raises(VotesError, match="'x' holds lists or records, which cannot be names"):
        frames.read_names(series_of(pl.DataFrame, [[1], [2]]))
    beyond = pa.array([10**15], pa.int64()).cast(pa.timestamp("s"))
    with pytest.raises(VotesError, match="'x' holds dates or times out of range"):
        frames.read_column(nw.from_native(pa.table({"x": beyond})).get_column("x"))
    names = frames.read_names(series_of(pl.DataFrame, [datetime.date(2020, 1, 2)]))
    assert names.rows().tolist() == ["2020-01-02"]


@pytest.mark.parametrize(
    ("columns", "named", "wanted"),
    [
        (["task", "worker", "label"], (None,) * 3, ("task", "worker", "label")),
        ([" Item ", "VOTER", "Vote"], (None,) * 3, (" Item ", "VOTER", "Vote")),
        (["id", "item", "voter", "vote"], (None,) * 3, ("item", "voter", "vote")),
        (["id", "ann", "bob"], (None,) * 3, ("id", None, None)),
        (["", "ann", "bob"], (None,) * 3, ("", None, None)),
        (["item", "Item"], (None,) * 3, ("item", None, None)),
        (["a", "b", "c"], ("c", "a", "b"), ("c", "a", "b")),
        (["a", "voter", "vote"], ("a", None, None), ("a", "voter", "vote")),
        # a column that was named for one thing is not taken for another
        (["label", "worker", "x"], ("label", None, None), ("label", None, None)),
        (["task", "item", "voter", "vote"], (None, "item", None), ("task", "item", "vote")),
        ([], (None,) * 3, (None, None, None)),
    ],
)
def test_columns_are_found_by_the_users_word_or_their_usual_names(columns, named, wanted):
    assert frames.long_columns(iter(columns), named) == wanted


def test_a_column_that_is_not_there_or_named_twice_is_refused():
    with pytest.raises(VotesError, match="there is no column 'x'; the columns have other names"):
        frames.long_columns(["a", "b"], ("x", None, None))
    with pytest.raises(VotesError, match="name three different columns"):
        frames.long_columns(["a", "b"], ("a", "b", "a"))


def test_tables_that_are_no_frames():
    numbers = np.ones((2, 3), dtype=np.int8)
    assert frames.as_array(numbers) is numbers
    mixed = frames.as_array([["yes", None], ["no", "yes"]])
    assert (mixed.dtype, mixed.tolist()) == (object, [["yes", None], ["no", "yes"]])
    assert frames.read_row_names(
        frames.as_frame(pd.DataFrame(CELLS, index=["p", "q"]))
    ).tolist() == ["p", "q"]
    assert frames.read_row_names(frames.as_frame(pl.DataFrame(CELLS))).tolist() == [0, 1]


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 0], [-1, 1]], dtype=np.int8),
        np.array([[True, False], [False, False]]),
        np.array([[0.5, 1.5], [1.5, 1.5]], dtype=np.float32),
        np.array([[2**40, 7], [7, 2**64 - 1]], dtype=np.uint64),
        np.array([["yes", "no"], [None, "no"]], dtype=object),
        np.array([["yes", "no"], ["no", "no"]]),
    ],
)
def test_an_arrays_columns(array):
    columns = frames.array_columns(array)
    assert [cells_of(column) for column in columns] == array.T.tolist()


def test_a_list_of_names_is_short():
    assert frames.list_names(["a", 2]) == "'a', '2'"
    assert frames.list_names(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert frames.list_names(["x" * 100]) == repr("x" * 60)
