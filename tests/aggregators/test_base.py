import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from unelisa.aggregators import Aggregator, MajorityVote, OrientedAggregator, PosteriorAggregator
from unelisa.aggregators.base import pool_ballots
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
    assert pool_ballots(merits) == pytest.approx([0.81 + 0.64 - 0.0081], abs=1e-12)
    assert pool_ballots(-merits)[0] < 0


def test_a_score_of_zero_counts_as_positive():
    model = MajorityVote().fit(np.array([[1, -1], [-1, 1]]))
    assert model.predict(np.array([[1, -1]])).tolist() == [1]


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
