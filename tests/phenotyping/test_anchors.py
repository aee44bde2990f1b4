import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import nbinom

from unelisa.phenotyping.anchors import fit_anchors


def draw(n=8000, share=0.2, seed=0, level=-0.5, slope_of_odds=0.0):
    """Two anchors of the model itself: size .8 for cases, .5 for others, slope .6."""
    rng = np.random.default_rng(seed)
    log_use = rng.normal(3, 1, n)
    use = log_use - log_use.mean()
    case = rng.random(n) < expit(np.log(share / (1 - share)) + slope_of_odds * use)
    counts = np.empty((n, 2), dtype=np.float32)
    for j, gap in enumerate((2.5, 3.0)):
        mean = np.exp(level + gap * case + 0.6 * use)
        size = np.where(case, 0.8, 0.5)
        counts[:, j] = rng.poisson(mean * rng.gamma(size, 1 / size))
    return counts, log_use, case


def fit(counts, log_use, expected=None, known=0):
    start = np.log1p(counts).sum(axis=1)
    return fit_anchors(counts, log_use, start, expected, np.full(len(counts), known))


def test_the_models_own_parameters_are_found():
    counts, log_use, case = draw(40_000, slope_of_odds=0.5)
    model = fit(counts, log_use)
    assert model.converged
    assert model.prevalence == pytest.approx(case.mean(), abs=0.02)
    assert model.case_odds.slope == pytest.approx(0.5, abs=0.1)
    for found, gap in zip(model.anchors, (2.5, 3.0), strict=True):
        assert found.slope == pytest.approx(0.6, abs=0.05)
        assert found.levels == pytest.approx([-0.5, gap - 0.5], abs=0.15)
        assert found.sizes == pytest.approx([0.5, 0.8], abs=0.1)


def test_log_odds_are_those_of_scipys_negative_binomial():
    counts, log_use, _ = draw(500)
    model = fit(counts, log_use)
    use = log_use - model.mean_use
    odds = model.case_odds.level + model.case_odds.slope * use
    for j, found in enumerate(model.anchors):
        levels = [
            nbinom.logpmf(counts[:, j], k, k / (k + np.exp(a + found.slope * use)))
            for a, k in zip(found.levels, found.sizes, strict=True)
        ]
        odds += levels[1] - levels[0]
    assert model.log_odds(counts, log_use) == pytest.approx(odds, rel=1e-8, abs=1e-8)
    parts = model.parts(counts, log_use).sum(axis=1)
    before = model.case_odds.level + model.case_odds.slope * use
    assert parts + before == pytest.approx(odds)


def test_log_odds_are_calibrated():
    counts, log_use, case = draw(40_000)
    chances = expit(fit(counts, log_use).log_odds(counts, log_use))
    for low in (0.1, 0.3, 0.5, 0.7):
        inside = (chances >= low) & (chances < low + 0.2)
        assert case[inside].mean() == pytest.approx(chances[inside].mean(), abs=0.05)


def test_known_patients_stay_what_they_are():
    counts, log_use, case = draw(2000)
    known = np.where(np.arange(2000) < 1000, np.where(case, 1, -1), 0).astype(np.int8)
    model = fit(counts, log_use, known=known)
    inverted = fit(counts, log_use, known=-known)
    assert model.prevalence == pytest.approx(case.mean(), abs=0.03)
    assert inverted.prevalence > model.prevalence + 0.1


def test_an_expected_prevalence_draws_the_estimate():
    counts, log_use, case = draw(1000, share=0.03, level=0.5)
    found = [fit(counts, log_use, expected).prevalence for expected in (0.005, 0.03, 0.3)]
    assert found == sorted(found)
    assert found[1] == pytest.approx(case.mean(), rel=0.5)
