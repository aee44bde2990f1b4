"""What aggregators share: labels, probabilities, sides, and tables for people."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier

import unelisa as ue
from unelisa import aggregators
from unelisa.aggregators import base
from unelisa.aggregators.latent_ising import CONTRADICTION, read_sides
from unelisa.aggregators.orientation import find_voter, is_upside_down, pool_votes
from unelisa.aggregators.tables import tabulate_confusions
from unelisa.errors import ModelError, VotesError, VotesWarning
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots

# items x voters: the last voter abstains twice
VALUES = np.array([[1, 1, 0], [1, -1, 1], [-1, -1, 0], [1, 0, -1]])
TABLE = Votes.of(VALUES, coding="pm1")


class Trusting(aggregators.PosteriorAggregator):
    """Believes the first voter, or its opposite."""

    def __init__(self, sign=1.0, orient="majority"):
        self.sign = sign
        self.orient = orient

    def _fit(self, votes):
        self.weights_ = self.sign * np.eye(votes.n_voters)[0]
        self.prevalence_ = 0.5

    def _score(self, votes):
        return 2.0 * votes.values[:, 0] * self.weights_[0]


def test_the_log_odds_is_the_probability_and_ties_go_first():
    model = Trusting().fit(TABLE)
    yes = 1 / (1 + np.exp(-2.0))
    expected = [[1 - yes, yes], [1 - yes, yes], [yes, 1 - yes], [1 - yes, yes]]
    assert model.predict_proba(TABLE) == pytest.approx(np.array(expected))
    assert model.fit_predict_proba(TABLE) == pytest.approx(np.array(expected))
    assert model.fit_predict(TABLE).tolist() == [1, 1, -1, 1]
    assert model.score(TABLE, [1, 1, 1, 1]) == 0.75
    scores = np.array([[0.1, 0.3, 0.3 + 1e-15], [0.5, 0.2, 0.3], [0.0, 0.0, 0.0]])
    assert base.pick_classes(scores).tolist() == [1, 0, 0]
    assert base.name_classes(scores, np.array(["a", "b", "c"])).tolist() == ["b", "a", "a"]
    assert base.name_classes(np.array([-0.1, 0.0]), np.array(["no", "yes"])).tolist() == [
        "no",
        "yes",
    ]
    scores = np.array([[-1000.0, 0.0, -2.0], [3.0, 3.0, 3.0]])
    chances = base.as_chances(scores)
    assert chances.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert chances[1] == pytest.approx([1 / 3] * 3)
    odds = np.array([-2.0, 0.5])
    two = base.as_chances(np.column_stack([np.zeros(2), odds]))
    assert two == pytest.approx(base.as_chances(odds))


@pytest.mark.filterwarnings("ignore:.*hardly decided")
def test_orientation_turns_the_model_around_and_many_who_know_nothing_do_not():
    assert Trusting(sign=-1.0).fit(TABLE).weights_[0] == 1.0  # more voters right than wrong
    assert Trusting(orient="v1").fit(TABLE).weights_[0] == 1.0  # they mostly agree
    gold = [-1, None, 1, None]
    assert Trusting().fit(TABLE, gold).weights_[0] == -1.0
    merits = np.array([0.9, 0.8, -0.05, -0.04, -0.06, -0.02])
    assert pool_votes(merits) == pytest.approx([0.81 + 0.64 - 0.0081], abs=1e-12)
    assert pool_votes(-merits)[0] < 0


@pytest.mark.filterwarnings("ignore:.*hardly decided")
def test_voters_are_told_apart_in_a_table():
    frame = pd.DataFrame(VALUES, columns=["ann", "bob", "eve"])
    frame["eve"] = 1
    with pytest.warns(VotesWarning, match="always gave the same vote"):
        model = Trusting(sign=-1.0, orient="bob").fit(Votes.of(frame, coding="pm1"))
    table = model.voters_
    assert list(table) == [
        *("voter", "verdict", "weight", "votes", "coverage", "overlaps", "conflicts", "reason")
    ]
    assert table.voter.tolist() == ["ann", "bob", "eve"]
    assert table.verdict.tolist() == ["counted", "left out", "left out"]
    assert table.reason.tolist() == [
        "it is counted",
        "it has no weight",
        "it always gave the same vote",
    ]
    assert model.experts_.tolist() == [0]
    assert model.polarity_.tolist() == [1, 0, 0]


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("empty", [1, 100])
@pytest.mark.parametrize(
    "estimator",
    [
        aggregators.LatentIsing(),
        aggregators.OneVsRest(aggregators.UnElisa()),
        aggregators.StackedRBM(),
        aggregators.DawidSkene(),
    ],
)
def test_items_without_votes_change_nothing(estimator, empty):
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 200)[:, None]
    values = np.where(rng.random((200, 5)) < 0.75, truth, -truth).astype(np.int8)
    values[:, 4] = 1  # the same vote on every item that has votes
    gold = np.where(np.arange(200) < 12, truth[:, 0], 0)
    padded = np.insert(values, [0] * empty, 0, axis=0)
    more = np.concatenate([np.zeros(empty, dtype=int), gold])
    plain, with_empty = (
        clone(estimator).fit(Votes.of(table, coding="pm1"), [x or None for x in y.tolist()])
        for table, y in ((values, gold), (padded, more))
    )
    scores = with_empty.decision_function(Votes.of(padded, coding="pm1"))[empty:]
    expected = plain.decision_function(Votes.of(values, coding="pm1"))
    assert scores == pytest.approx(expected, abs=1e-12)
    assert with_empty.reliable_ == plain.reliable_
    assert with_empty.weights_ == pytest.approx(plain.weights_, abs=1e-12)
    assert with_empty.voters_.coverage[0] == pytest.approx(200 / (200 + empty))


def test_only_log_odds_give_probabilities_and_the_score_counts_known_items():
    assert not hasattr(aggregators.OrientedAggregator(), "predict_proba")
    assert is_classifier(aggregators.MajorityVote())
    with pytest.raises(NotImplementedError):
        aggregators.Aggregator().fit(TABLE)
    votes = Votes.of([["y", "y"], ["n", "n"], ["n", "n"]])
    model = aggregators.MajorityVote().fit(votes)
    assert model.score(votes, ["y", None, "y"]) == 0.5
    with pytest.raises(VotesError, match="other than the two declared ones"):
        model.score(votes, [1, -1, 1])


THREE = [["a", "b", None], ["c", "c", None], ["a", "a", "b"], ["a", None, None]]
BORED, SILENT = "it always gave the same vote", "it never voted"


@pytest.mark.parametrize(
    ("votes", "counts", "overlaps", "conflicts", "idle"),
    [
        # voter 0 meets another on all four items, voter 1 on three, voter 2 on two;
        # item 1: voters 0 and 2 against voter 1; item 3: voter 0 against voter 2
        (TABLE, [4, 3, 2], [1.0, 0.75, 0.5], [0.5, 0.25, 0.5], [None] * 3),
        (Votes.of(THREE), [4, 3, 1], [0.75, 0.75, 0.25], [0.5, 0.5, 0.25], [None, None, BORED]),
        (
            Votes.of([[1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]], coding="pm1"),
            *([2, 2, 0], [0.0] * 3, [0.0] * 3, [BORED, None, SILENT]),
        ),
    ],
    ids=["two classes", "three classes", "nobody meets"],
)
def test_votes_are_described_by_hand(votes, counts, overlaps, conflicts, idle):
    told = base.describe_votes(votes)
    assert told["votes"].tolist() == counts
    assert told["coverage"].tolist() == [count / len(votes) for count in counts]
    assert told["overlaps"].tolist() == overlaps
    assert told["conflicts"].tolist() == conflicts
    assert base.list_idle(votes) == idle


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    right = rng.random((300, 5)) < [0.95, 0.6, 0.8, 0.7, 0.75]
    return ue.LatentIsing().fit(np.where(right, truth[:, None], -truth[:, None]))


def test_the_table_and_summary_say_the_least_accurate_first(model):
    shown = repr(model.voters_).splitlines()
    assert shown[0].split() == ["voter", "verdict", "accuracy", "low", "high", "votes"]
    assert [line.split()[1] for line in (shown[1], shown[5])] == ["v1", "v0"]
    assert shown[-1].endswith("voters_full_")
    assert "low" in model.voters_._repr_html_()
    table = model.voters_
    wanted = ["voter", "verdict", "family", "accuracy", "accuracy_low", "accuracy_high"]
    assert type(table[wanted]) is pd.DataFrame
    assert list(table.columns) == list(model.voters_full_.columns)
    assert np.all(table.npv_low <= table.npv)
    assert list(table.voter) == ["v0", "v1", "v2", "v3", "v4"]
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
    assert repr(model).startswith("<LatentIsing(): 2 classes, ")
    assert repr(ue.LatentIsing()) == "LatentIsing()"
    assert "v1" not in repr(model)


def test_what_cannot_be_told_is_said_or_not_printed():
    model = ue.LatentIsing().fit([[1, 1], [-1, -1], [1, -1], [1, 1]])
    assert repr(model.voters_).count("unknown") == 2
    model = ue.MajorityVote().fit([[1, 1, -1], [-1, -1, 1]])
    assert repr(model.voters_) == repr(model.voters_full_)


def test_confusions_are_rows_of_voters_and_pairs_of_classes():
    model = ue.MajorityVote().fit([["a", "b"], ["c", "a"], ["b", "b"]])
    tables = np.arange(18.0).reshape(2, 3, 3)
    table = tabulate_confusions(model, tables, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert list(table) == ["voter", "said", "meant", "probability", "votes"]
    row = table[(table.voter == "v1") & (table.meant == "b") & (table.said == "c")]
    assert row[["probability", "votes"]].to_numpy().tolist() == [[tables[1, 1, 2], 5.0]]
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


VOTES = Votes.of(np.array([[1, -1, 1], [1, -1, 1], [-1, 1, 1]]))
SCORES = np.array([1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("weights", "upside_down"),
    [([1, 1, -1], False), ([-1, -1, 1], True), ([2, -1, 0], False), ([1, -2, 0], True)],
)
def test_majority_counts_sides_then_weighs_them(weights, upside_down):
    weights = np.array(weights, dtype=float)
    assert is_upside_down("majority", VOTES, SCORES, weights) is upside_down


def test_an_anchor_is_right_more_often_than_wrong_and_a_silent_one_is_pointed_out():
    weights = np.array([1.0, -1.0, 0.0])
    votes, scores = VOTES.take_items([0, 1, 2] * 2), np.tile(SCORES, 2)
    assert not is_upside_down(0, votes, scores, weights)
    assert is_upside_down("v1", votes, scores, weights)
    silent = Votes.of(np.array([[1, 0], [-1, 0], [1, 0]]), coding="pm1")
    with pytest.warns(VotesWarning, match="no votes of the anchor can be used"):
        assert not is_upside_down("v1", silent, SCORES, np.array([1.0, 0.0]))


@pytest.mark.filterwarnings("ignore:1 of 1 gold labels")
def test_gold_labels_come_first_unless_they_split_evenly():
    weights = np.ones(3)
    against = np.array([-1, 0, 0], dtype=np.int8)
    even = np.array([1, -1, 0], dtype=np.int8)
    assert is_upside_down("majority", VOTES, SCORES, weights, against)
    assert not is_upside_down("majority", VOTES, SCORES, weights, even)


@pytest.mark.parametrize(
    ("agree", "differ", "told"),
    [
        (2, 1, "2 of 3 gold labels point one way, which may be chance"),
        (4, 0, "4 of 4 gold labels"),
        (6, 0, None),
        (1, 8, None),
        (2, 7, "7 of 9 gold labels"),
    ],
)
def test_thin_gold_is_pointed_out(agree, differ, told):
    gold = np.array([1] * agree + [-1] * differ, dtype=np.int8)
    votes = Votes.of(np.resize([1, -1], (len(gold), 2)))
    settle = partial(is_upside_down, "majority", votes, np.ones(len(gold)), np.ones(2), gold)
    if told is None:
        assert settle() is (differ > agree)
    else:
        with pytest.warns(VotesWarning, match=told):
            assert settle() is (differ > agree)


def test_voters_are_found_by_name_or_index():
    assert find_voter(VOTES.voters, "v2") == 2
    assert find_voter(VOTES.voters, -1) == 2
    with pytest.raises(ModelError, match="'majority' or a voter, found 'nobody'"):
        find_voter(VOTES.voters, "nobody")
    with pytest.raises(ModelError, match="not among the voters"):
        find_voter(VOTES.voters, 3)


def test_an_anchor_turns_the_reading_around():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    right = rng.random((300, 6)) < 0.8
    right[:, 5] = ~right[:, 5]  # the anchor is against the others
    votes = Votes.of(np.where(right, truth[:, None], -truth[:, None]), coding="pm1")
    ballots, nothing = list_ballots(votes.blocks), np.zeros(300)
    by_majority = read_sides(votes, ballots, nothing, aggregators.LatentIsing())
    by_anchor = read_sides(votes, ballots, nothing, aggregators.LatentIsing(orient=5))
    assert np.mean((by_majority.score(ballots) > 0) == (truth > 0)) > 0.9
    assert np.mean((by_anchor.score(ballots) > 0) == (truth < 0)) > 0.9
    against = read_sides(votes, ballots, truth.astype(float), aggregators.LatentIsing(orient=5))
    assert CONTRADICTION in {reason.text for reason in against.reasons}
