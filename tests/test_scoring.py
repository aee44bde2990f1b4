import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, precision_score, roc_auc_score

from unelisa.scoring import bound_frequency, calibration_error, score_experts, score_labels

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


def test_a_tie_counts_half_and_unknown_truth_not_at_all():
    found = score_labels(np.array([1, -1, 0], dtype=np.int8), np.array([0.0, -1.0, 5.0]))
    assert found.accuracy == 0.75
    assert found.balanced_accuracy == 0.75
    assert np.isnan(found.log_loss)


def test_one_class_has_no_auc():
    found = score_labels(np.ones(3, dtype=np.int8), np.array([1.0, 2.0, -1.0]))
    assert np.isnan(found.auc)
    assert np.isnan(found.balanced_accuracy)


def test_hit_rate_and_precision():
    assert score_experts([0, 1, 7], [0, 1, 2, 3]) == (0.5, pytest.approx(2 / 3))
    assert np.isnan(score_experts([], [1]).precision)
    assert score_experts([], [1]).hit_rate == 0


def test_calibration_error_by_hand():
    truth = np.array([1, 1, -1, -1], dtype=np.int8)
    assert calibration_error(truth, np.array([0.95, 0.95, 0.05, 0.05])) == pytest.approx(0.05)
    assert calibration_error(truth, np.array([0.95, 0.05, 0.95, 0.05])) == pytest.approx(0.45)
    assert calibration_error(truth, np.array([1.0, 1.0, 0.0, 0.0])) == 0


def test_wilsons_interval_solves_its_equation_and_stays_within_0_and_1():
    """Both bounds b have |share - b| = 1.96 sqrt(b (1 - b) / n)."""
    for share, n in ((0.5, 4), (0.9, 40), (0.2, 1000)):
        for bound in bound_frequency(share, n):
            assert abs(share - bound) == pytest.approx(1.959964 * (bound * (1 - bound) / n) ** 0.5)
    assert bound_frequency(0.0, 5)[0] == 0
    assert bound_frequency(1.0, 5)[1] == 1
