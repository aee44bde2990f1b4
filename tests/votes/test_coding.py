import datetime
from datetime import date

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unelisa.errors import AmbiguousVotesError, VotesError
from unelisa.votes import frames
from unelisa.votes.coding import MAX_CLASSES, Declared, declare_order, encode_classes, settle_coding
from unelisa.votes.columns import Column, Names


def settle(*labels, coding="auto"):
    return settle_coding({label: f"in data row {i}" for i, label in enumerate(labels)}, coding)


@pytest.mark.parametrize(
    ("labels", "classes", "votes"),
    [
        ((-1, 1), (-1, 1), {-1: -1, 1: 1}),
        ((0, 1), (0, 1), {0: -1, 1: 1}),
        ((True, False), (False, True), {False: -1, True: 1}),
        (("yes", "no"), ("no", "yes"), {"no": -1, "yes": 1}),
        (("1", "0"), (0, 1), {"0": -1, "1": 1}),
        (("-1", "1.0"), (-1, 1), {"-1": -1, "1.0": 1}),
        ((1, 2), (1, 2), {1: -1, 2: 1}),
        (("1_0", "1_1"), ("1_0", "1_1"), {"1_0": -1, "1_1": 1}),
        ((2.5, 1.5), (1.5, 2.5), {1.5: -1, 2.5: 1}),
    ],
)
def test_auto_reads_what_can_mean_one_thing(labels, classes, votes):
    settled = settle(*labels)
    assert settled.classes == classes
    assert settled.votes == votes
    assert [type(label) for label in settled.classes] == [type(label) for label in classes]


@pytest.mark.parametrize("labels", [(-1, 0, 1), (-1, 0), (0,), (-1,), (1,), ("-1", "0", "1")])
def test_auto_refuses_what_can_be_read_two_ways(labels):
    with pytest.raises(AmbiguousVotesError, match="coding"):
        settle(*labels)


@pytest.mark.parametrize(
    ("coding", "votes", "classes"),
    [("pm1", {-1: -1, 0: 0, 1: 1}, (-1, 1)), ("snorkel", {-1: 0, 0: -1, 1: 1}, (0, 1))],
)
def test_declared_codings(coding, votes, classes):
    settled = settle(-1, 0, 1, coding=coding)
    assert settled.votes == votes
    assert settled.classes == classes


def test_the_two_labels_can_be_declared():
    with pytest.raises(VotesError, match="coding '01' allows 0, 1 only.*in data row 2"):
        settle(0, 1, -1, coding="01")
    settled = settle("spam", "ham", coding=("spam", "ham"))
    assert settled.votes == {"spam": -1, "ham": 1}
    assert settled.classes == ("spam", "ham")
    assert settle("ham", coding=("ham", "spam")).votes == {"ham": -1}
    assert settle("0", "2", coding=(0, 2)).votes == {"0": -1, "2": 1}


@pytest.mark.parametrize(
    ("labels", "coding", "message"),
    [
        (range(1, 202), "auto", "hold 201 labels, 200 at most.*201 is in data row 200"),
        ((1.5, 2, 3), "auto", "fractions.*order"),
        (("a",), "auto", "only one label"),
        (("a", 3), "auto", "mix text with other values, one in data row 1"),
        ((0, 2), "auto", "may mean abstained"),
        (("yes", "no", "1"), "auto", "mix text with other values, one in data row 2"),
        (("yes", "no", "Yes "), "auto", "upper and lower case or spaces only, in data row 2"),
        ((date(1, 1, 1), date(2, 1, 1), date(3, 1, 1)), "auto", "neither text nor numbers"),
        ((1, float("inf")), "auto", "infinite"),
        (("a", "b"), ("a", "a"), "two different ones"),
        (("a", "b", "c"), ("a", "b"), "other than the two declared ones in data row 2"),
        (("a", "d"), ("a", "b", "c"), "other than the 3 declared ones in data row 1"),
        ((-1, 0, 3), Declared((0, 1, 2), name="snorkel"), "the 3 declared ones in data row 2"),
        ((-1, 0, 2, 0.5), "snorkel", "allows -1, 0, 1, 2 only.*in data row 3"),
        (("a", "b"), tuple(range(201)), "at most 200 classes"),
        ((1, 0), "binary", "unknown coding 'binary'"),
    ],
)
def test_refusals_are_one_sentence(labels, coding, message):
    with pytest.raises(VotesError, match=message) as refusal:
        settle(*labels, coding=coding)
    assert "\n" not in str(refusal.value)


def test_a_label_has_200_characters_at_most():
    found = {"x" * 200: "in data row 1", "y": "in data row 2"}
    assert settle_coding(found).classes == ("x" * 200, "y")
    with pytest.raises(VotesError, match="more than 200 characters in data row 7"):
        settle_coding({**found, "z" * 201: "in data row 7"})
    codes = [code % 256 for code in encode_classes(MAX_CLASSES)]
    assert codes == list(range(1, MAX_CLASSES + 1))
    assert max(encode_classes(MAX_CLASSES)) == 127


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("dog", "cat", "owl"), ("cat", "dog", "owl")),
        ((0, 1, 2), (0, 1, 2)),
        ((0, 5, 3), (0, 3, 5)),
        (("10", "9", "2.0"), (2, 9, 10)),
        ((5, 1, 2), (1, 2, 5)),
    ],
)
def test_auto_reads_more_than_two_classes_in_sort_order(labels, classes):
    settled = settle(*labels)
    assert settled.classes == classes
    kept = {float(label) if isinstance(classes[0], int) else label: label for label in labels}
    assert [settled.votes[kept[label]] for label in classes] == [1, 2, 3]
    assert not settled.ordered


@pytest.mark.parametrize("labels", [(-1, 0, 1, 2), (-1, 1, 2), (-1, 2, 3, 4)])
def test_minus_one_among_more_classes_is_ambiguous(labels):
    with pytest.raises(AmbiguousVotesError, match="coding='snorkel'.*order="):
        settle(*labels)


def test_the_refusal_spells_out_the_codings_and_that_three_codes_may_be_classes():
    with pytest.raises(AmbiguousVotesError) as refusal:
        settle(-1, 0, 1)
    for words in (
        "coding='pm1' if -1 is no and 0 is abstained",
        "coding='snorkel' if -1 is abstained and 0 is no",
        "or order=[-1, 0, 1] if they are three classes",
    ):
        assert words in str(refusal.value)
    declared = declare_order("auto", [-1, 0, 1])
    assert settle(-1, 0, 1, coding=declared).votes == {-1: 1, 0: 2, 1: 3}


def test_snorkel_counts_classes_from_zero_and_an_order_is_kept():
    settled = settle(-1, 0, 3, 1, coding="snorkel")
    assert settled.votes == {-1: 0, 0: 1, 1: 2, 3: 4}
    assert settled.classes == (0, 1, 2, 3)
    assert settled.name == "snorkel"
    later = Declared(settled.classes, name="snorkel")
    assert settle(-1, 0, 1, coding=later).votes == {-1: 0, 0: 1, 1: 2}
    settled = settle("good", "poor", coding=declare_order("auto", ["poor", "fair", "good"]))
    assert settled.classes == ("poor", "fair", "good")
    assert settled.ordered
    assert settled.votes == {"good": 3, "poor": 1}
    two = settle("a", "b", coding=declare_order("auto", ["b", "a"]))
    assert two == settle("a", "b", coding=("b", "a"))


@pytest.mark.parametrize(("coding", "order"), [("pm1", [-1, 0, 1]), ("auto", "abc")])
def test_an_order_is_a_list_and_takes_the_place_of_a_coding(coding, order):
    with pytest.raises(VotesError, match="order"):
        declare_order(coding, order)


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


def test_a_cell_must_be_one_label_and_a_list_of_names_is_short():
    with pytest.raises(VotesError, match="found a list in a cell"):
        Column.of(["a", ["b"]])
    assert frames.list_names(["a", 2]) == "'a', '2'"
    assert frames.list_names(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert frames.list_names(["x" * 100]) == repr("x" * 60)
    column = Column.of(np.array([1.0, np.nan, 0.0, 1.0]))
    assert column.distinct() == {0, 1}
    assert column.first_row(0) == 2
    assert column.encode({0: -1, 1: 1}).tolist() == [1, 0, -1, 1]
    small = Column.of(np.array([-1, 1, -128, 127], dtype=np.int8))
    assert small.distinct() == {-128, -1, 1, 127}


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
