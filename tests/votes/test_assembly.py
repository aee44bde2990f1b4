import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import unelisa as ue
from unelisa.errors import VotesError
from unelisa.votes import Votes
from unelisa.votes.assembly import LongVotes, assemble_long
from unelisa.votes.columns import Column, Names

ORDER = ["poor", "fair", "good"]


def ratings(n_items=60, n_voters=5, n_classes=3, seed=0):
    """Codes of classes from 1, 0 where a voter abstained; every class occurs."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes + 1, (n_items, n_voters))
    codes[:n_classes, 0] = np.arange(1, n_classes + 1)
    return codes


def as_words(codes, words):
    return pd.DataFrame(np.array([None, *words], dtype=object)[codes]).rename(columns=str)


@given(n_classes=st.integers(3, 200), seed=st.integers(0, 99))
def test_codes_are_the_places_of_the_classes(n_classes, seed):
    """Whatever their number: beyond 127 the byte wraps and is read as uint8."""
    codes = ratings(220, 3, n_classes, seed)
    votes = Votes.of(np.where(codes == 0, np.nan, codes + 6.0))
    assert votes.classes == tuple(range(7, n_classes + 7))
    assert votes.values.dtype == np.int8
    assert np.array_equal(votes.values.view(np.uint8), codes)
    said = [[(codes[:, s] == k).sum() for s in range(3)] for k in range(1, n_classes + 1)]
    assert np.array_equal(votes.answers, said)


@pytest.mark.parametrize("n_classes", [3, 150])
def test_every_table_holds_the_same_votes(n_classes, tmp_path):
    words = [f"class {k:03}" for k in range(n_classes)]
    codes = ratings(400, 4, n_classes)
    frame = as_words(codes, words)
    items = frame.assign(item=[f"x{i:03}" for i in range(400)])
    long = items.melt("item", var_name="voter", value_name="vote").dropna()
    items.to_csv(tmp_path / "wide.csv", index=False)
    items.to_parquet(tmp_path / "wide.parquet")
    items.to_feather(tmp_path / "wide.feather")
    long.to_csv(tmp_path / "long.csv.gz", index=False)
    stored = sp.csr_array(codes)
    for votes in (
        Votes.of(frame),
        Votes.of(frame.astype("category")),
        Votes.of(long),
        Votes.of(stored, coding=tuple(range(1, n_classes + 1))),
        *(ue.read_votes(tmp_path / f"wide.{kind}") for kind in ("csv", "parquet", "feather")),
        ue.read_votes(tmp_path / "long.csv.gz"),
    ):
        assert np.array_equal(votes.values.view(np.uint8), codes)
    for votes in (
        ue.read_votes(tmp_path / "wide.csv", memory=1000),
        ue.read_votes(tmp_path / "wide.parquet", memory=1000),
        Votes.of(da.from_array(frame.to_numpy(), chunks=(150, 4))),
    ):
        assert votes.classes == tuple(words)
        assert np.array_equal(np.vstack([p.values.view(np.uint8) for p in votes.parts()]), codes)
        assert np.array_equal(votes.comparison[0], Votes.of(frame).comparison[0])


def test_a_declared_order_is_read_from_files_and_frames(tmp_path):
    frame = as_words(ratings(), ORDER).assign(item=[f"x{i}" for i in range(60)])
    frame.to_csv(tmp_path / "votes.csv", index=False)
    for votes in (
        ue.read_votes(tmp_path / "votes.csv", order=ORDER),
        Votes.of(frame, order=ORDER),
        ue.read_votes(tmp_path / "votes.csv", order=ORDER, memory=1000),
    ):
        assert votes.classes == tuple(ORDER)
        assert votes.ordered
        assert votes.take_items([3, 1]).take_voters([0, 1]).ordered
    assert not Votes.of(frame).ordered


def test_a_label_outside_the_declared_ones_is_counted_and_placed():
    frame = pd.DataFrame({"ann": ["poor", "bad", "bad"], "bob": ["good", "fair", "bad"]})
    with pytest.raises(
        VotesError, match=r"ones \(3 votes\), the first in data row 2, .*'ann'"
    ) as caught:
        Votes.of(frame, order=ORDER)
    assert caught.value.about["label"] == "bad"
    assert "bad" not in str(caught.value)


def test_a_column_of_free_text_is_named():
    n = 201
    texts = [f"a remark {i}" for i in range(n)]
    long = {"item": range(n), "voter": ["ann"] * n, "answer": texts}
    with pytest.raises(VotesError, match="column 'answer' holds far more labels.*free text"):
        Votes.of(pd.DataFrame(long))
    with pytest.raises(VotesError, match=r"'remark' can hardly hold votes.*drop=\['remark'\]"):
        Votes.of(pd.DataFrame({"ann": ["yes", "no", "yes"] * 67, "remark": texts}))


def test_a_column_of_names_among_votes_names_the_items_or_is_pointed_out():
    frame = pd.DataFrame({"mrn": ["p1", "p2", "p3"], "ann": list("aba"), "bob": list("bbc")})
    assert Votes.of(frame).items.tolist() == ["p1", "p2", "p3"]
    with pytest.raises(VotesError, match="'mrn' can hardly hold votes.* drop=.* or item='mrn'"):
        Votes.of(frame.set_index(pd.Index(list("xyz"))))  # whose rows have names
    assert Votes.of(frame, item="mrn").classes == ("a", "b", "c")
    assert Votes.of(frame, coding=("a", "b", "c", "p1", "p2", "p3")).n_voters == 3


def test_long_tables_know_their_column_of_votes():
    names = Names.of(np.arange(300))
    column = Column.of(map(str, range(300)))
    with pytest.raises(VotesError, match="column 'said' holds far more"):
        assemble_long(LongVotes(names, names, column), "auto", "'said'")
