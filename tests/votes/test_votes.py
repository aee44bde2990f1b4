import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import unelisa as ue
from unelisa.aggregators.known import read_gold, read_prior
from unelisa.errors import AmbiguousVotesError, VotesError, VotesWarning
from unelisa.votes import Votes
from unelisa.votes.assembly import LongVotes, assemble_long
from unelisa.votes.columns import Column, Names

LONG = {
    "item": ["x2", "x1", "x1", "x2"],
    "voter": ["bob", "ann", "bob", "ann"],
    "vote": ["no", "yes", "yes", None],
}
WIDE = {"item": ["x1", "x2"], "ann": ["yes", None], "bob": ["yes", "no"]}
EXPECTED = [[1, 1], [0, -1]]

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "pyarrow": pa.table,
    "a batch": lambda columns: pa.table(columns).to_batches()[0],
    "a reader": lambda columns: pa.table(columns).to_reader(),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("columns", [LONG, WIDE], ids=["long", "wide"])
def test_every_frame_reads_the_same_four_votes(make, columns):
    votes = Votes.of(make(columns))
    assert votes.values.tolist() == EXPECTED
    assert votes.items.tolist() == ["x1", "x2"]
    assert votes.voters.tolist() == ["ann", "bob"]
    assert votes.classes == ("no", "yes")


def test_votes_are_int8_whatever_the_coding():
    for table in (np.array([[1, -1], [1, 1]]), pd.DataFrame({"a": [1, -1]}), sp.eye_array(3)):
        values = Votes.of(table, coding="pm1").values
        assert values.dtype == np.int8
        assert values.flags.f_contiguous
    snorkel = Votes.of(np.array([[1, -1], [0, 1]]), coding="snorkel").values
    nan01 = Votes.of(np.array([[1, np.nan], [0, 1]]), coding="01").values
    pm1 = Votes.of(np.array([[1, 0], [-1, 1]]), coding="pm1").values
    assert snorkel.tolist() == nan01.tolist() == pm1.tolist() == [[1, 0], [-1, 1]]


@given(
    hnp.arrays(np.int8, (5, 4), elements=st.sampled_from([-1, 0, 1])),
    st.sampled_from(["f8", "i8", "f4", "i2", "i1"]),
)
def test_pm1_arrays_of_any_number_type_stay_what_they_are(values, kind):
    assert np.array_equal(Votes.of(values.astype(kind), coding="pm1").values, values)


@given(hnp.arrays(np.int8, (6, 3), elements=st.sampled_from([-1, 0, 1])))
def test_sparse_entries_that_are_not_stored_have_abstained(values):
    for form in (sp.csr_array, sp.csc_array, sp.coo_array):
        assert np.array_equal(Votes.of(form(values), coding="pm1").values, values)


def test_labels_of_any_type_are_those_they_spell():
    frame = pd.DataFrame(
        {
            "a": pd.array([1, 0, None], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean").astype("Int64"),
        },
        index=["p", "q", "r"],
    )
    votes = Votes.of(frame)
    assert votes.values.tolist() == [[1, 1], [-1, 0], [0, -1]]
    assert votes.items.tolist() == ["p", "q", "r"]
    plain = pd.DataFrame({"ann": ["yes", "no", None], "bob": ["no", "no", "yes"]})
    wanted = Votes.of(plain)
    for table in (
        plain.astype("category"),
        pl.from_pandas(plain).with_columns(pl.all().cast(pl.Categorical)),
        plain.map(str.encode, na_action="ignore"),
    ):
        votes = Votes.of(table)
        assert votes.values.tolist() == wanted.values.tolist()
        assert votes.classes == ("no", "yes")


def test_columns_are_named_or_found():
    frame = pd.DataFrame({"pic": [7, 7], "who": ["a", "b"], "said": [1, 0]})
    votes = Votes.of(frame, item="pic", voter="who", vote="said")
    assert votes.shape == (1, 2)
    assert votes.items.tolist() == [7]
    with pytest.raises(VotesError, match="no column 'whom'.*'pic', 'who', 'said'"):
        Votes.of(frame, item="pic", voter="whom", vote="said")
    with pytest.raises(VotesError, match="name all three"):
        Votes.of(frame, voter="who")
    frame = pd.DataFrame(
        {"id": [0, 1, 2], "task_id": ["x", "x", "y"], "worker_id": [7, 8, 7], "label": [1, 0, 0]}
    )
    votes = Votes.of(frame)
    assert votes.values.tolist() == [[1, -1], [-1, 0]]
    assert votes.voters.tolist() == ["7", "8"]


@pytest.mark.parametrize("kind", ["string", "object", "category"])
def test_pandas_missing_values_of_any_kind_have_abstained(kind):
    frame = pd.DataFrame({"a": ["y", pd.NA, "n"], "b": ["n", "y", pd.NA]}, dtype=kind)
    assert Votes.of(frame).values.tolist() == [[1, -1], [0, 1], [-1, 0]]


def test_different_votes_of_one_voter_on_one_item_are_refused_and_no_item_is_named():
    items = ["Tx1", "Tx1", "Tx2"] * 2
    frame = pd.DataFrame({"item": items, "voter": "a", "vote": [1, 1, 0, 1, 0, 1]})
    words = "one item: .a. in data row 1 and in data row 5, the first of 2 such pairs"
    with pytest.raises(VotesError, match=words) as refusal:
        Votes.of(frame)
    assert "Tx" not in str(refusal.value)


@pytest.mark.parametrize(
    ("duplicates", "wanted"), [("first", [1, -1]), ("last", [-1, -1]), ("drop", [0, -1])]
)
def test_which_of_different_votes_counts_can_be_declared(duplicates, wanted):
    long = pd.DataFrame({"item": [1, 2, 1, 2], "voter": "a", "vote": [1, 0, 0, 0]})
    wide = pd.DataFrame({"item": [1, 2, 1, 2], "a": [1.0, 0, 0, np.nan]})
    for table in (long, wide):
        assert Votes.of(table, duplicates=duplicates).values.ravel().tolist() == wanted
    with pytest.raises(VotesError, match="duplicates must be one of"):
        Votes.of(long, duplicates="newest")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.empty((0, 3)), "0 items"),
        (np.empty((3, 0)), "0 voters"),
        ([[None, None]], "there are no votes"),
        ([1, -1], "found 1 dimension"),
        (np.zeros((2, 2, 2)), "found 3 dimension"),
        (np.array([[1j]]), "Complex"),
        (pd.DataFrame({"item": ["a", "a"], "u": [1, 0], "v": [0, 1]}), "data row 1 appears twice"),
        (pd.DataFrame({"item": ["a", None], "voter": ["u", "v"], "vote": [1, 0]}), "data row 2"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), "two columns have the same name"),
    ],
)
def test_tables_that_are_no_votes(table, message):
    with pytest.raises(VotesError, match=message) as refusal:
        Votes.of(table)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["x1", "  "], "no name in data row 2"),
        ([None, "x2"], "no name in data row 1"),
        ([["x1"], ["x2"]], "lists or records"),
        (pa.array([None, None], pa.string()).dictionary_encode(), "no name in data row 1"),
    ],
)
def test_items_need_names(items, message):
    with pytest.raises(VotesError, match=message):
        Votes.of(pa.table({"item": items, "ann": ["yes", "no"], "bob": ["no", "yes"]}))


@pytest.mark.parametrize("table", [[[-1, 0, 1]], [[0, -1]], [[1, 1]], [["-1", "0", "1"]]])
def test_what_estimators_are_given_is_read_as_ever_and_the_refusal_says_where_to_declare(table):
    with pytest.raises(AmbiguousVotesError) as plain:
        Votes.of(table)
    with pytest.raises(AmbiguousVotesError) as refusal:
        Votes.accept(table)
    assert str(refusal.value) == f"{plain.value}: read X with Votes.of(X, coding=...)"
    assert refusal.value.hints == plain.value.hints
    assert Votes.accept(np.array([[0, 1]])).classes == (0, 1)
    assert Votes.accept(np.array([[-1, 1]])).classes == (-1, 1)


def test_voters_are_aligned_by_name():
    votes = Votes.of(pd.DataFrame({"item": ["x"], "a": [1], "b": [0]}))
    aligned = votes.align(np.array(["b", "c", "a"], dtype=object))
    assert aligned.values.tolist() == [[-1, 0, 1]]
    with pytest.warns(VotesWarning, match="1 voter unknown to the model.*'b'"):
        assert votes.align(np.array(["a"], dtype=object)).values.tolist() == [[1]]
    with pytest.raises(VotesError, match="none of these voters"):
        votes.align(np.array(["z"], dtype=object))


def test_idle_voters_and_repeated_votes_are_named():
    votes = Votes.of(np.array([[1, 0, 1, 1], [-1, 0, 1, -1]]), coding="pm1")
    with pytest.warns(VotesWarning) as given_warnings:
        votes.warn_of_idle_voters()
    told = [str(warning.message) for warning in given_warnings]
    assert told == [
        "1 voter never voted and got no weight: 'v1'",
        "1 voter always gave the same vote, which is hardly informative: 'v2'",
    ]
    with pytest.raises(VotesError, match="there are no votes"):
        Votes.of(np.zeros((2, 2)), coding="pm1").warn_of_idle_voters()
    with pytest.warns(VotesWarning, match="only one voter"):
        Votes.of([["a"], ["b"]]).warn_of_idle_voters()
    frame = pd.DataFrame({"item": [1, 1, 2], "voter": "a", "vote": [1, 1, 0]})
    with pytest.warns(VotesWarning, match="1 row repeats a vote"):
        assert Votes.of(frame).values.tolist() == [[1], [-1]]
    assert Votes.of(frame.assign(vote=["yes", None, "no"])).values.tolist() == [[1], [-1]]
    votes = Votes.of(np.array([[1, 0], [0, -1], [-1, 0], [0, 1]]), coding="pm1")
    with pytest.warns(VotesWarning, match="every item has only one vote"):
        votes.warn_of_idle_voters()


def test_counts_constants_parts_labels_and_the_repr():
    votes = Votes.of([["y", "n", None], ["n", "n", None], ["y", None, "y"]])
    assert votes.vote_counts().tolist() == [3, 2, 1]
    assert votes.constant().tolist() == [False, True, True]
    assert votes.take_voters([2, 0]).values.tolist() == [[0, 1], [0, -1], [1, 1]]
    assert votes.take_items([2]).values.tolist() == [[1, 0, 1]]
    assert votes.label(np.array([-2.0, 0.0, 1.0])).tolist() == ["n", "y", "y"]
    assert repr(Votes.of(pd.DataFrame(WIDE))) == "Votes(2 items x 2 voters, 25.0% abstained)"


MASK = [[False, True, False], [False, False, False], [True, False, False]]
MASKED = {
    "numbers": np.array([[1, 9, 0], [0, 0, 1], [7, 1, 0]]),
    "floats": np.array([[1.0, -5.0, 0.0], [0.0, 0.0, 1.0], [np.nan, 1.0, 0.0]]),
    "words": np.array([["yes", "perhaps", "no"], ["no", "no", "yes"], ["?", "yes", "no"]]),
    "signs": np.array([[1, 1, -1], [-1, -1, 1], [-1, 1, -1]], dtype=np.int8),
}


@pytest.mark.parametrize("kind", MASKED)
def test_masked_cells_are_abstentions(kind):
    table = np.ma.masked_array(MASKED[kind], mask=MASK)
    for either in (table, list(table)):
        assert Votes.of(either).values.tolist() == [[1, 0, -1], [-1, -1, 1], [0, 1, -1]]
    with pytest.raises(VotesError, match="every cell is missing"):
        Votes.of(np.ma.masked_all((3, 2)))


def test_gold_labels_are_masked_or_have_the_codes_of_the_votes():
    votes = Votes.of([[1, 0, 1], [0, 0, 1], [1, 1, 0]])
    gold = np.ma.masked_array([1, 5, 0], mask=[False, True, False])
    assert read_gold(gold, votes).tolist() == [1, 0, -1]
    with pytest.raises(VotesError, match="1 missing or infinite"):
        read_prior(np.ma.masked_array([0.5, 0.1, 2.0], mask=[False, True, False]), votes)
    votes = Votes.of([["a", "b"], ["c", None], ["a", "c"]])
    assert read_gold(["c", None, "a"], votes).tolist() == [3, 0, 1]
    assert votes.name_codes(np.array([3, 0, 1], dtype=np.int8)).tolist() == ["c", None, "a"]
    with pytest.raises(VotesError, match="nobody ever voted, in row 2 of y"):
        read_gold(["c", "d", "a"], votes)
    many = Votes.of([[k, k] for k in range(200)])
    assert many.name_codes(many.values[:, 0]).tolist() == list(range(200))


def test_an_index_of_several_types_names_items_by_their_text():
    frame = pd.DataFrame({"ann": [1, 0, 1], "bob": [0, 0, 1]}, index=[1, "x", (2, "y")])
    assert Votes.of(frame).items.tolist() == ["1", "x", "(2, 'y')"]
    with pytest.raises(VotesError, match="data row 1 appears twice"):
        Votes.of(frame.set_axis([1, "x", "1"]))
    pairs = pd.MultiIndex.from_tuples([("x", 1), ("x", "a"), (2, 2)])
    assert Votes.of(frame.set_axis(pairs)).items.tolist() == [("x", 1), ("x", "a"), (2, 2)]


def test_voters_tell_items_apart_and_visible_names_differ(recwarn):
    values = np.array([[1, 1, 0, 1, 0], [1, -1, 0, 0, 0], [1, 1, -1, 1, 0]])
    assert Votes.of(values, coding="pm1").discerning().tolist() == [False, True, True, True, False]
    one = Votes.of([[1, -1, 0]], coding="pm1")  # nobody can tell one item from another
    assert one.discerning().tolist() == [True, True, False]
    frame = pd.DataFrame({"ann": [1, 0, 1], "an": [0, 1, 1], "a-n": [1, 1, 0], "Zoe": [0, 1, 0]})
    Votes.of(frame.assign(Zoë=[0, 0, 1])).warn_of_idle_voters()
    assert not recwarn.list


@pytest.mark.parametrize(
    "twin",
    [
        "Zoe\u0308",
        "Zoë\u200b",
        "Zoë\ufeff",
        "\u202aZoë",
        "ZoË",
        "zo ë",
        " Zoë",
        "Zo\u200bë",
        "\uff3aoë",
    ],
)
def test_two_spellings_of_a_voter_are_named(twin):
    frame = pd.DataFrame({"Zoë": [1, 0, 1], twin: [0, 1, 1], "bob": [1, 1, 0]})
    with pytest.warns(VotesWarning, match="2 voters have names that look the same.*'Zoë'"):
        Votes.of(frame).warn_of_idle_voters()


def test_classes_are_compared_and_set_against_the_rest():
    votes = Votes.of([["a", "b", None], ["c", "c", None], ["a", "a", "b"], ["a", None, None]])
    assert repr(votes) == "Votes(4 items x 3 voters, 3 classes, 33.3% abstained)"
    counts, met = votes.comparison
    assert counts.tolist() == [[3, 1, 0], [0, 1, 1], [1, 1, 0], [3, 3, 1], [2, 2, 1]]
    assert met == 3
    assert votes.vote_counts().tolist() == [4, 3, 1]
    assert votes.constant().tolist() == [False, False, True]
    assert votes.discerning().tolist() == [True, True, True]
    with pytest.raises(VotesError, match="two classes are needed here, found 3"):
        _ = votes.sides
    votes = Votes.of([["a", "b"], ["c", None], ["a", "c"]])
    for k, label in enumerate(votes.classes):
        two = votes.one_against_rest(k)
        assert two.classes == (f"not {label}", label)
        expected = np.where(votes.values == 0, 0, np.where(votes.values == k + 1, 1, -1))
        assert two.values.tolist() == expected.tolist()
        assert two.sides[1].tolist() == votes.answers[k].tolist()


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


def test_free_text_is_named_wherever_it_stands():
    n = 201
    texts = [f"a remark {i}" for i in range(n)]
    long = {"item": range(n), "voter": ["ann"] * n, "answer": texts}
    with pytest.raises(VotesError, match="column 'answer' holds far more labels.*free text"):
        Votes.of(pd.DataFrame(long))
    with pytest.raises(VotesError, match=r"'remark' can hardly hold votes.*drop=\['remark'\]"):
        Votes.of(pd.DataFrame({"ann": ["yes", "no", "yes"] * 67, "remark": texts}))
    names = Names.of(np.arange(300))
    column = Column.of(map(str, range(300)))
    with pytest.raises(VotesError, match="column 'said' holds far more"):
        assemble_long(LongVotes(names, names, column), "auto", "'said'")


def test_a_column_of_names_among_votes_names_the_items_or_is_pointed_out():
    frame = pd.DataFrame({"mrn": ["p1", "p2", "p3"], "ann": list("aba"), "bob": list("bbc")})
    assert Votes.of(frame).items.tolist() == ["p1", "p2", "p3"]
    with pytest.raises(VotesError, match="'mrn' can hardly hold votes.* drop=.* or item='mrn'"):
        Votes.of(frame.set_index(pd.Index(list("xyz"))))  # whose rows have names
    assert Votes.of(frame, item="mrn").classes == ("a", "b", "c")
    assert Votes.of(frame, coding=("a", "b", "c", "p1", "p2", "p3")).n_voters == 3
