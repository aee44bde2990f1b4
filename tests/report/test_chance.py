import numpy as np
import pytest

from unelisa.blocks import WholeTable
from unelisa.report.chance import measure_agreement


def _naive(values, weights):
    """The same sum over items and pairs, written out."""
    f = values.astype(float)
    voted = f != 0
    means = f.sum(axis=0) / np.maximum(voted.sum(axis=0), 1)
    g, v = np.where(voted, f - means, 0.0), 1 - means**2
    total = variance = 0.0
    for i in range(f.shape[0]):
        for s in range(f.shape[1]):
            for t in range(s):
                total += 2 * weights[s] * weights[t] * g[i, s] * g[i, t]
                both = voted[i, s] and voted[i, t]
                variance += 4 * both * (weights[s] * weights[t]) ** 2 * v[s] * v[t]
    return total / np.sqrt(variance)


def test_it_equals_its_slow_twin():
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 0, 1, 1], dtype=np.int8), (40, 5))
    weights = rng.normal(size=5)
    assert measure_agreement(WholeTable(values), weights).found == pytest.approx(
        _naive(values, weights)
    )


@pytest.mark.parametrize(("n", "p"), [(60, 10), (400, 40)])
def test_even_the_best_weights_on_noise_are_chance(n, p):
    caught = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.choice(np.array([-1, 1], dtype=np.int8), (n, p))
        best = np.linalg.eigh(np.cov(values, rowvar=False))[1][:, -1]
        caught.append(measure_agreement(WholeTable(values), best).found_in_noise)
    assert np.mean(caught) >= 0.9


def test_a_crowd_that_knows_is_no_chance(crowd):
    weights = np.array([1, 1, 1, 1, 1, 0, 0, -1, -1], dtype=float)
    agreement = measure_agreement(WholeTable(crowd[0].values), weights)
    assert not agreement.found_in_noise
    assert agreement.found > 3 * agreement.noise


def test_voters_who_never_vary_agree_by_chance():
    assert measure_agreement(WholeTable(np.ones((5, 3), dtype=np.int8)), np.ones(3)).found == 0
