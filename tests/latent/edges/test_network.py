"""The network: priors, likelihood and Newton steps, beside enumerations and slow sums."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive_latent
from unelisa.latent.edges import network as module
from unelisa.latent.edges.network import (
    RIDGE,
    Network,
    Newton,
    PseudoLikelihood,
    Slab,
    empty_network,
    learn_edge_slab,
    learn_weight_slab,
    no_penalty,
)
from unelisa.paper.ising import Ising
from unelisa.simulation.designs import sample_ising

N_VOTERS = 5


def make_network(rng):
    edges = np.triu(rng.normal(size=(N_VOTERS, N_VOTERS)) / 2, 1)
    edges += edges.T
    weights = rng.normal(size=N_VOTERS)
    return Network(edges, 0.5 * rng.normal(size=N_VOTERS), weights, 0.2, edges != 0)


def test_the_e_step_is_the_posterior_of_the_enumerated_model():
    rng = np.random.default_rng(0)
    network = make_network(rng)
    edges = np.zeros((N_VOTERS + 1, N_VOTERS + 1))
    edges[1:, 1:] = network.edges
    edges[0, 1:] = edges[1:, 0] = network.weights
    joint = Ising(np.append(network.field, network.biases), edges).joint()
    states = np.array(list(np.ndindex(*joint.shape[1:])))
    values = (2 * states - 1).astype(np.int8)
    low, high = (joint[truth][tuple(states.T)] for truth in (0, 1))
    found = PseudoLikelihood(values, np.zeros(1), fit_biases=True).posterior(network)
    assert np.allclose(found, high / (low + high), atol=1e-6)


def test_prior_odds_enter_as_a_field_and_the_marginal_loss_is_that_of_enumeration():
    values = np.zeros((3, N_VOTERS), np.int8)
    odds = np.array([-2.0, 0.0, 3.0])
    posterior = PseudoLikelihood(values, odds, fit_biases=False).posterior(empty_network(N_VOTERS))
    assert np.allclose(posterior, 1 / (1 + np.exp(-odds)))
    rng = np.random.default_rng(1)
    network = make_network(rng)
    values = rng.choice([-1, 0, 1], size=(30, N_VOTERS)).astype(np.int8)
    wanted = naive_latent.marginal_loss(values, *network[:4])
    found = PseudoLikelihood(values, np.zeros(1), fit_biases=True).marginal_loss(network)
    assert found == pytest.approx(wanted, rel=1e-5)


def test_the_field_settles_where_the_marginal_loss_is_least():
    rng = np.random.default_rng(2)
    truth = rng.choice([-1, 1], p=[0.35, 0.65], size=(2000, 1))
    chance = 1 / (1 + np.exp(-2 * 0.5 * truth))
    values = np.where(rng.random((2000, N_VOTERS)) < chance, 1, -1).astype(np.int8)
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=True)
    network = empty_network(N_VOTERS)._replace(weights=np.full(N_VOTERS, 0.5))
    predictors = likelihood.predictors(network.edges, network.biases)
    for _ in range(30):
        network = network._replace(field=likelihood.improve_field(network, predictors))
    least = likelihood.marginal_loss(network)
    assert network.field == pytest.approx(np.log(0.65 / 0.35) / 2, abs=0.08)
    for nearby in (-0.05, 0.05):
        assert likelihood.marginal_loss(network._replace(field=network.field + nearby)) > least


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_scores_of_independent_voters_are_standard_normal(missing):
    rng = np.random.default_rng(4)
    values = rng.choice([-1, 1], size=(800, 40)).astype(np.int8)
    values[rng.random(values.shape) < missing] = 0
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=False)
    scores = likelihood.score_pairs(likelihood.differentiate(empty_network(40)))
    upper = scores[np.triu_indices(40, 1)]
    assert abs(upper.mean()) < 0.1
    assert upper.std() == pytest.approx(1.0, abs=0.08)
    assert np.mean(np.abs(upper) > 1.96) == pytest.approx(0.05, abs=0.025)


def test_scores_of_pairs_at_the_true_network_are_standard_normal():
    edges = np.zeros((13, 13))
    for s in range(1, 12, 2):
        edges[s, s + 1] = edges[s + 1, s] = 0.8
    states = sample_ising(Ising(0.0, edges), 2000, random_state=0).states
    likelihood = PseudoLikelihood(states[:, 1:].astype(np.int8), np.zeros(1), fit_biases=False)
    network = empty_network(12)._replace(edges=edges[1:, 1:], support=edges[1:, 1:] != 0)
    scores = likelihood.score_pairs(likelihood.differentiate(network))
    upper = scores[np.triu_indices(12, 1)]
    assert upper.std() == pytest.approx(1.0, abs=0.3)
    assert np.abs(upper).max() < 4


VOTES = hnp.arrays(
    np.int8, st.tuples(st.integers(2, 40), st.just(N_VOTERS)), elements=st.sampled_from([-1, 0, 1])
)


def all_pairs(n_voters=N_VOTERS):
    return ~np.eye(n_voters, dtype=bool)


def make_penalty(rng):
    square = rng.random((N_VOTERS, N_VOTERS))
    square += square.T
    return no_penalty(N_VOTERS)._replace(
        l1=square,
        precision=square,
        center=square / 2,
        weight_precision=rng.random(N_VOTERS),
        weight_center=rng.normal(size=N_VOTERS),
    )


def objective(values, network, penalty, posterior):
    edges = network.edges[np.triu_indices(N_VOTERS, 1)]
    l1, precision, center = (square[np.triu_indices(N_VOTERS, 1)] for square in penalty[:3])
    prior = l1 @ np.abs(edges) + precision @ (edges - center) ** 2 / 2
    prior += penalty.weight_precision @ (network.weights - penalty.weight_center) ** 2 / 2
    return prior + naive_latent.expected_loss(values, *network[:3], posterior)


@settings(max_examples=40)
@example(np.ones((9, N_VOTERS), np.int8), 285, True)
@given(VOTES, st.integers(0, 1000), st.booleans())
def test_at_a_fixed_posterior_no_round_increases_the_objective(values, seed, fit_biases):
    rng = np.random.default_rng(seed)
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=fit_biases)
    newton, penalty = Newton(likelihood, all_pairs()), make_penalty(rng)
    posterior = rng.random(len(values)).astype(np.float32)
    network = empty_network(N_VOTERS)._replace(weights=rng.normal(size=N_VOTERS))
    before = objective(values, network, penalty, posterior)
    for _ in range(4):
        network = newton.run(network, penalty, 1, posterior=posterior).network
        after = objective(values, network, penalty, posterior)
        assert after <= before + 1e-5 * (1 + before)
        before = after


def test_many_rounds_end_at_the_minimum(monkeypatch):
    monkeypatch.setattr(module, "TOL", 1e-7)
    rng = np.random.default_rng(0)
    values = rng.choice([-1, 0, 1], size=(60, N_VOTERS)).astype(np.int8)
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=True)
    posterior = rng.random(60).astype(np.float32)
    penalty = make_penalty(rng)
    newton, start = Newton(likelihood, all_pairs()), empty_network(N_VOTERS)
    network = newton.run(start, penalty, 60, posterior=posterior, rebuild=range(60)).network
    least = objective(values, network, penalty, posterior)
    for _ in range(40):
        step = rng.normal(size=(N_VOTERS, N_VOTERS)) * 0.02
        nearby = network._replace(
            edges=network.edges + (step + step.T) * all_pairs(),
            biases=network.biases + 0.02 * rng.normal(size=N_VOTERS),
            weights=network.weights + 0.02 * rng.normal(size=N_VOTERS),
        )
        assert objective(values, nearby, penalty, posterior) > least - 1e-4


def test_hessians_are_second_differences_of_the_loss():
    rng = np.random.default_rng(1)
    values = rng.choice([-1, 0, 1], size=(50, N_VOTERS)).astype(np.int8)
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=True)
    network = empty_network(N_VOTERS)._replace(weights=rng.normal(size=N_VOTERS))
    posterior = rng.random(50).astype(np.float32)
    newton = Newton(likelihood, all_pairs())
    hessians = newton.hessians(likelihood.differentiate(network, posterior))
    s, step = 2, 1e-3
    rows = np.vstack([np.delete(values.T, s, axis=0), np.ones((1, 50))])

    def loss(direction):  # of voter s's regression alone
        predictors = np.zeros((N_VOTERS, 50), np.float32)
        predictors[s] = direction[:-1] @ rows
        alone = np.where(np.arange(N_VOTERS)[:, None] == s, values.T, 0)
        weights = network.weights + direction[-1] * (np.arange(N_VOTERS) == s)
        return sum(
            np.log1p(np.exp(-2 * f * (m + a))) * t + np.log1p(np.exp(-2 * f * (m - a))) * (1 - t)
            for f, m, a, t in zip(
                alone[s].astype(float),
                predictors[s].astype(float),
                np.full(50, weights[s]),
                posterior.astype(float),
                strict=True,
            )
            if f
        )

    square = hessians[s] - RIDGE * 50 * np.eye(6)
    for j, k in [(0, 0), (0, 1), (2, 4), (1, 5), (4, 5), (5, 5)]:
        u, v = np.eye(6)[j] * step, np.eye(6)[k] * step
        wanted = (loss(u + v) - loss(u - v) - loss(v - u) + loss(-u - v)) / (4 * step**2)
        assert square[j, k] == pytest.approx(wanted, abs=0.02 * 50**0.5)


def test_standard_errors_are_the_spread_over_repeated_votes():
    weights = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.choice([-1, 1], size=400)
        chance = 1 / (1 + np.exp(-2 * 0.6 * truth[:, None]))
        values = np.where(rng.random((400, N_VOTERS)) < chance, 1, -1).astype(np.int8)
        likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=False)
        newton = Newton(likelihood, np.zeros((N_VOTERS, N_VOTERS), bool))
        known = (truth > 0).astype(np.float32)
        fit = newton.run(empty_network(N_VOTERS), no_penalty(N_VOTERS), 8, posterior=known)
        weights.append(fit.network.weights)
    assert np.mean(weights) == pytest.approx(0.6, abs=0.02)
    assert newton.standard_errors(fit.hessians).mean() == pytest.approx(np.std(weights), rel=0.15)


def test_a_hessian_of_many_partners_is_taken_from_a_part_of_the_items():
    values = np.random.default_rng(0).choice([-1, 1], size=(4000, 30)).astype(np.int8)
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=False)
    wide, narrow = Newton(likelihood, all_pairs(30)), Newton(likelihood, np.zeros((30, 30), bool))
    at = likelihood.differentiate(empty_network(30))
    few, all_items = (newton.hessians(at)[0][-1, -1] for newton in (wide, narrow))
    assert wide.stride > 1
    assert few == pytest.approx(all_items, rel=0.01)


def test_an_edge_is_there_or_not_by_its_expected_prior():
    slab = Slab(0.5, 0.01)
    zero, positive, negative = slab.probabilities(np.array([0.0, 0.5, -0.5]), 0.15)
    assert zero[0] > 0.95
    assert positive[1] > 0.95
    assert negative[2] > 0.95
    slab = Slab(0.8, 0.04, (0.5, 0.25, 0.25))
    sure, unsure = slab.shrink(np.array([1.2, 1.2]), np.array([0.01, 0.6]))
    assert sure == pytest.approx(1.2, abs=0.01)
    assert unsure < 0.9
    slab, x, spike = Slab(0.5, 0.04), np.array([-0.4, 0.1, 0.3]), 0.15
    zero, positive, negative = slab.probabilities(x, spike)
    wanted = -zero * x / 0.15**2 - positive * (x - 0.5) / 0.04 - negative * (x + 0.5) / 0.04
    precision, center = slab.expected_prior(x, spike)
    assert np.allclose(-precision * (x - center), wanted)


def test_slabs_are_learned_from_edges_and_weights():
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
    rng = np.random.default_rng(1)
    truth = np.concatenate([np.full(5, 0.8), np.full(3, -0.8), np.zeros(30)])
    errors = np.full(38, 0.1)
    weights = truth + errors * rng.normal(size=38)
    slab = learn_weight_slab(weights, errors)
    assert slab.size == pytest.approx(0.8, abs=0.1)
    assert np.array_equal(slab.expert_probabilities(weights, errors) > 0.5, truth != 0)
    slab = Slab(0.4, 0.05).updated(np.zeros(50), np.zeros(50), 0.08)
    assert slab.size == 0.4
    assert slab.shares[0] > 0.9
    assert learn_edge_slab(np.zeros(50), np.zeros(50)).size == 0.3


@pytest.mark.parametrize("n_voters", [1, 2, 3])
def test_few_voters_give_finite_slabs(n_voters):
    slab = learn_weight_slab(np.zeros(n_voters), np.full(n_voters, 50.0))
    assert np.all(np.isfinite([slab.size, slab.variance, *slab.shares]))
