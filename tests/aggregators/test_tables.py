"""Tables as people see them: voters, labels, confusions, and the summary."""

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from unelisa.aggregators.tables import tabulate_confusions


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    right = rng.random((300, 5)) < [0.95, 0.6, 0.8, 0.7, 0.75]
    return ue.LatentIsing().fit(np.where(right, truth[:, None], -truth[:, None]))


def test_the_main_columns_are_printed_the_least_accurate_first(model):
    shown = repr(model.voters_).splitlines()
    assert shown[0].split() == ["voter", "verdict", "accuracy", "low", "high", "votes"]
    assert [line.split()[1] for line in (shown[1], shown[5])] == ["v1", "v0"]
    assert shown[-1].endswith("voters_full_")
    assert "low" in model.voters_._repr_html_()


def test_all_columns_are_there_by_name(model):
    table = model.voters_
    wanted = ["voter", "verdict", "family", "accuracy", "accuracy_low", "accuracy_high"]
    assert type(table[wanted]) is pd.DataFrame
    assert list(table.columns) == list(model.voters_full_.columns)
    assert np.all(table.npv_low <= table.npv)
    assert list(table.voter) == ["v0", "v1", "v2", "v3", "v4"]


def test_what_cannot_be_told_is_said():
    model = ue.LatentIsing().fit([[1, 1], [-1, -1], [1, -1], [1, 1]])
    assert repr(model.voters_).count("unknown") == 2


def test_methods_without_accuracies_print_what_they_have():
    model = ue.MajorityVote().fit([[1, 1, -1], [-1, -1, 1]])
    assert repr(model.voters_) == repr(model.voters_full_)


def test_confusions_are_one_row_per_voter_and_pair_of_classes():
    model = ue.MajorityVote().fit([["a", "b"], ["c", "a"], ["b", "b"]])
    tables = np.arange(18.0).reshape(2, 3, 3)
    table = tabulate_confusions(model, tables, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert list(table) == ["voter", "said", "meant", "probability", "votes"]
    row = table[(table.voter == "v1") & (table.meant == "b") & (table.said == "c")]
    assert row[["probability", "votes"]].to_numpy().tolist() == [[tables[1, 1, 2], 5.0]]


def test_two_coins_are_confusions_too():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    votes = np.where(rng.random((300, 5)) < 0.8, truth[:, None], -truth[:, None])
    for model in (ue.DawidSkene(), ue.OneCoinDawidSkene()):
        table = model.fit(votes).confusions_
        assert len(table) == 5 * 4
        sums = table.groupby(["voter", "meant"]).probability.sum()
        assert sums.to_numpy() == pytest.approx(np.ones(10))
        assert table.groupby("voter").votes.sum().to_numpy() / 2 == pytest.approx(300)
    two = ue.DawidSkene().fit(votes)
    said = two.confusions_.query("said == 1 and meant == 1").probability
    assert said.to_numpy() == pytest.approx(two.sensitivity_)


def test_every_label_says_where_it_comes_from():
    votes = ue.Votes.of([["b", "b"], ["a", "b"], [None, None], ["b", None], ["b", "a"], ["b", "b"]])
    table = ue.MajorityVote().fit(votes).labels(votes)
    assert table["status"].tolist() == [*("model", "tie", "no votes", "model", "tie", "model")]
    assert table["label"].tolist() == ["b"] * 6  # the more frequent class
    assert table["probability"].isna().tolist() == [True, False, False, True, False, True]


def test_the_summary_says_trust_classes_worst_voters_and_what_is_next(model):
    shown = str(model.summary())
    assert [line[:14].strip() for line in shown.splitlines()] == [
        *("Model", "Trust", "Classes", "Worst voters", "Next")
    ]
    assert "expected accuracy" in shown
    assert shown.index("v1 (") < shown.index("v3 (")
    coins = np.random.default_rng(0).choice([-1, 1], (90, 4))
    doubted = ue.MajorityVote().fit(pd.DataFrame(coins, columns=["<b>", *"xyz"])).summary()
    assert "the labels cannot be relied on: " in repr(doubted)
    assert "<b>" not in doubted._repr_html_()


def test_a_fitted_model_says_what_it_found_without_names(model):
    assert repr(model).startswith("<LatentIsing(): 2 classes, ")
    assert repr(ue.LatentIsing()) == "LatentIsing()"
    assert "v1" not in repr(model)
