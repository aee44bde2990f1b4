import numpy as np
import pytest

from unelisa.latent.slab import EdgeSlab, WeightSlab, learn_weight_slab


def test_an_edge_of_the_common_size_is_there_and_a_small_one_is_not():
    slab = EdgeSlab(0.5, 0.01)
    absent, positive, negative = slab.chances(np.array([0.0, 0.5, -0.5]), 0.3)
    assert absent[0] > 0.95
    assert positive[1] > 0.95
    assert negative[2] > 0.95


def test_the_pull_has_the_slope_of_the_expected_log_density():
    slab, x, spike = EdgeSlab(0.5, 0.04), np.array([-0.4, 0.1, 0.3]), 0.3
    absent, positive, negative = slab.chances(x, spike)
    wanted = -absent * x / 0.15**2 - positive * (x - 0.5) / 0.04 - negative * (x + 0.5) / 0.04
    pull = slab.pull(x, spike)
    assert np.allclose(-pull.precision * (x - pull.centre), wanted)


def test_edges_teach_the_slab_its_size_and_shares():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], size=100)
    edges = np.concatenate([signs * rng.normal(0.7, 0.08, 100), rng.normal(0, 0.05, 900)])
    slab = EdgeSlab(0.4, 0.05)
    for _ in range(20):
        slab = slab.learned(edges, np.ones(1000), 0.2)
    assert slab.size == pytest.approx(0.7, abs=0.03)
    assert slab.variance == pytest.approx((0.15 * 0.7) ** 2, rel=0.1)  # the floor, above .08^2
    assert slab.shares[0] == pytest.approx(0.9, abs=0.02)
    assert slab.shares[1] == slab.shares[2]


def test_without_any_edge_the_size_stays():
    slab = EdgeSlab(0.4, 0.05).learned(np.zeros(50), np.zeros(50), 0.2)
    assert slab.size == 0.4
    assert slab.shares[0] > 0.9


def test_weights_teach_who_is_an_expert():
    rng = np.random.default_rng(1)
    truth = np.concatenate([np.full(5, 0.8), np.full(3, -0.8), np.zeros(30)])
    errors = np.full(38, 0.1)
    weights = truth + errors * rng.normal(size=38)
    slab = learn_weight_slab(weights, errors)
    assert slab.size == pytest.approx(0.8, abs=0.1)
    assert np.array_equal(slab.expert_chances(weights, errors) > 0.5, truth != 0)


def test_an_uncertain_weight_is_drawn_to_the_common_size():
    slab = WeightSlab(0.8, 0.04, (0.5, 0.25, 0.25))
    sure, unsure = slab.means(np.array([1.2, 1.2]), np.array([0.01, 0.6]))
    assert sure == pytest.approx(1.2, abs=0.01)
    assert unsure < 0.9


@pytest.mark.parametrize("n_voters", [1, 2, 3])
def test_few_voters_give_finite_slabs(n_voters):
    slab = learn_weight_slab(np.zeros(n_voters), np.full(n_voters, 50.0))
    assert np.all(np.isfinite([slab.size, slab.variance, *slab.shares]))
