import numpy as np
import pytest
import scipy.sparse as sp

from places import crowd, write_blocks
from unelisa.aggregators import DawidSkene, MajorityVote
from unelisa.blocks import SparseBlocks, WholeTable
from unelisa.report.items import (
    BINS,
    MOST_UNCERTAIN,
    SURE,
    Judged,
    count_scores,
    describe_items,
    list_uncertain,
)
from unelisa.votes import Votes


def judged(scores, chances=None, voted_on=None):
    scores = np.array(scores, dtype=float)
    voted_on = np.ones(len(scores), bool) if voted_on is None else np.array(voted_on)
    return Judged(scores, None if chances is None else np.array(chances, dtype=float), voted_on)


def votes_of(held):
    names = np.array([f"v{s}" for s in range(held.shape[1])], dtype=object)
    return Votes(held, np.arange(held.shape[0]), names)


@pytest.fixture
def table():
    votes = crowd(900, 6, abstain=0.4)
    votes[[0, 17, 899]] = 0
    return votes


@pytest.mark.parametrize("method", [DawidSkene, MajorityVote])
def test_every_item_is_judged_as_the_model_does(table, method):
    votes = votes_of(WholeTable(table))
    model = method().fit(votes)
    found = Judged.of(model, votes)
    assert np.array_equal(found.scores, model.decision_function(votes))
    if hasattr(model, "predict_proba"):
        assert np.array_equal(found.chances, model.predict_proba(votes)[:, 1])
    else:
        assert found.chances is None
    assert np.array_equal(found.voted_on, table.any(axis=1))
    assert not found.voted_on[[0, 17, 899]].any()


def test_votes_in_blocks_are_judged_alike_in_half_the_bytes(table, tmp_path):
    model = DawidSkene().fit(votes_of(WholeTable(table)))
    here = Judged.of(model, votes_of(WholeTable(table)))
    for held in (write_blocks(tmp_path / "votes", table, 250), SparseBlocks(sp.csr_array(table))):
        there = Judged.of(model, votes_of(held))
        assert there.scores.dtype == there.chances.dtype == np.float32
        assert there.scores == pytest.approx(here.scores, rel=1e-6)
        assert there.chances == pytest.approx(here.chances, abs=1e-6)
        assert np.array_equal(there.voted_on, here.voted_on)


def test_shares_are_the_chances_or_the_labels():
    assert judged([-2, 0, 3]).as_shares().tolist() == [0.0, 0.5, 1.0]
    assert judged([-2, 0, 3], [0.1, 0.5, 0.8]).as_shares().tolist() == [0.1, 0.5, 0.8]


def test_items_are_counted():
    found = describe_items(judged([-1, 0, 0, 2], voted_on=[True, False, True, True]))
    assert found == {
        "n": 4,
        "positive": 3,  # a tie is called positive
        "share_positive": 0.75,
        "ties": 2,
        "unvoted": 1,
        "sure": None,
    }


def test_an_item_is_decided_beyond_the_bound_not_at_it():
    chances = [0.0, 1 - SURE - 1e-9, 0.5, SURE, SURE + 1e-9, 1.0]
    assert describe_items(judged(np.subtract(chances, 0.5), chances))["sure"] == 4


def test_posteriors_are_binned_from_zero_to_one():
    found = count_scores(judged([0] * 5, [0.0, 0.049, 0.05, 0.999, 1.0]))
    assert found["kind"] == "probability"
    assert found["counts"] == [2, 1] + [0] * (BINS - 3) + [2]
    assert found["edges"] == pytest.approx(np.linspace(0, 1, BINS + 1))


def test_scores_are_binned_around_zero_as_far_as_they_go():
    found = count_scores(judged([-1.0, 0.0, 4.0]))
    assert (found["kind"], sum(found["counts"])) == ("score", 3)
    assert (found["edges"][0], found["edges"][-1]) == (-4.0, 4.0)
    assert found["counts"][BINS // 2] == 1
    assert found["counts"][-1] == 1


def test_scores_of_zero_have_a_histogram_too():
    found = count_scores(judged([0.0, 0.0]))
    assert (found["edges"][0], found["edges"][-1]) == (-1.0, 1.0)
    assert sum(found["counts"]) == 2


def test_the_most_uncertain_come_first_and_ties_in_the_items_order():
    votes = Votes.of(np.array([["no", "yes"]] * 4, dtype=object))
    found = list_uncertain(judged([-3, 0.5, -0.5, 2], [0.1, 0.6, 0.4, 0.9]), votes)
    assert [row["item"] for row in found] == ["1", "2", "3", "0"]
    assert found[1] == {"item": "2", "label": "no", "probability": 0.4, "score": -0.5}
    assert found[0]["label"] == "yes"
    assert list_uncertain(judged([-3, 0, 0, 0]), votes)[0]["probability"] is None


def test_no_more_items_are_named_than_fit_a_page():
    votes = votes_of(WholeTable(np.asfortranarray(crowd(100, 3))))
    assert len(list_uncertain(judged(np.arange(100)), votes)) == MOST_UNCERTAIN
