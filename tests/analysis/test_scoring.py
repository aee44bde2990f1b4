"""Accuracy, AUC and calibration by hand and against scikit-learn; all methods compared by them."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    log_loss,
    precision_score,
    roc_auc_score,
)

from unelisa.aggregators import AGGREGATORS, MajorityVote
from unelisa.analysis import comparison
from unelisa.analysis.scoring import (
    bound_frequency,
    calibration_error,
    score_classes,
    score_experts,
    score_labels,
)
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.simulation.designs import simulate_classes
from unelisa.votes import Votes

RNG = np.random.default_rng(0)
TRUTH = RNG.choice(np.array([-1, 1], dtype=np.int8), 200)
SCORES = TRUTH + RNG.normal(size=200) * 1.5


def test_figures_equal_scikit_learn_s():
    proba = 1 / (1 + np.exp(-SCORES))
    found = score_labels(TRUTH, SCORES, proba)
    predicted = np.where(SCORES >= 0, 1, -1)
    assert found.accuracy == pytest.approx(np.mean(predicted == TRUTH))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(TRUTH, predicted))
    assert found.auc == pytest.approx(roc_auc_score(TRUTH, SCORES))
    rough = score_labels(TRUTH, np.round(SCORES))
    assert rough.auc == pytest.approx(roc_auc_score(TRUTH, np.round(SCORES)))
    assert found.log_loss == pytest.approx(log_loss(TRUTH, proba))
    assert found.ppv == pytest.approx(precision_score(TRUTH, predicted))
    assert found.npv == pytest.approx(precision_score(TRUTH, predicted, pos_label=-1))
    assert found.f_score == pytest.approx(2 * found.ppv * found.npv / (found.ppv + found.npv))


def test_a_tie_counts_half_unknown_truth_not_at_all_and_one_class_has_no_auc():
    found = score_labels(np.array([1, -1, 0], dtype=np.int8), np.array([0.0, -1.0, 5.0]))
    assert found.accuracy == 0.75
    assert found.balanced_accuracy == 0.75
    assert np.isnan(found.log_loss)
    found = score_labels(np.ones(3, dtype=np.int8), np.array([1.0, 2.0, -1.0]))
    assert np.isnan(found.auc)
    assert np.isnan(found.balanced_accuracy)


def test_wilsons_interval_hit_rate_and_calibration_by_hand():
    """Both bounds b have |share - b| = 1.96 sqrt(b (1 - b) / n)."""
    for share, n in ((0.5, 4), (0.9, 40), (0.2, 1000)):
        for bound in bound_frequency(share, n):
            assert abs(share - bound) == pytest.approx(1.959964 * (bound * (1 - bound) / n) ** 0.5)
    assert bound_frequency(0.0, 5)[0] == 0
    assert bound_frequency(1.0, 5)[1] == 1
    assert score_experts([0, 1, 7], [0, 1, 2, 3]) == (0.5, pytest.approx(2 / 3))
    assert np.isnan(score_experts([], [1]).precision)
    assert score_experts([], [1]).hit_rate == 0
    truth = np.array([1, 1, -1, -1], dtype=np.int8)
    assert calibration_error(truth, np.array([0.95, 0.95, 0.05, 0.05])) == pytest.approx(0.05)
    assert calibration_error(truth, np.array([0.95, 0.05, 0.95, 0.05])) == pytest.approx(0.45)
    assert calibration_error(truth, np.array([1.0, 1.0, 0.0, 0.0])) == 0
    truth, chances = np.array([1, 2], dtype=np.int8), np.array([[0.6, 0.2, 0.2], [0.65, 0.3, 0.05]])
    found = score_classes(truth, chances, chances)
    assert found.calibration_error == pytest.approx(abs(1 - 0.6 + 0 - 0.65) / 2)
    assert found.log_loss == pytest.approx(-(np.log(0.6) + np.log(0.3)) / 2)


K_TRUTH = RNG.integers(1, 5, 300).astype(np.int8)
K_CHANCES = RNG.dirichlet(np.ones(4), 300) + np.eye(4)[K_TRUTH - 1] * 0.4
K_CHANCES /= K_CHANCES.sum(axis=1, keepdims=True)


def test_two_classes_and_four_equal_scikit_learn_s():
    found = score_classes(K_TRUTH, np.log(K_CHANCES), K_CHANCES, ordered=True)
    predicted = K_CHANCES.argmax(axis=1) + 1
    assert found.accuracy == pytest.approx(np.mean(predicted == K_TRUTH))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(K_TRUTH, predicted))
    assert found.macro_f1 == pytest.approx(f1_score(K_TRUTH, predicted, average="macro"))
    assert found.log_loss == pytest.approx(log_loss(K_TRUTH, K_CHANCES))
    assert found.mean_absolute_error == pytest.approx(np.abs(predicted - K_TRUTH).mean())
    truth, scores = np.array([1, 1, 2], dtype=np.int8), np.eye(4)[[0, 2, 1]]
    expected = f1_score([0, 0, 1], [0, 2, 1], average="macro", zero_division=0)
    assert score_classes(truth, scores).macro_f1 == pytest.approx(expected)
    chance = 1 / (1 + np.exp(-SCORES))
    pair, codes = np.column_stack([1 - chance, chance]), np.where(TRUTH > 0, 2, 1).astype(np.int8)
    wide, plain = score_classes(codes, pair, pair), score_labels(TRUTH, SCORES, chance)
    assert wide.accuracy == pytest.approx(plain.accuracy)
    assert wide.balanced_accuracy == pytest.approx(plain.balanced_accuracy)
    assert wide.log_loss == pytest.approx(plain.log_loss)
    truth = np.array([128, 200], dtype=np.uint8).view(np.int8)
    assert score_classes(truth, np.eye(200)[[127, 198]], ordered=True)[::5] == (0.5, 0.5)


def test_a_tie_between_two_or_more_classes_counts_by_its_expectation():
    truth = np.array([1, 3, 0], dtype=np.int8)
    scores = np.array([[2.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 9.0, 0.0]])
    found = score_classes(truth, scores, ordered=True)
    assert found.accuracy == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.mean_absolute_error == pytest.approx((0.5 + (2 + 1 + 0) / 3) / 2)
    assert np.isnan(found.log_loss)
    assert np.isnan(found.calibration_error)
    assert np.isnan(score_classes(truth, scores).mean_absolute_error)
    votes = Votes.of(np.array([[1, 1], [1, -1], [-1, -1]], dtype=np.int8))
    model, truth = MajorityVote().fit(votes), np.array([1, 1, 0], dtype=np.int8)
    row = comparison.rate_scores("mv", model, model.decision_function(votes), truth, 2.5)
    assert row == comparison.MethodScore("mv", 0.75, None, None, None, 2.5, None)


def test_every_method_has_a_row(crowd):
    votes, truth = crowd
    rows = list(comparison.compare_methods(votes, truth))
    assert [row.method for row in rows] == list(AGGREGATORS)
    json.dumps([row._asdict() for row in rows], allow_nan=False)
    assert all(0 <= row.accuracy <= 1 for row in rows)
    experts = {row.method: row.n_experts for row in rows}
    assert experts["majority-vote"] is None
    assert experts["unelisa"] >= 3


def test_fits_do_not_see_what_is_scored_nor_repeat_faults(crowd):
    votes, truth = crowd
    part, rest = votes.take_items(np.arange(300)), votes.take_items(np.arange(300, 600))
    row = next(comparison.compare_methods(part, truth[300:], ["unelisa"], scored=rest))
    model = comparison.build_aggregator("unelisa", 0).fit(part)
    assert row.accuracy == np.mean(model.predict(rest) == truth[300:])
    votes = Votes.of(np.array([[1, 1, -1], [1, -1, 1], [1, -1, -1]], dtype=np.int8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(
            comparison.compare_methods(
                votes, np.array([1, 1, -1], dtype=np.int8), ["majority-vote"]
            )
        )


class _Choosy(MajorityVote):
    def _fit(self, votes):
        raise ModelError("it takes no such votes")


def test_refusals_leave_an_empty_row(crowd, monkeypatch, classes):
    monkeypatch.setitem(AGGREGATORS, "choosy", _Choosy)
    with pytest.warns(UnelisaWarning, match="choosy was left out: it takes no such votes"):
        rows = list(comparison.compare_methods(*crowd, ["choosy", "majority-vote"]))
    assert rows[0] == comparison.MethodScore("choosy")
    assert rows[1].accuracy is not None
    with pytest.warns(UnelisaWarning, match="unelisa was left out: .*takes two classes, found 4"):
        rows = list(comparison.compare_methods(classes.votes, classes.truth, ["unelisa"]))
    assert rows == [comparison.ClassMethodScore("unelisa")]


@pytest.mark.parametrize("name", AGGREGATORS)
def test_settings_reach_the_methods_that_have_them(name):
    settings = comparison.build_aggregator(name, random_state=3, n_jobs=2).get_params()
    assert settings.get("random_state", 3) == 3
    assert settings.get("n_jobs", 2) == 2


@pytest.fixture(scope="module")
def classes():
    return simulate_classes(4, 12, 400, ordered=True, missing=0.6, random_state=0)


def test_methods_that_take_the_classes_are_compared_by_the_figures_of_the_model(classes):
    rows = list(comparison.compare_methods(classes.votes, classes.truth))
    assert [row.method for row in rows] == comparison.list_methods(classes.votes)
    assert "unelisa" not in comparison.list_methods(classes.votes)
    json.dumps([row._asdict() for row in rows], allow_nan=False)
    assert all(row.mean_absolute_error is not None for row in rows)
    plain = replace(classes.votes, ordered=False)
    row = next(comparison.compare_methods(plain, classes.truth, ["dawid-skene"]))
    assert row.mean_absolute_error is None
    assert row.log_loss is not None
    row = next(row for row in rows if row.method == "dawid-skene")
    model = comparison.build_aggregator("dawid-skene", 0).fit(classes.votes)
    labels = classes.votes.name_codes(classes.truth)
    assert row.accuracy == np.mean(model.predict(classes.votes) == labels)
    chances = model.predict_proba(classes.votes)
    right = chances[np.arange(400), classes.truth - 1]
    assert row.log_loss == pytest.approx(-np.log(np.maximum(right, 1e-6)).mean())


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("name", [n for n, c in AGGREGATORS.items() if c.takes.any_class])
def test_scores_of_classes_are_log_probabilities_where_there_are_any(name, classes):
    model = comparison.build_aggregator(name, 0).fit(classes.votes)
    scores = model.decision_function(classes.votes)
    assert scores.shape == (400, 4)
    if hasattr(model, "predict_proba"):
        assert softmax(scores, axis=1) == pytest.approx(model.predict_proba(classes.votes))
