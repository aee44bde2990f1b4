import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import MajorityVote as CrowdKitMajority
from crowdkit.aggregation.utils import get_accuracy

from unelisa.aggregators import Wawa
from unelisa.aggregators.shares import weighed_margin
from unelisa.aggregators.wawa import measure_agreement
from unelisa.votes import Votes
from unelisa.votes.blocks import WholeTable

HAND = np.array(
    [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, -1], [1, 0, -1, 0]], dtype=np.int8
)


def test_agreement_by_hand():
    """The majorities are + + - - and a tie, which counts half for both of its voters."""
    margin = weighed_margin(WholeTable(HAND), np.ones(4))
    assert margin == pytest.approx([0.5, 0.5, -0.5, -0.5, 0])
    assert measure_agreement(WholeTable(HAND), margin) == pytest.approx(
        [4.5 / 5, 1, 2.5 / 5, 2 / 4]
    )


def test_weights_decide_where_the_majority_is_split():
    model = Wawa().fit(Votes.of(HAND, coding="pm1"))
    assert model.weights_ == pytest.approx([0.9, 1, 0.5, 0.5])
    scores = model.decision_function(HAND)
    assert scores[4] == pytest.approx((0.9 - 0.5) / 1.4)
    assert model.predict(HAND).tolist() == [1, 1, -1, -1, 1]


@pytest.mark.filterwarnings("ignore")  # crowd-kit's quarrels with pandas
def test_it_equals_crowd_kit_where_nothing_is_tied(crowd):
    values = crowd[0].values[:, :7]  # seven complete votes cannot tie
    items, voters = np.indices(values.shape)
    table = pd.DataFrame({"task": items.ravel(), "worker": voters.ravel(), "label": values.ravel()})
    majority = CrowdKitMajority().fit(table)
    skills = get_accuracy(table, majority.labels_, by="worker")
    model = Wawa().fit(values)
    assert model.weights_ == pytest.approx(skills.to_numpy())
    shares = CrowdKitMajority().fit(table, skills=skills).probas_
    assert model.decision_function(values) == pytest.approx((2 * shares[1] - 1).to_numpy())


def test_nobody_is_turned_around(crowd):
    votes, _ = crowd
    assert Wawa().fit(votes).weights_.min() >= 0
