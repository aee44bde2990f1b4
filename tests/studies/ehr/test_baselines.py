import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from studies.ehr.baselines import (
    BASELINES,
    DROPOUT,
    _poisson_mixture,
    _two_normals,
    score_rule,
)
from unelisa.analysis.scoring import score_labels
from unelisa.ehr.counts import read_counts


def test_baselines_find_the_disease(datamart):
    for name, baseline in BASELINES.items():
        scores = baseline(datamart.counts, datamart.anchor_places)
        assert score_labels(datamart.truth, scores).auc > 0.75, name
        assert 0.02 < (scores >= 0).mean() < 0.5, name


def test_two_normals_are_told_apart_with_utilization_taken_out():
    rng = np.random.default_rng(0)
    case, use = rng.random(20_000) < 0.3, rng.normal(0, 1, 20_000)
    values = 3.0 * case + 0.8 * use + rng.normal(0, 1, 20_000)
    found = _two_normals(values, use)
    assert found.share == pytest.approx(0.3, abs=0.02)
    assert found.means == pytest.approx((0, 3), abs=0.1)
    assert found.spread == pytest.approx(1, abs=0.05)
    bayes = expit(np.log(0.3 / 0.7) + 3 * (values - 0.8 * use - 1.5))
    assert np.abs(found.chances - bayes).mean() < 0.01
    ordered = np.sort(values - 0.8 * use)
    flat = np.zeros(20_000)
    assert _two_normals(ordered, flat).distance(ordered) < 1e-4


def test_a_poisson_mixture_is_told_apart():
    rng = np.random.default_rng(1)
    case, use = rng.random(10_000) < 0.25, rng.normal(0, 1, 10_000)
    counts = rng.poisson(np.where(case, 8.0, 1.0) * np.exp(0.5 * use)).astype(float)
    found = _poisson_mixture(counts, use)
    assert ((found > 0.5) == case).mean() > 0.94
    assert found.mean() == pytest.approx(0.25, abs=0.03)


def test_the_dropout_regression_is_what_hiding_values_gives():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3)) @ np.array([[1, 0.6, 0], [0, 1, 0.3], [0, 0, 1]])
    X -= X.mean(axis=0)
    z = X @ [1.0, -0.5, 0.2] + rng.normal(size=400)
    gram = X.T @ X
    exact = np.linalg.solve((1 - DROPOUT) * gram + DROPOUT * np.diag(np.diag(gram)), X.T @ z)
    many = np.tile(X, (500, 1))
    hidden = many * (rng.random(many.shape) >= DROPOUT)
    sampled = np.linalg.lstsq(hidden, np.tile(z, 500), rcond=None)[0]
    assert exact == pytest.approx(sampled, abs=0.03)


def test_a_rule_cuts_its_score_between_two_means():
    table = read_counts(pd.DataFrame({"a": [0, 0, 1, 50, 80]}))
    assert (score_rule(table, np.array([0])) > 0).tolist() == [False, False, False, True, True]
