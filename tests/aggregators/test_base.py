import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier

from unelisa.aggregators import (
    Aggregator,
    LatentIsing,
    MajorityVote,
    OneVsRest,
    OrientedAggregator,
    PosteriorAggregator,
    StackedRBM,
    UnElisa,
)
from unelisa.aggregators.base import (
    describe_votes,
    idle_reason,
    name_classes,
    normalize_scores,
    pair_probabilities,
    pick_classes,
)
from unelisa.aggregators.orientation import pool_votes
from unelisa.errors import VotesError, VotesWarning
from unelisa.votes import Votes

# items x voters: the last voter abstains twice
VALUES = np.array([[1, 1, 0], [1, -1, 1], [-1, -1, 0], [1, 0, -1]])
TABLE = Votes.of(VALUES, coding="pm1")


class Trusting(PosteriorAggregator):
    """Believes the first voter, or its opposite."""

    def __init__(self, sign=1.0, orient="majority"):
        self.sign = sign
        self.orient = orient

    def _fit(self, votes):
        self.weights_ = self.sign * np.eye(votes.n_voters)[0]
        self.prevalence_ = 0.5

    def _score(self, votes):
        return 2.0 * votes.values[:, 0] * self.weights_[0]


def test_the_log_odds_is_the_probability():
    model = Trusting().fit(TABLE)
    yes = 1 / (1 + np.exp(-2.0))
    expected = [[1 - yes, yes], [1 - yes, yes], [yes, 1 - yes], [1 - yes, yes]]
    assert model.predict_proba(TABLE) == pytest.approx(np.array(expected))
    assert model.fit_predict_proba(TABLE) == pytest.approx(np.array(expected))
    assert model.fit_predict(TABLE).tolist() == [1, 1, -1, 1]
    assert model.score(TABLE, [1, 1, 1, 1]) == 0.75


@pytest.mark.filterwarnings("ignore:.*hardly decided")
def test_orientation_turns_the_model_around():
    assert Trusting(sign=-1.0).fit(TABLE).weights_[0] == 1.0  # more voters right than wrong
    assert Trusting(orient="v1").fit(TABLE).weights_[0] == 1.0  # they mostly agree
    gold = [-1, None, 1, None]
    assert Trusting().fit(TABLE, gold).weights_[0] == -1.0


def test_many_who_know_nothing_do_not_outvote_a_few_who_know():
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
@pytest.mark.parametrize("estimator", [LatentIsing(), OneVsRest(UnElisa()), StackedRBM()])
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


def test_what_a_subclass_must_write():
    with pytest.raises(NotImplementedError):
        Aggregator()._fit(TABLE)
    with pytest.raises(NotImplementedError):
        Aggregator()._score(TABLE)


def test_only_log_odds_give_probabilities():
    assert not hasattr(Aggregator(), "predict_proba")
    assert not hasattr(OrientedAggregator(), "predict_proba")


def test_scikit_learn_takes_them_for_classifiers():
    assert is_classifier(MajorityVote())


def test_the_score_counts_items_with_a_known_label_only():
    votes = Votes.of([["y", "y"], ["n", "n"], ["n", "n"]])
    model = MajorityVote().fit(votes)
    assert model.score(votes, ["y", None, "y"]) == 0.5
    with pytest.raises(VotesError, match="other than the two declared ones"):
        model.score(votes, [1, -1, 1])


def test_the_first_of_tied_classes_is_picked_whatever_the_rounding():
    scores = np.array([[0.1, 0.3, 0.3 + 1e-15], [0.5, 0.2, 0.3], [0.0, 0.0, 0.0]])
    assert pick_classes(scores).tolist() == [1, 0, 0]
    assert name_classes(scores, np.array(["a", "b", "c"])).tolist() == ["b", "a", "a"]
    assert name_classes(np.array([-0.1, 0.0]), np.array(["no", "yes"])).tolist() == ["no", "yes"]


def test_probabilities_add_up():
    scores = np.array([[-1000.0, 0.0, -2.0], [3.0, 3.0, 3.0]])
    chances = normalize_scores(scores)
    assert chances.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert chances[1] == pytest.approx([1 / 3] * 3)
    odds = np.array([-2.0, 0.5])
    two = normalize_scores(np.column_stack([np.zeros(2), odds]))
    assert two == pytest.approx(pair_probabilities(odds))


def test_coverage_overlaps_and_conflicts_by_hand():
    told = describe_votes(TABLE)
    assert told["votes"].tolist() == [4, 3, 2]
    assert told["coverage"].tolist() == [1.0, 0.75, 0.5]
    # voter 0 meets another on all four items, voter 1 on three, voter 2 on two
    assert told["overlaps"].tolist() == [1.0, 0.75, 0.5]
    # item 1: voters 0 and 2 against voter 1; item 3: voter 0 against voter 2
    assert told["conflicts"].tolist() == [0.5, 0.25, 0.5]


def test_a_lone_vote_overlaps_with_nobody():
    told = describe_votes(Votes.of(np.array([[1, 0], [-1, 0], [0, 1]]), coding="pm1"))
    assert told["overlaps"].tolist() == [0.0, 0.0]
    assert told["conflicts"].tolist() == [0.0, 0.0]


def test_idle_reasons():
    votes = Votes.of(np.array([[1, 0, 1], [1, 0, -1]]), coding="pm1")
    assert idle_reason(votes, 0) == "it always gave the same vote"
    assert idle_reason(votes, 1) == "it never voted"
    assert idle_reason(votes, 2) is None


def test_more_than_two_classes_are_described_alike():
    votes = Votes.of([["a", "b", None], ["c", "c", None], ["a", "a", "b"], ["a", None, None]])
    told = describe_votes(votes)
    assert told["votes"].tolist() == [4, 3, 1]
    assert told["overlaps"].tolist() == [0.75, 0.75, 0.25]
    assert told["conflicts"].tolist() == [0.5, 0.5, 0.25]
    assert [idle_reason(votes, s) for s in range(3)] == [None, None, "it always gave the same vote"]
