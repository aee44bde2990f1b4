import numpy as np
import pytest
from scipy.special import expit

from unelisa.report.prevalence import bound_prevalence


def test_known_truth_gives_the_binomial_interval():
    found = bound_prevalence(0.3, np.repeat([0.0, 1.0], [700, 300]))
    reach = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert found["low"] == pytest.approx(0.3 - reach, abs=1e-3)
    assert found["high"] == pytest.approx(0.3 + reach, abs=1e-3)


def test_undecided_items_widen_it():
    sure = bound_prevalence(0.5, np.repeat([0.0, 1.0], 50))
    open_ = bound_prevalence(0.5, np.repeat([0.2, 0.8], 50))
    assert open_["low"] < sure["low"] < sure["high"] < open_["high"]


def test_it_covers_the_share_19_times_in_20():
    rng, covered = np.random.default_rng(0), []
    for _ in range(300):
        truth = rng.random(400) < 0.3
        votes = np.where(rng.random((400, 3)) < 0.8, truth[:, None], ~truth[:, None]).sum(axis=1)
        evidence = (2 * votes - 3) * np.log(0.8 / 0.2)
        share = 0.3
        for _ in range(200):
            share = expit(evidence + np.log(share / (1 - share))).mean()
        found = bound_prevalence(share, expit(evidence + np.log(share / (1 - share))))
        covered.append(found["low"] <= 0.3 <= found["high"])
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("posteriors", [None, np.empty(0), np.full(9, 0.3), np.array([0.9, 0.9])])
def test_without_the_items_of_the_fit_there_is_no_interval(posteriors):
    assert bound_prevalence(0.3, posteriors) == {"share": 0.3, "low": None, "high": None}
