import numpy as np
import pytest

from unelisa.latent.edges.slab import Slab, learn_edge_slab, learn_weight_slab


def test_an_edge_of_the_common_size_is_there_and_a_small_one_is_not():
    slab = Slab(0.5, 0.01)
    zero, positive, negative = slab.probabilities(np.array([0.0, 0.5, -0.5]), 0.15)
    assert zero[0] > 0.95
    assert positive[1] > 0.95
    assert negative[2] > 0.95


def test_the_expected_prior_has_the_gradient_of_the_expected_log_density():
    slab, x, spike = Slab(0.5, 0.04), np.array([-0.4, 0.1, 0.3]), 0.15
    zero, positive, negative = slab.probabilities(x, spike)
    wanted = -zero * x / 0.15**2 - positive * (x - 0.5) / 0.04 - negative * (x + 0.5) / 0.04
    precision, center = slab.expected_prior(x, spike)
    assert np.allclose(-precision * (x - center), wanted)


def test_size_and_shares_of_the_slab_are_learned_from_the_edges():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], size=100)
    edges = np.concatenate([signs * rng.normal(0.7, 0.08, 100), rng.normal(0, 0.05, 900)])
    slab = learn_edge_slab(edges, np.ones(1000))
    assert slab.size == pytest.approx(0.7, abs=0.03)
    for _ in range(20):
        slab = slab.updated(edges, np.ones(1000), 0.2 * slab.size)
    assert slab.size == pytest.approx(0.7, abs=0.03)
    assert slab.variance == pytest.approx((0.15 * 0.7) ** 2, rel=0.1)  # the floor, above .08^2
    assert slab.shares[0] == pytest.approx(0.9, abs=0.02)
    assert slab.shares[1] == slab.shares[2]


def test_without_any_edge_the_size_stays():
    slab = Slab(0.4, 0.05).updated(np.zeros(50), np.zeros(50), 0.08)
    assert slab.size == 0.4
    assert slab.shares[0] > 0.9
    assert learn_edge_slab(np.zeros(50), np.zeros(50)).size == 0.3


def test_experts_are_learned_from_the_weights():
    rng = np.random.default_rng(1)
    truth = np.concatenate([np.full(5, 0.8), np.full(3, -0.8), np.zeros(30)])
    errors = np.full(38, 0.1)
    weights = truth + errors * rng.normal(size=38)
    slab = learn_weight_slab(weights, errors)
    assert slab.size == pytest.approx(0.8, abs=0.1)
    assert np.array_equal(slab.expert_probabilities(weights, errors) > 0.5, truth != 0)


def test_an_uncertain_weight_is_shrunk_toward_the_common_size():
    slab = Slab(0.8, 0.04, (0.5, 0.25, 0.25))
    sure, unsure = slab.shrink(np.array([1.2, 1.2]), np.array([0.01, 0.6]))
    assert sure == pytest.approx(1.2, abs=0.01)
    assert unsure < 0.9


@pytest.mark.parametrize("n_voters", [1, 2, 3])
def test_few_voters_give_finite_slabs(n_voters):
    slab = learn_weight_slab(np.zeros(n_voters), np.full(n_voters, 50.0))
    assert np.all(np.isfinite([slab.size, slab.variance, *slab.shares]))
