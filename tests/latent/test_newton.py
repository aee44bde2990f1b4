import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive_latent
from unelisa.latent.joint import Joint, empty_network
from unelisa.latent.newton import RIDGE, Newton, no_penalty

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
        centre=square / 2,
        weight_precision=rng.random(N_VOTERS),
        weight_centre=rng.normal(size=N_VOTERS),
    )


def objective(values, network, penalty, posterior):
    edges = network.edges[np.triu_indices(N_VOTERS, 1)]
    l1, precision, centre = (square[np.triu_indices(N_VOTERS, 1)] for square in penalty[:3])
    prior = l1 @ np.abs(edges) + precision @ (edges - centre) ** 2 / 2
    prior += penalty.weight_precision @ (network.weights - penalty.weight_centre) ** 2 / 2
    return prior + naive_latent.expected_loss(values, *network[:3], posterior)


@settings(max_examples=60)
@given(VOTES, st.integers(0, 1000), st.booleans())
def test_given_the_posterior_no_round_raises_the_objective(values, seed, fit_fields):
    rng = np.random.default_rng(seed)
    joint = Joint(values, None, fit_fields=fit_fields)
    newton, penalty = Newton(joint, all_pairs()), make_penalty(rng)
    posterior = rng.random(len(values)).astype(np.float32)
    network = empty_network(N_VOTERS)._replace(weights=rng.normal(size=N_VOTERS))
    before = objective(values, network, penalty, posterior)
    for _ in range(4):
        network = newton.run(network, penalty, 1, posterior=posterior)
        after = objective(values, network, penalty, posterior)
        assert after <= before + 1e-5 * (1 + before)
        before = after


def test_many_rounds_end_where_no_direction_leads_down():
    rng = np.random.default_rng(0)
    values = rng.choice([-1, 0, 1], size=(60, N_VOTERS)).astype(np.int8)
    joint = Joint(values, None, fit_fields=True)
    posterior = rng.random(60).astype(np.float32)
    penalty = make_penalty(rng)
    network = Newton(joint, all_pairs(), tol=1e-7).run(
        empty_network(N_VOTERS), penalty, 60, posterior=posterior, rebuild=range(60)
    )
    least = objective(values, network, penalty, posterior)
    for _ in range(40):
        step = rng.normal(size=(N_VOTERS, N_VOTERS)) * 0.02
        nearby = network._replace(
            edges=network.edges + (step + step.T) * all_pairs(),
            fields=network.fields + 0.02 * rng.normal(size=N_VOTERS),
            weights=network.weights + 0.02 * rng.normal(size=N_VOTERS),
        )
        assert objective(values, nearby, penalty, posterior) > least - 1e-4


def test_hessians_are_second_differences_of_the_loss():
    rng = np.random.default_rng(1)
    values = rng.choice([-1, 0, 1], size=(50, N_VOTERS)).astype(np.int8)
    joint = Joint(values, None, fit_fields=True)
    network = empty_network(N_VOTERS)._replace(weights=rng.normal(size=N_VOTERS))
    posterior = rng.random(50).astype(np.float32)
    newton = Newton(joint, all_pairs())
    newton.refresh(network, posterior)
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

    square = newton._square(s) - RIDGE * 50 * np.eye(6)
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
        joint = Joint(values, None, fit_fields=False)
        newton = Newton(joint, np.zeros((N_VOTERS, N_VOTERS), bool))
        known = (truth > 0).astype(np.float32)
        fit = newton.run(empty_network(N_VOTERS), no_penalty(N_VOTERS), 8, posterior=known)
        newton.refresh(fit, known)
        weights.append(fit.weights)
    assert np.mean(weights) == pytest.approx(0.6, abs=0.02)
    assert newton.standard_errors().mean() == pytest.approx(np.std(weights), rel=0.15)


def test_a_hessian_of_many_partners_is_taken_from_a_part_of_the_items():
    values = np.random.default_rng(0).choice([-1, 1], size=(4000, 30)).astype(np.int8)
    joint = Joint(values, None, fit_fields=False)
    wide, narrow = Newton(joint, all_pairs(30)), Newton(joint, np.zeros((30, 30), bool))
    for newton in (wide, narrow):
        newton.refresh(empty_network(30), joint.even)
    assert wide.stride > 1
    assert wide._square(0)[-1, -1] == pytest.approx(narrow._square(0)[-1, -1], rel=0.01)
