import numpy as np
import pytest

import unelisa as ue
from unelisa.aggregators.voters import describe_votes, idle_reason, tabulate_confusions
from unelisa.votes import Votes

# items x voters: the last voter abstains twice
VALUES = np.array([[1, 1, 0], [1, -1, 1], [-1, -1, 0], [1, 0, -1]])
TABLE = Votes.of(VALUES, coding="pm1")


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
