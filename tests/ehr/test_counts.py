import numpy as np
import pandas as pd
import polars as pl
import pytest

from unelisa.ehr.counts import read_counts
from unelisa.errors import VotesError


def test_pandas_and_polars_give_the_same_table():
    columns = {"a": [0, 3, 1], "note_count": [4, 9, 2]}
    first = read_counts(pd.DataFrame(columns, index=["p1", "p2", "p3"]), "note_count")
    second = read_counts(pl.DataFrame({"person_id": ["p1", "p2", "p3"], **columns}), "note_count")
    for table in (first, second):
        assert table.patients.tolist() == ["p1", "p2", "p3"]
        assert table.features.tolist() == ["a"]
        assert table.values.tolist() == [[0], [3], [1]]
        assert table.log_use == pytest.approx(np.log1p([4, 9, 2]))


def test_rows_are_patients_where_nothing_names_them():
    table = read_counts(pl.DataFrame({"a": [1, 2]}))
    assert table.patients.tolist() == [0, 1]
    assert table.log_use.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": [1, -1]}, "column 'a' has a negative count in data row 2"),
        ({"a": [1, None]}, "column 'a' has a missing or infinite count in data row 2"),
        ({"a": [1, np.inf]}, "column 'a' has a missing or infinite count in data row 2"),
        ({"a": ["x", "y"]}, "column 'a' holds String, not counts"),
        (
            {"patient": ["x", "x"], "a": [1, 2]},
            "the patient in data row 1 appears more than once",
        ),
        ({"patient": ["x", "y"]}, "2 patients and 0 features"),
        ({"a": []}, "0 patients and 1 features"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(columns, told):
    with pytest.raises(VotesError, match=told) as caught:
        read_counts(pd.DataFrame(columns))
    assert "\n" not in str(caught.value)


def test_arrays_have_no_feature_names():
    with pytest.raises(VotesError, match="with one column per feature, found ndarray"):
        read_counts(np.zeros((3, 2)))


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(VotesError, match="two columns have the same name"):
        read_counts(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_missing_utilization_column_is_reported_with_those_present():
    with pytest.raises(VotesError, match="no utilization column 'notes' among the.* 'a', 'b'"):
        read_counts(pd.DataFrame({"a": [1], "b": [2]}), "notes")


def test_features_are_taken():
    table = read_counts(pd.DataFrame({"a": [1, 2], "b": [3, 4], "u": [5, 6]}), "u")
    assert table.take_features(np.array([1])).values.tolist() == [[3], [4]]
