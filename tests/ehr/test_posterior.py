import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from unelisa.ehr.charts import ReviewedCharts
from unelisa.ehr.posterior import (
    MISSED,
    MODEL,
    Adjustment,
    Calibration,
    Estimate,
    Review,
    allow_for_unseen,
    bound_silent,
    doubt_ppv,
    expect_performance,
    judge_strictly,
    match_share,
    review_performance,
    review_share,
    share_errors,
)


def test_calibration_keeps_the_prevalence_and_the_order_of_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 5, 3000)
    chances = rng.random(3000)
    found = expit(Calibration.learn(scores, chances).log_odds(scores))
    assert found.mean() == pytest.approx(chances.mean(), abs=1e-6)
    scores = np.linspace(-3, 3, 200)
    found = Calibration.learn(scores, expit(-scores))
    assert found.slope == 0
    assert expit(found.intercept) == pytest.approx(0.5)


@pytest.mark.parametrize(("shift", "factor"), [(-2.0, 1.0), (-1.0, 0.6)])
def test_reviewed_charts_move_and_stretch_the_log_odds(shift, factor):
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2, 20_000)
    case = rng.random(20_000) < expit(Adjustment(shift, factor).apply(scores))
    signs = np.where(case, 1, -1).astype(np.int8)
    signs[8000:] = 0
    found = Review.learn(scores, signs)
    assert found.adjustment == (pytest.approx(shift, abs=0.25), pytest.approx(factor, abs=0.15))
    share = found.estimate_share(scores, 8000)
    assert share.low < case.mean() < share.high
    one = Review.learn(scores, np.where(np.arange(20_000) == 0, signs, 0)).adjustment
    assert abs(one.shift) < 1.5
    none = Review.learn(scores, np.zeros(20_000, dtype=np.int8)).adjustment
    assert (none.shift, none.factor) == (0, 1)


def test_charts_of_likely_cases_leave_unlikely_ones_and_the_order_of_patients_alone():
    """Charts of flagged patients alone once made cases of thousands who have no record."""
    odds = np.repeat([3.0, 0.0, -7.0], [40, 20, 5000])
    signs = np.zeros(len(odds), dtype=np.int8)
    signs[:60] = np.where(np.arange(60) % 3, -1, 1)  # P was .95 and .5; a third are cases
    found = Review.learn(odds, signs).adjustment.apply(np.linspace(-20, 20, 999))
    assert (np.diff(found) > 0).all()
    corrected = expit(Review.learn(odds, signs).adjustment.apply(np.array([3.0, -7.0])))
    assert corrected[0] < 0.6
    assert corrected[1] == pytest.approx(expit(-7), abs=0.001)


def test_a_ppv_without_charts_allows_for_an_error_that_anchors_share():
    told = Estimate(0.95, 0.9, 0.99, MODEL)
    copied, rare = (
        doubt_ppv(told, flagged, cases, share_errors(0.7), None)
        for flagged, cases in ((0.27, 0.2), (0.03, 0.01))
    )
    assert copied.low == pytest.approx(1 - share_errors(0.7) * 0.8 / 0.27)
    assert copied.high == pytest.approx(0.995)  # half of the errors that were allowed
    assert rare.low == 0  # nothing can be said
    stated = doubt_ppv(told, 0.03, 0.01, share_errors(0.7), (0.009, 0.011))
    assert (stated.low, stated.high) == (pytest.approx(0.4 * 0.3), 0.95)


def test_cases_without_any_record_are_no_more_than_the_features_allow():
    shown = np.repeat([0.99, 0.01], [1000, 9000])
    silent = shown < 0.5
    apart, alike = np.where(silent, -1.0, 1.0), np.zeros(10_000)
    assert bound_silent(shown, apart, silent) < 0.01
    assert bound_silent(shown, alike, silent) == 1
    shift = match_share(np.zeros(5), (0.0, 0.1))
    assert expit(shift) == pytest.approx(0.1)
    assert match_share(np.zeros(5), (0.4, 0.6)) == 0


def test_intervals_by_reviewed_charts_are_wilsons_and_need_ten_of_them():
    right = np.array([True] * 18 + [False] * 2)
    everybody = np.ones(20, dtype=bool)
    charts = ReviewedCharts(
        np.where(right, 1, -1).astype(np.int8), (0, 1), np.ones(20), np.zeros(20)
    )
    found = review_share(charts, everybody, 1)
    wilson = binomtest(18, 20).proportion_ci(method="wilson")
    assert found[:3] == pytest.approx((0.9, wilson.low, wilson.high), abs=1e-6)
    assert found.basis == "20 reviewed charts"
    assert review_share(charts, np.arange(20) < 9, 1) is None
    doubted = review_share(charts._replace(errors=np.full(20, 0.03)), everybody, 1)
    assert (doubted.low, doubted.high) == pytest.approx(
        (found.low - 0.03, min(1, found.high + 0.03))
    )
    unequal = review_share(charts._replace(weights=np.r_[np.ones(18), [3, 3]]), everybody, 1)
    assert unequal.value == pytest.approx(18 / 24)
    assert unequal.high - unequal.low > found.high - found.low


def test_the_model_s_intervals_cover_the_alternatives():
    flagged, chances = np.arange(200) < 100, np.where(np.arange(200) < 100, 0.8, 0.1)
    alone = expect_performance(chances, flagged, [], chances)
    assert alone.ppv[:3] == pytest.approx((0.8, 0.8 - 1.96 * 0.04, 0.8 + 1.96 * 0.04), abs=1e-4)
    rivals = [np.full(200, 0.5)]
    assert expect_performance(chances, flagged, rivals, chances).ppv.low < 0.5 < alone.ppv.low
    assert alone.npv.value == pytest.approx(0.9)
    assert alone.npv.low < 1 - MISSED * 0.1
    assert alone.sensitivity.value == pytest.approx(80 / 90)
    assert alone.sensitivity.low < 80 / (80 + MISSED * 10)
    assert alone.npv.high == alone.sensitivity.high == 1
    nobody = expect_performance(chances, np.zeros(200, dtype=bool), rivals, chances)
    assert nobody.ppv[1:3] == (0, 1)
    assert nobody.ppv.basis == "no patient"


def test_charts_of_both_sides_give_the_sensitivity():
    flagged = np.arange(1000) < 200
    signs = np.zeros(1000, dtype=np.int8)
    signs[:40] = np.where(np.arange(40) < 36, 1, -1)  # 90 % of the flagged are cases
    signs[200:300] = np.where(np.arange(100) < 5, 1, -1)  # and 5 % of the others
    expected = expect_performance(np.full(1000, 0.3), flagged, [], np.full(1000, 0.3))
    charts = ReviewedCharts(signs, (0, 1), np.ones(1000), np.zeros(1000))
    found = review_performance(charts, flagged, expected)
    assert found.sensitivity.value == pytest.approx(0.2 * 0.9 / (0.2 * 0.9 + 0.8 * 0.05))
    assert found.sensitivity.low < found.sensitivity.value < found.sensitivity.high
    assert found.npv.basis == "100 reviewed charts"
    one_side = np.where(flagged, signs, 0).astype(np.int8)
    half = review_performance(charts._replace(signs=one_side), flagged, expected)
    assert half.ppv == found.ppv
    assert half[1:] == expected[1:]


def test_other_features_bound_false_and_unseen_cases():
    shown, blind = np.array([0.02, 0.02, 0.9]), np.array([0.01, 0.6, 0.6])
    found = allow_for_unseen(shown, blind, 0.0)
    assert found[1] - shown[1] > 10 * (found[0] - shown[0]) > 0
    assert found[2] < 1
    assert (allow_for_unseen(shown, blind, 0.5) < found).all()
    assert (allow_for_unseen(shown, blind, 1.0) == shown).all()
    rng = np.random.default_rng(0)
    shown = np.repeat([0.0, 1.0], [20_000, 4000])
    false = np.repeat([True, False], [21_000, 3000])  # 1,000 of the 4,000 shown
    others = rng.normal(np.where(false, 0, 4), 1)
    strict, doubtful = judge_strictly(shown, others)
    assert 0.2 < doubtful < 0.3
    assert abs(strict.sum() - 3000) < 250
    assert strict[false & (shown > 0)].mean() < 0.2
    assert strict[~false].mean() > 0.9
    shown = expit(np.linspace(-8, 8, 1000))
    strict, doubtful = judge_strictly(shown, np.zeros(1000))
    assert doubtful == 1
    assert np.allclose(strict, 0)


def test_rounding_errors_split_no_ties():
    """Many patients have none of the other features; noise of 1e-13 once moved prevalences."""
    rng = np.random.default_rng(0)
    shown, others = rng.random(5000), np.round(rng.normal(size=5000), 1)
    noisy = others * (1 + 1e-13 * rng.normal(size=5000))
    (strict, doubtful), (again, same) = (judge_strictly(shown, one) for one in (others, noisy))
    assert doubtful == pytest.approx(same, rel=1e-12)
    assert strict == pytest.approx(again, rel=1e-12)
    silent = shown < 0.4
    bounds = [bound_silent(shown, one, silent) for one in (others, noisy)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)
