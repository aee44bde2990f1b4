import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from unelisa.phenotyping.posterior import Calibration, expected_ppv, reviewed_ppv


def test_calibration_keeps_the_prevalence():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 5, 3000)
    chances = rng.random(3000)
    found = expit(Calibration.learn(scores, chances).log_odds(scores))
    assert found.mean() == pytest.approx(chances.mean(), abs=1e-6)


def test_reviewed_charts_move_the_intercept_only():
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2, 5000)
    case = rng.random(5000) < expit(scores - 2)
    signs = np.where(case, 1, -1).astype(np.int8)
    signs[400:] = 0
    moved = Calibration(0.0, 1.0).shift(scores, signs)
    assert moved.slope == 1
    assert moved.intercept == pytest.approx(-2, abs=0.3)
    one = np.where(np.arange(5000) == 0, signs, 0)
    assert abs(Calibration(0.0, 1.0).shift(scores, one).intercept) < 1


def test_intervals_of_the_share_of_true_cases():
    signs = np.array([1] * 18 + [-1] * 2 + [0] * 30, dtype=np.int8)
    found = reviewed_ppv(signs, np.ones(50, dtype=bool))
    wilson = binomtest(18, 20).proportion_ci(method="wilson")
    assert found[:3] == pytest.approx((0.9, wilson.low, wilson.high), abs=1e-6)
    assert found.basis == "20 reviewed charts"
    coins = expected_ppv(np.full(100, 0.8), np.ones(100, dtype=bool))
    assert coins[:3] == pytest.approx((0.8, 0.8 - 1.96 * 0.04, 0.8 + 1.96 * 0.04), abs=1e-4)
    nobody = np.zeros(50, dtype=bool)
    assert reviewed_ppv(signs, nobody) is None
    assert expected_ppv(np.full(50, 0.8), nobody)[1:3] == (0, 1)
