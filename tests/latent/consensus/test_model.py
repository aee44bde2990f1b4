import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.special import expit, log_expit

from latent.worlds import ballots_of, plain_crowd, run_of, tilted_crowd
from unelisa.latent.ballots import CERTAIN
from unelisa.latent.consensus.model import (
    STATES,
    Consensus,
    Factors,
    collect,
    fit_consensus,
    infer,
    share_votes,
    weigh_truth,
)
from unelisa.latent.consensus.tilt import fit_tilted, weigh_tilt

VOTES = arrays(
    np.int8,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
    elements=st.sampled_from([-1, 0, 1]),
)


def fit_plain(values, fields=None, **settings_):
    blocks = ballots_of(values, fields)
    return blocks, fit_consensus(blocks, share_votes, np.ones(values.shape[1]), **settings_)


@settings(max_examples=60)
@given(VOTES, st.floats(-3, 3))
def test_the_bound_never_falls(values, field):
    fields = np.linspace(-field, field, len(values))
    blocks, plain = fit_plain(values, fields)
    tilted = fit_tilted(blocks, plain)
    for model in (plain, tilted):
        rises = np.diff(model.objective)
        assert np.all(rises >= -1e-7 * np.abs(model.objective[1:]))
        assert np.all(np.isfinite(model.means))


def test_the_bound_never_falls_where_weights_are_held(crowd):
    _, model = fit_plain(crowd[0].values, least_weight=0.2)
    assert np.all(np.diff(model.objective) >= -1e-8 * np.abs(model.objective[1:]))
    assert model.weights.min() == pytest.approx(0.2)


def test_the_e_step_is_exact_for_known_voters():
    """Without doubt about the voters, enumeration over (f0, u) gives the same posterior."""
    rng = np.random.default_rng(1)
    values = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (40, 5))
    means, fields, rate = rng.normal(0, 1, (5, 3)), rng.normal(0, 1, 40), 0.4
    sure = Consensus(
        means, np.zeros((5, 3, 3)), np.zeros(3), np.ones(3), rate, np.empty(0), converged=True
    )
    ballots = run_of(values, fields)
    posterior, evidence, before = infer(ballots, sure.factors)
    joint = np.zeros((40, 4))
    for k, (f0, u) in enumerate(itertools.product((1, -1), repeat=2)):
        x = 2 * (means[:, 0] + means[:, 1] * f0 + means[:, 2] * u)
        joint[:, k] = (log_expit(values * x) * (values != 0)).sum(axis=1)
        joint[:, k] += log_expit(f0 * (rate + fields)) - np.log(2)
    total = np.logaddexp.reduce(joint, axis=1)
    assert evidence == pytest.approx(total)
    assert posterior == pytest.approx(np.exp(joint - total[:, None]))
    assert before == pytest.approx(expit(rate + fields))
    truth = np.logaddexp(joint[:, 0], joint[:, 1]) - np.logaddexp(joint[:, 2], joint[:, 3])
    assert weigh_truth(ballots, sure.factors) == pytest.approx(truth)
    tilt = np.exp(np.logaddexp(joint[:, 0], joint[:, 2]) - total) - 0.5
    assert weigh_tilt(ballots, sure.factors) == pytest.approx(tilt)


@pytest.mark.parametrize("doubt", [0.0, 0.3, 1.0])
def test_the_e_step_adds_the_expected_log_probability_of_votes(doubt):
    """E log P(f | x) under the voter's posterior, by a fine grid."""
    covariance = np.array([[0.2, 0.1], [0.1, 0.4]]) * doubt
    model = Consensus(
        np.array([[0.3, 1.0]]),
        covariance[None],
        np.zeros(2),
        np.ones(2),
        0.0,
        np.empty(0),
        converged=True,
    )
    effects, normalizers, _ = model.factors
    grid = np.linspace(-8, 8, 4001)
    shares = np.exp(-(grid**2) / 2)
    for k, state in enumerate(STATES[2]):
        x = state @ model.means[0] + np.sqrt(state @ covariance @ state) * grid
        expected = (shares * log_expit(2 * x)).sum() / shares.sum()
        assert effects[0, k] - normalizers[0, k] == pytest.approx(expected, abs=2e-3)


def test_missing_votes_leave_no_trace():
    values, _ = plain_crowd(1)
    more = np.insert(np.insert(values, 3, 0, axis=1), [0, 100], 0, axis=0)
    _, plain = fit_plain(values)
    blocks, padded = fit_plain(more)
    assert np.delete(padded.means, 3, axis=0) == pytest.approx(plain.means, abs=1e-9)
    assert padded.rate == pytest.approx(plain.rate, abs=1e-9)
    odds = blocks.concatenate(weigh_truth, padded.factors)
    assert odds[0] == pytest.approx(padded.rate)


def test_a_voter_with_three_votes_is_drawn_to_the_others():
    values, truth = plain_crowd(2, n_voters=12)
    few = np.zeros((300, 1), dtype=np.int8)
    few[:3, 0] = -truth[:3]  # wrong three times
    _, model = fit_plain(np.hstack([values, few]))
    assert abs(model.weights[-1] - model.center[1]) < 2 * model.spread[1]
    assert model.standard_errors[-1] > 2 * np.median(model.standard_errors[:-1])
    many = np.zeros((300, 1), dtype=np.int8)
    many[:150, 0] = -truth[:150]
    _, model = fit_plain(np.hstack([values, many]))
    assert model.weights[-1] < -0.5


def test_items_in_another_order_give_the_same():
    values, _ = plain_crowd(3)
    order = np.random.default_rng(0).permutation(len(values))
    (blocks, one), (_, other) = fit_plain(values), fit_plain(values[order])
    assert other.means == pytest.approx(one.means, abs=1e-6)
    odds = blocks.concatenate(weigh_truth, one.factors)
    mixed = ballots_of(values[order]).concatenate(weigh_truth, other.factors)
    assert mixed == pytest.approx(odds[order], abs=1e-5)


def test_fields_are_known_log_odds():
    values, truth = plain_crowd(4)
    values[:20] = 0
    fields = np.where(np.arange(300) < 20, 2.0 * truth, 0.0)
    blocks, model = fit_plain(values, fields)
    odds = blocks.concatenate(weigh_truth, model.factors)
    assert odds[:20] == pytest.approx(model.rate + fields[:20])
    certain = np.where(np.arange(300) == 50, -CERTAIN * truth, 0.0)
    blocks, model = fit_plain(values, certain)
    assert np.sign(blocks.concatenate(weigh_truth, model.factors)[50]) == -truth[50]


def test_the_class_rate_is_that_of_all_items_beyond_their_fields():
    """Fields that say all there is about the rate leave nothing to be learned."""
    values, truth = plain_crowd(5, n_items=2000, share=0.2)
    _, model = fit_plain(values)
    assert expit(model.rate) == pytest.approx(np.mean(truth > 0), abs=0.03)
    _, informed = fit_plain(values, np.full(2000, model.rate))
    assert informed.rate == pytest.approx(0, abs=0.05)


def test_sums_over_blocks_add_up():
    values, _ = plain_crowd(6)
    model = Consensus.first(np.tile([0.0, 0.7], (20, 1)))
    whole = ballots_of(values).sum(collect, model.factors, 20)
    parts = [
        ballots_of(part).sum(collect, model.factors, 20) for part in (values[:90], values[90:])
    ]
    for k in range(3):
        assert parts[0][k] + parts[1][k] == pytest.approx(whole[k])


def test_a_tilt_is_found_and_taken_out():
    values, truth = tilted_crowd(0)
    blocks, plain = fit_plain(values)
    tilted = fit_tilted(blocks, plain)
    right = [
        np.mean((blocks.concatenate(weigh_truth, model.factors) > 0) == (truth > 0))
        for model in (plain, tilted)
    ]
    assert right[1] > right[0] + 0.02
    assert tilted.means.shape[1] == 3


def test_turning_around_swaps_the_sides():
    values, _ = plain_crowd(7)
    blocks, model = fit_plain(values)
    odds = blocks.concatenate(weigh_truth, model.factors)
    turned = blocks.concatenate(weigh_truth, model.turned().factors)
    assert turned == pytest.approx(-odds)
    assert model.turned().coins == pytest.approx(model.coins[::-1])
    assert isinstance(model.factors, Factors)
    assert np.array_equal(model.states, STATES[2])
