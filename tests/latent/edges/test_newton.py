import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive_latent
from unelisa.latent.edges import newton as newton_module
from unelisa.latent.edges.likelihood import PseudoLikelihood, empty_network
from unelisa.latent.edges.newton import RIDGE, Newton, no_penalty

N_VOTERS = 5
VOTES = hnp.arrays(
    np.int8,
    st.tuples(st.integers(2, 40), st.just(N_VOTERS)),
    elements=st.sampled_from([-1, 0, 1]),
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
    monkeypatch.setattr(newton_module, "TOL", 1e-7)
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
