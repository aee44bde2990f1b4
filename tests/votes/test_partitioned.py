"""Dask collections without a cluster: Dask's own threads do the work."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd

import unelisa as ue
from places import crowd
from unelisa.errors import VotesError
from unelisa.votes import Votes
from unelisa.votes.partitioned import is_partitioned


def test_only_dask_arrays_and_frames_are_partitioned():
    array = da.from_array(crowd(100), chunks=(50, 12))
    assert is_partitioned(array)
    assert is_partitioned(dd.from_pandas(pd.DataFrame(crowd(100)), npartitions=2))
    for other in (crowd(100), [[1, -1]], pd.DataFrame(crowd(100)), array.sum().to_delayed()):
        assert not is_partitioned(other)


def test_labels_are_settled_over_all_partitions():
    words = np.array([["no", "no"], ["no", ""], ["yes", "no"], [None, "yes"]], dtype=object)
    votes = Votes.of(da.from_array(words, chunks=(2, 2)))
    assert votes.classes == ("no", "yes")
    assert [part.values.tolist() for part in votes.parts()] == [
        [[-1, -1], [-1, 0]],
        [[1, -1], [0, 1]],
    ]
    assert votes.items[:3].tolist() == [0, 1, 2]
    assert repr(votes) == "Votes(4 items x 2 voters, 25.0% abstained)"


def test_a_third_label_is_a_third_class():
    words = np.array([["no", "yes"], ["no", "yes"], ["no", "maybe"]], dtype=object)
    votes = Votes.of(da.from_array(words, chunks=(2, 1)))
    assert votes.classes == ("maybe", "no", "yes")
    assert np.vstack([part.values for part in votes.parts()]).tolist() == [[2, 3], [2, 3], [2, 1]]


def test_an_undeclared_label_is_named_by_its_row():
    words = np.array([["no", "yes"], ["no", "yes"], ["no", "maybe"]], dtype=object)
    with pytest.raises(VotesError, match="3 declared ones in data row 3, column 'v1'"):
        Votes.of(da.from_array(words, chunks=(2, 1)), order=["no", "perhaps", "yes"])


def test_abstentions_need_a_declared_coding():
    table = da.from_array(crowd(400), chunks=(150, 12))
    with pytest.raises(VotesError, match="ambiguous"):
        Votes.of(table)
    assert Votes.of(table, coding="pm1").classes == (-1, 1)
    assert Votes.of(table, coding="snorkel").classes == (0, 1)


def test_what_dask_cannot_hold_is_refused():
    with pytest.raises(VotesError, match="1 dimension"):
        Votes.of(da.ones(10, chunks=5))
    with pytest.raises(VotesError, match="every cell is missing"):
        Votes.of(da.full((4, 2), np.nan, chunks=(2, 2)))
    with pytest.raises(VotesError, match="in Dask partitions, and this method needs"):
        ue.SpectralMetaLearner().fit(
            Votes.of(da.from_array(crowd(400), chunks=(150, 12)), coding="pm1")
        )


def test_masked_cells_of_partitions_are_abstentions():
    table = np.ma.masked_equal(crowd(400), 0)
    votes = Votes.of(da.from_array(table, chunks=(150, 12)))
    assert np.array_equal(votes.take_items(np.arange(400)).values, crowd(400))


def test_empty_partitions_are_passed_over():
    frame = pd.DataFrame(crowd(300), columns=[f"w{s}" for s in range(12)])
    table = dd.from_pandas(frame, npartitions=3)
    late = table.map_partitions(lambda part: part[part.index >= 120])
    votes = Votes.of(late, coding="pm1")
    assert votes.n_items == 180
    assert np.array_equal(votes.take_items(np.arange(180)).values, crowd(300)[120:])
