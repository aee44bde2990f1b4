import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_curve

from unelisa.aggregators import DawidSkene, MajorityVote
from unelisa.comparison import MethodScore
from unelisa.report.reference import (
    ROC_POINTS,
    Reference,
    bin_calibration,
    count_confusion,
    score_reference,
    trace_roc,
)


def test_roc_equals_scikit_learns():
    rng = np.random.default_rng(0)
    positive, scores = rng.random(60) < 0.4, rng.integers(0, 9, 60).astype(float)
    alarms, hits, _ = roc_curve(positive, scores, drop_intermediate=False)
    assert np.allclose(trace_roc(positive, scores), np.column_stack([alarms, hits]))


def test_a_long_roc_is_thinned_but_keeps_its_area():
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


def test_one_side_alone_has_no_roc():
    assert trace_roc(np.array([True, True]), np.array([1.0, 2.0])) == []


def test_confusion_equals_scikit_learns():
    rng = np.random.default_rng(0)
    positive, labelled = rng.random(50) < 0.5, rng.random(50) < 0.5
    counted = count_confusion(positive, labelled)
    names = ("true_negative", "false_positive", "false_negative", "true_positive")
    assert [counted[name] for name in names] == confusion_matrix(
        positive, labelled
    ).ravel().tolist()


def test_bins_count_every_item_and_bracket_the_share():
    rng = np.random.default_rng(0)
    chances = rng.random(2000)
    bins = bin_calibration(rng.random(2000) < chances, chances)
    assert sum(one["n"] for one in bins) == 2000
    assert all(one["low"] <= one["share"] <= one["high"] for one in bins)
    assert sum(one["low"] <= one["mean"] <= one["high"] for one in bins) >= 8


def test_unknown_items_are_left_out(crowd):
    votes, truth = crowd
    signs = np.where(np.arange(600) < 100, truth, 0).astype(np.int8)
    scored = score_reference(DawidSkene(random_state=0).fit(votes), Reference(votes, signs))
    assert scored["n"] == sum(scored["confusion"].values()) == 100
    assert scored["accuracy"] > 0.9
    assert scored["calibration_error"] < 0.1


def test_a_margin_has_no_calibration(crowd):
    scored = score_reference(MajorityVote().fit(crowd[0]), Reference(*crowd))
    assert scored["calibration"] == []
    assert scored["calibration_error"] is None
    assert scored["log_loss"] is None
    assert scored["roc"]


def test_rows_may_be_scores_or_mappings(crowd):
    row = MethodScore("a", 0.9)
    assert Reference(*crowd, [row, row._asdict()]).rows() == [row._asdict()] * 2
