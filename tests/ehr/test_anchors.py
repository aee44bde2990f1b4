import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit
from scipy.stats import nbinom

from unelisa.ehr.anchors import ClassCounts, fit_anchors


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


def naive_ratios(anchor, most, use):
    """Log ratios at the counts 0 to `most` by scipy, held at the turn where they would fall."""
    counts = np.arange(20 * most + 200)
    others, cases = (
        nbinom.logpmf(counts, k, k / (k + np.exp(a + anchor.slope * use)))
        for a, k in zip(anchor.levels, anchor.sizes, strict=True)
    )
    ratios = cases - others
    if anchor.sizes[1] < anchor.sizes[0]:
        return np.minimum.accumulate(ratios[::-1])[::-1][: most + 1]
    return np.maximum.accumulate(ratios)[: most + 1]


def test_log_odds_are_those_of_scipys_negative_binomial_held_where_they_would_fall():
    counts, log_use, _ = draw(200)
    model = fit(counts, log_use)
    use = log_use - model.mean_use
    odds = model.case_odds.level + model.case_odds.slope * use
    for j, found in enumerate(model.anchors):
        rows = zip(counts[:, j], use, strict=True)
        ratios = [naive_ratios(found, int(x), u)[int(x)] for x, u in rows]
        odds += model.discount * np.array(ratios)
    assert model.log_odds(counts, log_use) == pytest.approx(odds, rel=1e-8, abs=1e-8)


@given(
    levels=arrays(float, 2, elements=st.floats(-4, 4)),
    sizes=arrays(float, 2, elements=st.floats(0.05, 20)),
    use=st.floats(-3, 3),
)
def test_one_more_record_never_speaks_against_the_disease(levels, sizes, use):
    anchor = ClassCounts(levels, 0.5, sizes)
    counts = np.arange(400, dtype=np.float32)
    ratios = anchor.log_ratio(counts, np.full(400, use))
    assert np.isfinite(ratios).all()
    assert np.diff(ratios).min() >= -1e-9 * (1 + np.abs(ratios).max())


def test_dependent_anchors_count_less():
    rng = np.random.default_rng(0)
    case, log_use = rng.random(4000) < 0.2, np.full(4000, 3.0)
    severity = np.exp(rng.normal(0, 1, 4000))
    means = np.where(case, 9 * severity, 0.5)
    alike = rng.poisson(means[:, None], (4000, 3)).astype(np.float32)
    apart = rng.poisson(np.where(case, 9, 0.5)[:, None], (4000, 3)).astype(np.float32)
    assert fit(apart, log_use).discount > 0.95
    assert fit(alike, log_use).discount < 0.6
    assert fit(alike[:, :1], log_use).discount == 1


def test_log_odds_are_calibrated_and_known_patients_stay():
    counts, log_use, case = draw(40_000)
    chances = expit(fit(counts, log_use).log_odds(counts, log_use))
    for low in (0.1, 0.3, 0.5, 0.7):
        inside = (chances >= low) & (chances < low + 0.2)
        assert case[inside].mean() == pytest.approx(chances[inside].mean(), abs=0.05)
    counts, log_use, case = draw(2000)
    known = np.where(np.arange(2000) < 1000, np.where(case, 1, -1), 0).astype(np.int8)
    model = fit(counts, log_use, known=known)
    inverted = fit(counts, log_use, known=-known)
    assert model.prevalence == pytest.approx(case.mean(), abs=0.03)
    assert inverted.prevalence > model.prevalence + 0.1
    counts, log_use, case = draw(1000, share=0.03, level=0.5)
    found = [fit(counts, log_use, expected).prevalence for expected in (0.005, 0.03, 0.3)]
    assert found == sorted(found)
    assert found[1] == pytest.approx(case.mean(), rel=0.5)
