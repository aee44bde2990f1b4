import numpy as np
import pandas as pd
import polars as pl
import pytest

from unelisa.ehr.counts import ExpectedCounts, read_counts
from unelisa.errors import VotesError


def test_rows_are_patients_and_columns_features():
    columns = {"a": [0, 3, 1], "note_count": [4, 9, 2]}
    first = read_counts(pd.DataFrame(columns, index=["p1", "p2", "p3"]), "note_count")
    second = read_counts(pl.DataFrame({"person_id": ["p1", "p2", "p3"], **columns}), "note_count")
    for table in (first, second):
        assert table.patients.tolist() == ["p1", "p2", "p3"]
        assert table.features.tolist() == ["a"]
        assert table.values.tolist() == [[0], [3], [1]]
        assert table.log_use == pytest.approx(np.log1p([4, 9, 2]))
    table = read_counts(pl.DataFrame({"a": [1, 2]}))
    assert table.patients.tolist() == [0, 1]
    assert table.log_use.tolist() == [0, 0]
    table = read_counts(pd.DataFrame({"a": [1, 2], "b": [3, 4], "u": [5, 6]}), "u")
    assert table.take_features(np.array([1])).values.tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": [1, -1]}, "column 'a' has a negative count in data row 2"),
        ({"a": [1, None]}, "column 'a' has a missing or infinite count in data row 2"),
        ({"a": [1, np.inf]}, "column 'a' has a missing or infinite count in data row 2"),
        ({"a": ["x", "y"]}, "column 'a' holds String, not counts"),
        ({"patient": ["x", "x"], "a": [1, 2]}, "the patient in data row 1 appears more than once"),
        ({"patient": ["x", "y"]}, "2 patients and 0 features"),
        ({"a": []}, "0 patients and 1 features"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(columns, told):
    with pytest.raises(VotesError, match=told) as caught:
        read_counts(pd.DataFrame(columns))
    assert "\n" not in str(caught.value)


def test_columns_have_names_of_their_own():
    with pytest.raises(VotesError, match="with one column per feature, found ndarray"):
        read_counts(np.zeros((3, 2)))
    with pytest.raises(VotesError, match="two columns have the same name"):
        read_counts(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(VotesError, match="no utilization column 'notes' among the.* 'a', 'b'"):
        read_counts(pd.DataFrame({"a": [1], "b": [2]}), "notes")


@pytest.fixture(scope="module")
def records():
    """Counts that grow with utilization, by the powers 0, .5 and 1."""
    rng = np.random.default_rng(3)
    use = np.round(np.exp(rng.normal(3, 1, 20_000)))
    means = {"flat": 2 + 0 * use, "root": 0.5 * (1 + use) ** 0.5, "linear": 0.1 * (1 + use)}
    counts = {name: rng.poisson(mean * rng.gamma(2, 0.5, len(use))) for name, mean in means.items()}
    return read_counts(pd.DataFrame({**counts, "never": 0, "use": use}), "use")


def test_expected_counts_follow_utilization(records):
    expected = ExpectedCounts.learn(records)
    assert expected.slopes[:3] == pytest.approx([0, 0.5, 1], abs=0.03)
    assert expected.scales[:3] == pytest.approx([2, 0.5, 0.1], rel=0.1)
    assert expected.expect(records, 1).mean() == pytest.approx(records.values[:, 1].mean())
    votes = expected.votes(records)
    rates, above = expected.rates(records), votes.values > 0
    assert (rates[above] > 0).all()
    assert (rates[~above] <= 1e-6).all()
    assert votes.voters.tolist() == ["flat", "root", "linear", "never"]
    follows = [np.corrcoef(votes.values[:, j], records.log_use)[0, 1] for j in range(3)]
    assert np.abs(follows).max() < 0.1
    naive = np.corrcoef(records.values[:, 2] > 0, records.log_use)[0, 1]
    assert naive > 0.4
    assert (votes.values[:, 3] == -1).all()
    table = read_counts(pd.DataFrame({"a": [0, 0, 6, 2]}))
    expected = ExpectedCounts.learn(table)
    assert expected.slopes.tolist() == [0]
    assert expected.scales.tolist() == [2]
