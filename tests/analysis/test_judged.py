from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit
from sklearn.metrics import roc_curve

from places import crowd, write_blocks
from unelisa.aggregators import DawidSkene, MajorityVote
from unelisa.analysis.judged import (
    BINS,
    HARD,
    ROC_POINTS,
    SURE,
    Judged,
    Reference,
    bin_calibration,
    count_ease,
    count_scores,
    describe_items,
    merge_bins,
    score_reference,
    trace_roc,
)
from unelisa.votes import Votes
from unelisa.votes.blocks import SparseBlocks, WholeTable


def judged(scores, chances=None, values=None):
    """What a model said of some items; chances are given as themselves."""
    scores = np.array(scores, dtype=float) if chances is None else logit(np.array(chances))
    values = np.ones((len(scores), 1), np.int8) if values is None else values
    return Judged(votes_of(values), ("no", "yes"), scores, chances is not None)


def votes_of(values):
    blocks = WholeTable(values) if isinstance(values, np.ndarray) else values
    names = np.array([f"v{s}" for s in range(blocks.n_voters)], dtype=object)
    return Votes(blocks, np.arange(blocks.n_items), names)


@pytest.fixture
def table():
    votes = crowd(900, 6, abstain=0.4)
    votes[[0, 17, 899]] = 0
    return votes


@pytest.mark.parametrize("method", [DawidSkene, MajorityVote])
def test_every_item_is_judged_as_the_model_does(table, method):
    votes = votes_of(table)
    model = method().fit(votes)
    found = Judged.of(model, votes)
    assert np.array_equal(found.scores, model.decision_function(votes))
    if hasattr(model, "predict_proba"):
        assert np.array_equal(found.chances, model.predict_proba(votes)[:, 1])
    else:
        assert found.chances is None
    assert np.array_equal(found.voted_on, table.any(axis=1))
    assert not found.voted_on[[0, 17, 899]].any()


def test_votes_in_blocks_are_judged_alike(table, tmp_path):
    model = DawidSkene().fit(votes_of(table))
    here = Judged.of(model, votes_of(table))
    for blocks in (write_blocks(tmp_path / "votes", table, 250), SparseBlocks(sp.csr_array(table))):
        there = Judged.of(model, votes_of(blocks))
        assert there.scores == pytest.approx(here.scores, rel=1e-12)
        assert np.array_equal(there.voted_on, here.voted_on)


def test_shares_and_labels_against_the_majority():
    assert judged([-2, 0, 3]).as_shares().tolist() == [0.0, 0.5, 1.0]
    assert judged([], [0.1, 0.5, 0.8]).as_shares() == pytest.approx([0.1, 0.5, 0.8])
    assert judged([-2, 0, 3]).labels() == ["no", "yes", "yes"]
    values = np.array([[1, 1, -1], [1, 1, -1], [1, -1, 0], [0, 0, 0]], dtype=np.int8)
    assert judged([2, -2, -1, 1], values=values).differs.tolist() == [False, True, False, False]
    votes = Votes.of([["a", "b", "b"], ["a", "b", "c"], ["c", "c", "a"]])
    own = Judged(votes, votes.classes, np.eye(3), has_chances=False)
    assert own.labels() == ["a", "b", "c"]
    assert own.differs.tolist() == [True, False, False]


def test_items_are_counted_binned_and_decided_beyond_the_bound():
    values = np.array([[1], [0], [1], [1]], dtype=np.int8)
    found = describe_items(judged([-1, 0, 0, 2], values=values))
    assert found == {
        "n": 4,
        "positive": 3,  # a tie is called positive
        "share_positive": 0.75,
        "ties": 2,
        "unvoted": 1,
        "sure": None,
        "differ": 1,
    }
    chances = [0.0, 1 - SURE - 1e-9, 0.5, SURE - 1e-9, SURE + 1e-9, 1.0]
    assert describe_items(judged([], chances))["sure"] == 4
    found = count_scores(judged([], [0.0, 0.049, 0.051, 0.999, 1.0]))
    assert found["kind"] == "probability"
    assert found["counts"] == [2, 1] + [0] * (BINS - 3) + [2]
    assert found["edges"] == pytest.approx(np.linspace(0, 1, BINS + 1))
    found = count_scores(judged([-1.0, 0.0, 4.0]))
    assert (found["kind"], sum(found["counts"])) == ("score", 3)
    assert (found["edges"][0], found["edges"][-1]) == (-4.0, 4.0)
    assert found["counts"][BINS // 2] == found["counts"][-1] == 1
    level = count_scores(judged([0.0, 0.0]))
    assert (level["edges"][0], level["edges"][-1], sum(level["counts"])) == (-1.0, 1.0, 2)


def test_rocs_and_bins_count_every_item():
    rng = np.random.default_rng(0)
    positive = rng.random(50_000) < 0.3
    scores = rng.normal(size=50_000) + positive
    curve = np.array(trace_roc(positive, scores))
    assert len(curve) <= ROC_POINTS
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    alarms, hits, _ = roc_curve(positive, scores)
    assert np.trapezoid(curve[:, 1], curve[:, 0]) == pytest.approx(
        np.trapezoid(hits, alarms), abs=1e-3
    )
    assert trace_roc(np.array([True, True]), np.array([1.0, 2.0])) == []
    rng = np.random.default_rng(0)
    chances = rng.random(2000)
    bins = bin_calibration(rng.random(2000) < chances, chances)
    assert sum(one["n"] for one in bins) == 2000
    assert all(one["low"] <= one["share"] <= one["high"] for one in bins)
    assert sum(one["low"] <= one["mean"] <= one["high"] for one in bins) >= 8
    assert merge_bins(np.array([5, 5, 30, 40])).tolist() == [0, 0, 0, 1]
    assert merge_bins(np.array([5, 5])).tolist() == [0, 0]
    chances = np.repeat([0.05, 0.55, 0.95], [100, 3, 100])
    bins = bin_calibration(chances > 0.5, chances)
    assert [one["n"] for one in bins] == [100, 103]
    signs, scores = np.array([1, 1, 1, -1, -1, 0]), np.array([2.0, 0.0, -1.0, 1.0, -1.0, 1.0])
    assert score_reference(Reference(scores, signs.astype(np.int8), False))["confusion"] == {
        "true_positive": 2,
        "false_negative": 1,
        "false_positive": 1,
        "true_negative": 1,
    }


def test_truth_is_compared_on_known_items_of_two_classes_or_three(crowd):
    votes, truth = crowd
    signs = np.where(np.arange(600) < 100, truth, 0).astype(np.int8)
    model = DawidSkene(random_state=0).fit(votes)
    scored = score_reference(Reference.of(model, Judged.of(model, votes), signs))
    assert scored["n"] == sum(scored["confusion"].values()) == 100
    assert scored["accuracy"] > 0.9
    assert scored["calibration_error"] < 0.1
    model = MajorityVote().fit(votes)
    scored = score_reference(Reference.of(model, Judged.of(model, votes), truth))
    assert scored["calibration"] == []
    assert scored["calibration_error"] is None
    assert scored["log_loss"] is None
    assert scored["roc"]
    given = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0.7, 0.2, 0.1]])
    truth = np.array([1, 1, 3, 0], dtype=np.int8)
    found = score_reference(Reference(np.log(given), truth, True, ordered=True))
    assert (found["n"], found["accuracy"]) == (3, pytest.approx(2 / 3))
    assert found["confusion"] == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert found["mean_absolute_error"] == pytest.approx(1 / 3)
    assert [one["n"] for one in found["calibration"]] == [3]
    assert found["roc"] == []
    votes = Votes.of([["a", "a"], ["b", "b"], ["c", "c"]])
    model = MajorityVote().fit(votes)
    reference = Reference.of(model, Judged.of(model, votes), np.array([1, 2, 3, 3], dtype=np.int8))
    assert score_reference(reference)["accuracy"] == pytest.approx((3 + 1 / 3) / 4)


def judged_classes(scores, has_chances=False):
    """What a model said of items of three classes; nobody voted on the last one."""
    values = np.ones((len(scores), 2), np.int8)
    values[-1] = 0
    votes = replace(votes_of(values), classes=("a", "b", "c"))
    return Judged(votes, votes.classes, np.array(scores, dtype=float), has_chances)


def test_items_of_three_classes_and_unknown_ease_are_counted():
    shares = judged_classes([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0, 0, 0]])
    assert shares.labels() == ["b", "a", "a"]
    assert describe_items(shares) == {"n": 3, "ties": 2, "unvoted": 1, "sure": None, "differ": 1}
    assert shares.chances is None
    assert shares.as_class_shares()[1].tolist() == [0.5, 0, 0.5]
    assert count_scores(shares)["kind"] == "lead"
    assert count_scores(shares)["edges"][-1] == pytest.approx(0.2)
    votes = Votes.of([["a", "b", "a"], ["c", "c", "b"], ["a", "b", "c"], [None, None, "c"]])
    found = Judged.of(MajorityVote().fit(votes), votes)
    assert found.labels() == ["a", "c", "c", "c"]  # c has more votes in all than a and b
    assert found.leads.tolist() == pytest.approx([1 / 3, 1 / 3, 0.0, 1.0])
    assert describe_items(found)["ties"] == 1
    assert found.class_chances is None
    given = np.array([[0.97, 0.02, 0.01], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]])
    found = judged_classes(np.log(given) + 7, has_chances=True)  # up to a constant
    assert found.chances == pytest.approx([0.97, 0.4, 0.9])
    assert found.as_class_shares() == pytest.approx(given)
    assert describe_items(found)["sure"] == 1
    assert count_scores(found)["kind"] == "confidence"
    known = judged([1.0, -2.0, 0.5])
    eased = replace(known, ease=np.array([0.3, np.nan, 1.2]))
    counted = count_ease(eased)
    assert (counted["n"], counted["hard"], sum(counted["counts"])) == (2, 1, 2)
    assert HARD in counted["edges"]  # no bar has both hard items and others
    assert count_ease(known) is None
    assert count_ease(replace(known, ease=np.full(3, np.nan))) is None
