import datetime

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unelisa.errors import VotesError
from unelisa.votes.frames import (
    array_columns,
    as_array,
    as_frame,
    list_names,
    long_columns,
    name_voters,
    read_column,
    read_names,
    read_row_names,
)

CELLS = {"item": ["a", "b"], "ann": [1, -1]}
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
EVERY_LIBRARY = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


def series_of(make, cells):
    return as_frame(make({"x": cells})).get_column("x")


@EVERY_LIBRARY
def test_frames_of_every_library_are_one(make):
    frame = as_frame(make(CELLS))
    assert (frame.columns, len(frame)) == (["item", "ann"], 2)
    assert as_frame(pl.LazyFrame(CELLS)).columns == ["item", "ann"]


@pytest.mark.parametrize("other", [np.ones((2, 2)), [[1, -1]], pd.Series([1, 2]), None])
def test_what_is_no_frame_is_none(other):
    assert as_frame(other) is None


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(VotesError, match="two columns have the same name; rename one"):
        as_frame(pd.DataFrame([[1, 2]], columns=["ann", "ann"]))


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
    column = read_column(series_of(make, cells))
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
    column = read_column(as_frame(categories()[library]).get_column("x"))
    assert cells_of(column) == ["no", None, "yes", "no"]


@EVERY_LIBRARY
def test_names_are_text_and_whole_numbers_as_they_are(make):
    assert read_names(series_of(make, ["b", "a"])).rows().tolist() == ["b", "a"]
    numbers = read_names(series_of(make, [7, 3])).rows()
    assert numbers.dtype.kind == "i"
    assert numbers.tolist() == [7, 3]
    assert read_names(series_of(make, [1.5, 2.0])).rows().tolist() == ["1.5", "2"]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "chunks"])
def test_names_may_be_labels_with_places(library):
    column = as_frame(categories()[library]).get_column("x")
    whole = column.filter(~column.is_null())
    assert read_names(whole).rows().tolist() == ["no", "yes", "no"]
    with pytest.raises(VotesError, match="column 'x' has no name in data row 2"):
        read_names(column)


@EVERY_LIBRARY
@pytest.mark.parametrize("cells", [["a", None, "b"], ["a", " ", None], [1, None, 3]])
def test_a_row_without_a_name_is_told_by_its_number(make, cells):
    with pytest.raises(VotesError, match="column 'x' has no name in data row 2; fill it or drop"):
        read_names(series_of(make, cells))


def test_lists_are_no_names():
    with pytest.raises(VotesError, match="'x' holds lists or records, which cannot be names"):
        read_names(series_of(pl.DataFrame, [[1], [2]]))


def test_dates_beyond_the_calendar_are_no_votes():
    beyond = pa.array([10**15], pa.int64()).cast(pa.timestamp("s"))
    with pytest.raises(VotesError, match="'x' holds dates or times out of range"):
        read_column(nw.from_native(pa.table({"x": beyond})).get_column("x"))


def test_dates_that_are_dates_are_names():
    names = read_names(series_of(pl.DataFrame, [datetime.date(2020, 1, 2)]))
    assert names.rows().tolist() == ["2020-01-02"]


def test_rows_are_named_by_the_index_of_pandas_and_numbered_elsewhere():
    assert read_row_names(as_frame(pd.DataFrame(CELLS, index=["p", "q"]))).tolist() == ["p", "q"]
    assert read_row_names(as_frame(pl.DataFrame(CELLS))).tolist() == [0, 1]


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
    assert long_columns(iter(columns), named) == wanted


def test_a_column_that_is_not_there_or_named_twice_is_refused():
    with pytest.raises(VotesError, match="there is no column 'x'; the columns have other names"):
        long_columns(["a", "b"], ("x", None, None))
    with pytest.raises(VotesError, match="name three different columns"):
        long_columns(["a", "b"], ("a", "b", "a"))


def test_tables_that_are_no_frames_become_arrays():
    numbers = np.ones((2, 3), dtype=np.int8)
    assert as_array(numbers) is numbers
    mixed = as_array([["yes", None], ["no", "yes"]])
    assert (mixed.dtype, mixed.tolist()) == (object, [["yes", None], ["no", "yes"]])
    with pytest.raises(VotesError, match=r"found 1 dimension\(s\)"):
        as_array([1, -1])
    with pytest.raises(VotesError, match="Complex data not supported"):
        as_array(np.ones((2, 2), dtype=complex))


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
    columns = array_columns(array)
    assert [cells_of(column) for column in columns] == array.T.tolist()


def test_names_for_voters_who_have_none():
    assert name_voters(3).tolist() == ["v0", "v1", "v2"]
    assert name_voters(0).size == 0


def test_a_list_of_names_is_short():
    assert list_names(["a", 2]) == "'a', '2'"
    assert list_names(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert list_names(["x" * 100]) == repr("x" * 60)
