"""Weighted majorities: equal weights, agreement, and agreement iterated; and their ties."""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import MajorityVote as CrowdKitMajority
from crowdkit.aggregation.utils import get_accuracy
from hypothesis import given
from hypothesis import strategies as st

from unelisa.aggregators import MajorityVote, Wawa, ZeroBasedSkill
from unelisa.aggregators.majority import arrange_votes, measure_agreement, share_weight
from unelisa.errors import ModelError
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import WholeTable

TABLE = np.array([[1, 1, -1], [-1, np.nan, -1], [1, -1, np.nan], [np.nan, np.nan, 1]])
HAND = np.array(
    [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, -1], [1, 0, -1, 0]], dtype=np.int8
)
ROUNDS = np.array([[1, 1, -1], [1, -1, -1], [-1, 1, 1], [1, 1, 1]], dtype=np.int8)
METHODS = pytest.mark.parametrize("method", [MajorityVote, Wawa, ZeroBasedSkill])


def draw(n_classes, seed, n_items=30, n_voters=6):
    codes = np.random.default_rng(seed).integers(0, n_classes + 1, (n_items, n_voters))
    return np.asfortranarray(codes.astype(np.uint8).view(np.int8))


def test_the_share_of_yes_minus_no_and_a_tie_goes_to_more_votes():
    model = MajorityVote().fit(TABLE)
    assert model.decision_function(TABLE) == pytest.approx([1 / 3, -1, 0, 1])
    assert model.weights_.tolist() == [1, 1, 1]
    assert not hasattr(model, "predict_proba")
    votes = [["no", "no", "no"], ["no", "yes", None], ["yes", "no", "yes"], ["no", "no", "no"]]
    model = MajorityVote().fit(votes)
    assert model.predict(votes).tolist() == ["no", "no", "yes", "no"]
    assert model.score(votes, ["no", "no", "yes", "no"]) == 1
    even = np.array([[1, -1], [-1, 1]])  # renaming the classes leaves these votes as they are
    assert MajorityVote().fit(even).predict(even[:1]).tolist() == [1]


@METHODS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_renaming_the_classes_changes_no_label(method, n_classes):
    rng = np.random.default_rng(n_classes)
    shares = [0.55, 0.45] if n_classes == 2 else [0.5, 0.3, 0.2]
    said = rng.choice(n_classes, (60, 4), p=shares)
    answers = []
    for names in (np.array(["a", "b", "c"]), np.array(["z", "y", "x"])):
        votes = names[said]
        table = method().fit(votes).labels(votes)
        answers.append([names.tolist().index(label) for label in table["label"]])
        assert (table["status"] == "tie").any() or method is not MajorityVote
        tied = table[table["status"] == "tie"]
        assert set(tied["probability"]) <= {1 / 2, 1 / 3}
    assert answers[0] == answers[1]


@given(n_classes=st.integers(3, 200), seed=st.integers(0, 99))
def test_shares_are_those_of_the_weights(n_classes, seed):
    codes = draw(n_classes, seed)
    weights = np.random.default_rng(seed).random(6)
    shares = share_weight(arrange_votes(WholeTable(codes), n_classes), weights, n_classes)
    for row, said in zip(shares, codes.view(np.uint8), strict=True):
        mass = weights[said > 0].sum() or 1.0
        expected = [weights[said == k].sum() / mass for k in range(1, n_classes + 1)]
        assert row == pytest.approx(expected, abs=1e-12)


@given(seed=st.integers(0, 99))
def test_two_classes_are_the_margin(seed):
    """The code for more classes, driven with two of three."""
    codes = draw(2, seed)
    signs = np.array([0, -1, 1], dtype=np.int8)[codes]
    weights = np.random.default_rng(seed).integers(0, 3, 6) / 2
    ballots, table = list_ballots(WholeTable(codes)), WholeTable(np.asfortranarray(signs))
    shares, margin = share_weight(ballots, weights, 3), share_weight(table, weights)
    assert shares[:, 1] - shares[:, 0] == pytest.approx(margin, abs=1e-12)


def test_agreement_and_skills_by_hand(crowd):
    """The majorities are + + - - and a tie, which counts half for both of its voters."""
    assert share_weight(WholeTable(HAND), np.ones(4)) == pytest.approx([0.5, 0.5, -0.5, -0.5, 0])
    agreed = measure_agreement(WholeTable(HAND), np.ones(4))
    assert agreed == pytest.approx([4.5 / 5, 1, 2.5 / 5, 2 / 4])
    codes = np.array([[1, 2, 3, 0], [1, 1, 2, 2], [3, 3, 1, 0]], dtype=np.int8, order="F")
    agreed = measure_agreement(list_ballots(WholeTable(codes)), np.ones(4), 3)
    third, half = 1 / 3, 1 / 2
    expected = [(third + half + 1) / 3, (third + half + 1) / 3, (third + half) / 3, half]
    assert agreed == pytest.approx(expected)
    model = Wawa().fit(Votes.of(HAND, coding="pm1"))
    assert model.weights_ == pytest.approx([0.9, 1, 0.5, 0.5])
    scores = model.decision_function(HAND)
    assert scores[4] == pytest.approx((0.9 - 0.5) / 1.4)
    assert model.predict(HAND).tolist() == [1, 1, -1, -1, 1]
    # agreement with the majority: 1/2, 1, 3/4; voter 0 is then outvoted by the others for good
    for rounds in (1, 2):
        skills = ZeroBasedSkill(max_iter=rounds).fit(ROUNDS).weights_
        assert skills == pytest.approx([0.5, 1, 0.75])
    assert Wawa().fit(ROUNDS).weights_ == pytest.approx(skills)
    late = [ZeroBasedSkill(max_iter=rounds).fit(crowd[0]).weights_ for rounds in (99, 100)]
    assert np.abs(late[1] - late[0]).max() < 1e-3
    with pytest.raises(ModelError, match="at least 1"):
        ZeroBasedSkill(max_iter=0).fit(ROUNDS)


@pytest.mark.filterwarnings("ignore")  # crowd-kit's quarrels with pandas
def test_wawa_equals_crowd_kits_where_nothing_is_tied(crowd):
    values = crowd[0].values[:, :7]  # seven complete votes cannot tie
    items, voters = np.indices(values.shape)
    table = pd.DataFrame({"task": items.ravel(), "worker": voters.ravel(), "label": values.ravel()})
    majority = CrowdKitMajority().fit(table)
    skills = get_accuracy(table, majority.labels_, by="worker")
    model = Wawa().fit(values)
    assert model.weights_ == pytest.approx(skills.to_numpy())
    shares = CrowdKitMajority().fit(table, skills=skills).probas_
    assert model.decision_function(values) == pytest.approx((2 * shares[1] - 1).to_numpy())
