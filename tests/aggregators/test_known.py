import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from unelisa.aggregators.known import add_prior, read_gold, read_prior
from unelisa.analysis.rate import read_sample
from unelisa.errors import VotesError, VotesWarning
from unelisa.votes import Votes

WORDS = pd.DataFrame({"item": ["b", "a", "c"], "u": ["y", "n", "n"], "v": ["y", "n", "y"]})


def test_gold_is_read_in_the_voters_labels_or_by_item_name():
    votes = Votes.of([["yes", "no"], ["no", "no"], ["yes", "yes"]])
    assert read_gold(["yes", None, "no"], votes).tolist() == [1, 0, -1]
    numbers = Votes.of(np.array([[1, 0], [0, 1]]))
    assert read_gold([np.nan, 0.0], numbers).tolist() == [0, -1]
    votes = Votes.of([["yes", "no"], ["no", "no"]])
    with pytest.raises(VotesError, match="one label or a missing value for each of the 2"):
        read_gold(["yes"], votes)
    with pytest.raises(VotesError, match="in row 2 of y"):
        read_gold(["yes", "maybe"], votes)
    votes = Votes.of(WORDS)
    expected = [1, 0, -1]
    assert read_gold({"b": "y", "c": "n"}, votes).tolist() == expected
    assert read_gold(pd.Series({"c": "n", "b": "y"}), votes).tolist() == expected
    assert read_gold(["y", None, "n"], votes).tolist() == expected
    assert read_gold(["y", float("nan"), "n"], votes).tolist() == expected
    assert read_gold(pd.Series(["y", None, "n"]), votes).tolist() == expected


@pytest.mark.parametrize("form", [dict, pd.Series])
def test_names_of_other_items_are_counted_not_named(form):
    votes = Votes.of(WORDS)
    with pytest.warns(VotesWarning, match="2 of the 3 items named in y are unknown") as told:
        gold = read_gold(form({"b": "y", "zoe": "n", "max": "n"}), votes)
    assert gold.tolist() == [1, 0, 0]
    with pytest.warns(VotesWarning, match="1 of the 2 items named in prior are unknown"):
        assert read_prior(form({"c": 2.0, "zoe": 1.0}), votes).tolist() == [0, 0, 2]
    with pytest.raises(
        VotesError, match="none of the 2 items named in y is among the 3 items"
    ) as caught:
        read_gold(form({"zoe": "y", "max": "n"}), votes)
    with pytest.raises(VotesError, match="none of the 1 items named in prior is among"):
        read_prior(form({"zoe": 1.0}), votes)
    for message in (str(told[0].message), str(caught.value)):
        assert "zoe" not in message
        assert "max" not in message
        assert ". " not in message


@pytest.mark.parametrize(
    "form", [dict, lambda twice: pd.Series(twice.values(), index=[n.strip() for n in twice])]
)
def test_two_values_for_one_item_are_refused_without_naming_it(form):
    votes = Votes.of(WORDS)
    assert read_gold(form({"b": "y", " b": "y", "c": "n"}), votes).tolist() == [1, 0, -1]
    refused = "has two values for one of the items"
    with pytest.raises(VotesError, match=f"^y {refused}") as caught:
        read_gold(form({"b": "y", " b": "n"}), votes)
    assert "'b'" not in str(caught.value)
    with pytest.raises(VotesError, match=f"^prior {refused}"):
        read_prior(form({"b": 2.0, " b": 1.0}), votes)
    with pytest.raises(VotesError, match=f"^gold {refused}"):
        read_sample(form({"b": "y", " b": "n"}), votes)


@pytest.mark.parametrize("given", [5, "yes", b"y", object()], ids=lambda y: type(y).__name__)
def test_what_is_no_list_of_labels_is_refused_in_a_sentence(given):
    votes = Votes.of(WORDS)
    with pytest.raises(VotesError, match=f"for each of the 3 items, found {type(given).__name__};"):
        ue.MajorityVote().fit(votes, given)


SPELLED = [
    np.arange(1, 41),
    np.arange(1.0, 41.0),
    [str(i) for i in range(1, 41)],
    [f" {i}" for i in range(1, 41)],
    [f"{i}.0" for i in range(1, 41)],
]


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("own", SPELLED, ids=lambda names: repr(names[0]))
def test_an_item_has_one_name_however_it_is_spelled(own):
    """In gold labels, weights and priors, in an update, and in the labels of a model."""
    rng = np.random.default_rng(0)
    truth = rng.choice([0, 1], 40)
    said = np.where(rng.random((40, 5)) < 0.8, truth[:, None], 1 - truth[:, None])

    def tabulate(names, rows=slice(None)):
        table = pd.DataFrame(said, columns=list("abcde")).assign(item=list(names))
        return Votes.of(table[["item", *"abcde"]][rows])

    votes = tabulate(own)
    for names in SPELLED:
        gold = {names[i]: int(1 - truth[i]) for i in range(3)}
        model = ue.LatentIsing().fit(votes, gold, pd.Series(0.0, index=names))
        table = model.labels(tabulate(names))
        assert (table["status"] == "gold").sum() == 3
        assert table["label"][:3].tolist() == list(gold.values())
        weighed = ue.LatentIsing().fit(votes, sample_weight=pd.Series(2, index=names))
        assert weighed.voters_full_["votes"].tolist() == [80] * 5
        again = ue.LatentIsing().fit(votes).update(tabulate(names, slice(10)))
        assert again.voters_full_["votes"].tolist() == [40] * 5


def test_no_names_are_no_labels_and_a_frame_is_no_column():
    votes = Votes.of(WORDS)
    assert not read_gold({}, votes).any()
    assert not read_prior({}, votes).any()
    with pytest.raises(VotesError, match="one label or a missing value for each of the 3"):
        read_gold(pd.DataFrame({"y": ["y", "n"]}, index=["b", "c"]), votes)


def test_a_lazy_prior_is_added_part_by_part_and_checked():
    odds, prior = np.arange(6.0), np.array([1.0, 0, -1, 2, 0.5, 0])
    scores = da.from_array(odds, chunks=(2, 4))
    for given in (prior, prior.tolist(), da.from_array(prior, chunks=3), pd.Series(prior)):
        summed = add_prior(scores, given)
        assert isinstance(summed, da.Array)
        assert summed.chunks == ((2, 4),)
        assert summed.compute().tolist() == (odds + prior).tolist()
    scores = da.zeros(6, chunks=3)
    with pytest.raises(VotesError, match="items in partitions have no names"):
        add_prior(scores, {"0": 1.0})
    with pytest.raises(VotesError, match=r"each of the 6 items, found shape \(5,\)"):
        add_prior(scores, np.ones(5))
    lazy = add_prior(scores, da.from_array(np.array([0, 0, 0, 0, np.nan, 0]), chunks=3))
    with pytest.raises(VotesError, match="each of the 3 items, found 1 missing or infinite"):
        lazy.compute()
    scores = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 3))
    table = np.eye(4, 3)
    for prior in (table, da.from_array(table, chunks=(1, 3))):
        found = add_prior(scores, prior)
        assert np.array_equal(found.compute(), np.arange(12.0).reshape(4, 3) + table)
    with pytest.raises(VotesError, match="each of the 3 classes"):
        add_prior(scores, np.zeros(4))


def test_priors_of_more_classes_and_partitions():
    items = pd.DataFrame({"item": ["x", "y"], "ann": ["a", "c"], "bob": ["b", "a"]})
    votes = Votes.of(items)
    table = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert read_prior(table, votes).tolist() == table
    named = pd.DataFrame(table, index=["y", "x"], columns=["c", "a", "b"])
    assert read_prior(named, votes).tolist() == [[4.0, 5.0, 3.0], [1.0, 2.0, 0.0]]
    assert read_prior({"y": [1.0, 0.0, 0.0]}, votes).tolist() == [[0, 0, 0], [1, 0, 0]]
    with pytest.raises(VotesError, match=r"2 items and each of the 3 classes, found shape \(2,\)"):
        read_prior([0.0, 1.0], votes)
    with pytest.raises(VotesError, match="one column per class"):
        read_prior(pd.DataFrame(table, columns=["a", "b", "d"]), votes)
    frame = dd.from_pandas(pd.DataFrame({"odds": np.arange(6.0)}), npartitions=2)
    scores = frame["odds"].to_dask_array()
    assert np.isnan(scores.shape[0])
    prior = dd.from_pandas(pd.Series(np.ones(6)), npartitions=2)
    for given in (prior, prior.to_dask_array(), da.ones(6, chunks=3)):
        assert add_prior(scores, given).compute().tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(VotesError, match="where the partitions' lengths are known"):
        add_prior(scores, np.ones(6))
    with pytest.raises(VotesError, match="the votes' 2 partitions .* in 3 partitions"):
        add_prior(scores, da.ones(6, chunks=2))
    with pytest.raises(VotesError, match=r"each of the 3 items, found shape \((2|4),\)"):
        add_prior(scores, da.ones(6, chunks=((4, 2),))).compute()


@pytest.mark.parametrize("method", [ue.LatentIsing, ue.DawidSkene, ue.MajorityVote, ue.UnElisa])
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_weights_are_numbers_of_items(method):
    """A table of patterns with counts is fitted as the items it stands for."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 600)
    right = rng.random((600, 5)) < [0.9, 0.8, 0.7, 0.75, 0.6]
    values = np.where(right, truth[:, None], -truth[:, None])
    patterns, counts = np.unique(values, axis=0, return_counts=True)
    counted = method().fit(patterns, sample_weight=counts)
    repeated = method().fit(np.repeat(patterns, counts, axis=0))
    assert np.array_equal(counted.decision_function(patterns), repeated.decision_function(patterns))
    assert counted.voters_full_.equals(repeated.voters_full_)
    labels = method().fit_predict(patterns, sample_weight=counts)
    assert np.array_equal(labels, counted.predict(patterns))


def test_weights_repeat_gold_labels_and_priors():
    rng = np.random.default_rng(1)
    values, counts = rng.choice([-1, 1], (40, 4)), rng.integers(0, 4, 40)
    gold, prior = rng.choice([-1, 1], 40), rng.normal(size=40)
    rows = np.repeat(np.arange(40), counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ue.errors.UnelisaWarning)
        counted = ue.LatentIsing().fit(values, gold, prior, sample_weight=counts)
        repeated = ue.LatentIsing().fit(values[rows], gold[rows], prior[rows])
    fresh = rng.choice([-1, 1], (50, 4))
    assert np.array_equal(counted.decision_function(fresh), repeated.decision_function(fresh))
    assert np.array_equal(counted.predict(values), gold)
    assert np.array_equal(repeated.predict(values[rows]), gold[rows])


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ([1, 2], "shape"),
        ([1, -1, 1], "another value in row 2"),
        ([1, 1, 0.5], "another value in row 3"),
        ([np.nan, 1, 1], "another value in row 1"),
        ([1, np.inf, 1], "another value in row 2"),
        (["one", 1, 1], "not numbers"),
        ([0, 0, 0], "only zeros"),
        ([1e12, 1, 1], "needs about"),
        ([1e308, 1e308, 1e308], "needs about"),
    ],
)
def test_other_weights_are_refused(weights, found):
    with pytest.raises(VotesError, match=found):
        ue.LatentIsing().fit([[1, -1, 1], [1, 1, 1], [-1, -1, -1]], sample_weight=weights)
