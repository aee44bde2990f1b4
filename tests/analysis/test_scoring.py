import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    log_loss,
    precision_score,
    roc_auc_score,
)

from unelisa.analysis.scoring import (
    bound_frequency,
    calibration_error,
    score_classes,
    score_experts,
    score_labels,
)

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


K_TRUTH = RNG.integers(1, 5, 300).astype(np.int8)
K_CHANCES = RNG.dirichlet(np.ones(4), 300) + np.eye(4)[K_TRUTH - 1] * 0.4
K_CHANCES /= K_CHANCES.sum(axis=1, keepdims=True)


def test_figures_of_four_classes_equal_scikit_learn_s():
    found = score_classes(K_TRUTH, np.log(K_CHANCES), K_CHANCES, ordered=True)
    predicted = K_CHANCES.argmax(axis=1) + 1
    assert found.accuracy == pytest.approx(np.mean(predicted == K_TRUTH))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(K_TRUTH, predicted))
    assert found.macro_f1 == pytest.approx(f1_score(K_TRUTH, predicted, average="macro"))
    assert found.log_loss == pytest.approx(log_loss(K_TRUTH, K_CHANCES))
    assert found.mean_absolute_error == pytest.approx(np.abs(predicted - K_TRUTH).mean())


def test_macro_f1_counts_classes_that_were_only_predicted():
    truth, scores = np.array([1, 1, 2], dtype=np.int8), np.eye(4)[[0, 2, 1]]
    expected = f1_score([0, 0, 1], [0, 2, 1], average="macro", zero_division=0)
    assert score_classes(truth, scores).macro_f1 == pytest.approx(expected)


def test_a_tie_between_classes_counts_by_its_expectation():
    truth = np.array([1, 3, 0], dtype=np.int8)
    scores = np.array([[2.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 9.0, 0.0]])
    found = score_classes(truth, scores, ordered=True)
    assert found.accuracy == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.mean_absolute_error == pytest.approx((0.5 + (2 + 1 + 0) / 3) / 2)
    assert np.isnan(found.log_loss)
    assert np.isnan(found.calibration_error)
    assert np.isnan(score_classes(truth, scores).mean_absolute_error)


def test_two_columns_give_the_figures_of_two_classes():
    chance = 1 / (1 + np.exp(-SCORES))
    pair, codes = np.column_stack([1 - chance, chance]), np.where(TRUTH > 0, 2, 1).astype(np.int8)
    wide, plain = score_classes(codes, pair, pair), score_labels(TRUTH, SCORES, chance)
    assert wide.accuracy == pytest.approx(plain.accuracy)
    assert wide.balanced_accuracy == pytest.approx(plain.balanced_accuracy)
    assert wide.log_loss == pytest.approx(plain.log_loss)


def test_codes_beyond_127_wrap():
    truth = np.array([128, 200], dtype=np.uint8).view(np.int8)
    assert score_classes(truth, np.eye(200)[[127, 198]], ordered=True)[::5] == (0.5, 0.5)


def test_calibration_of_the_predicted_class_by_hand():
    truth, chances = np.array([1, 2], dtype=np.int8), np.array([[0.6, 0.2, 0.2], [0.65, 0.3, 0.05]])
    found = score_classes(truth, chances, chances)
    assert found.calibration_error == pytest.approx(abs(1 - 0.6 + 0 - 0.65) / 2)
    assert found.log_loss == pytest.approx(-(np.log(0.6) + np.log(0.3)) / 2)
