import numpy as np
import pytest
from scipy.special import log_expit

from unelisa.latent.consensus.coefficients import BRANCHES, MEMBERS, Coefficients

SIDES = np.array([[1.0, 1.0], [1.0, -1.0]])


def draw_counts(seed, n_rows=6, n_states=2):
    """Expected counts of no and yes per row and state."""
    return np.random.default_rng(seed).uniform(0, 40, (n_rows, 2, n_states))


def settle(said, states=SIDES, prior=BRANCHES, steps=40):
    """Coefficients after alternating steps of rows, and of center and spread."""
    found = Coefficients.first(len(said), prior, states.shape[1])
    for _ in range(steps):
        found = found.moved(said, states, 1, -np.inf).learned(said, prior)
    return found


def test_em_begins_with_rows_that_are_all_alike():
    for prior, parts in ((BRANCHES, 2), (BRANCHES, 3), (MEMBERS, 2)):
        first = Coefficients.first(4, prior, parts)
        assert np.array_equal(first.means, np.tile(prior.first[:parts], (4, 1)))
        assert first.divergence(np.ones(4, bool)) == pytest.approx(0)


@pytest.mark.parametrize("doubt", [0.0, 0.3, 1.0])
def test_tables_hold_the_expected_log_probability_of_an_answer(doubt):
    """E log P(no), E log P(yes) under N(m, C), by a fine grid."""
    mean, covariance = np.array([0.3, 1.0]), np.array([[0.2, 0.1], [0.1, 0.4]]) * doubt
    found = Coefficients(mean[None], covariance[None], np.zeros(2), np.ones(2)).tabulate(SIDES)
    grid = np.linspace(-8, 8, 4001)
    shares = np.exp(-(grid**2) / 2)
    for k, state in enumerate(SIDES):
        x = state @ mean + np.sqrt(state @ covariance @ state) * grid
        for said, sign in enumerate((-1, 1)):
            expected = (shares * log_expit(2 * sign * x)).sum() / shares.sum()
            assert found[0, said, k] == pytest.approx(expected, abs=2e-3)


def test_a_row_without_counts_goes_to_the_center_and_one_with_many_to_its_own_share():
    said = draw_counts(0)
    said[0] = 0
    said[1] = np.array([[100, 900], [900, 100]]) * 100  # says yes in 90 % where the truth is yes
    found = settle(said)
    assert found.means[0] == pytest.approx(found.center, abs=1e-6)
    assert found.covariances[0] == pytest.approx(np.diag(found.spread**2), abs=1e-6)
    assert found.means[1] == pytest.approx([0, np.log(9) / 2], abs=0.01)


def test_center_and_spread_are_those_of_the_rows_that_were_heard():
    rng = np.random.default_rng(1)
    b, a = rng.normal(-0.2, 0.4, 200), rng.normal(0.8, 0.3, 200)
    chances = 1 / (1 + np.exp(-2 * np.stack([b + a, b - a], axis=1)))
    said = np.stack([1 - chances, chances], axis=1) * 2000
    heard = settle(said)
    assert heard.center == pytest.approx([b.mean(), a.mean()], abs=0.02)
    assert heard.spread == pytest.approx([b.std(), a.std()], abs=0.03)
    idle = settle(np.concatenate([said, np.zeros((100, 2, 2))]))
    assert idle.center == pytest.approx(heard.center)
    assert idle.spread == pytest.approx(heard.spread)


def test_spreads_stay_within_their_bounds():
    states = np.array([[1.0, f0, u] for f0 in (1.0, -1.0) for u in (1.0, -1.0)])
    alike = np.tile(draw_counts(2, 1, 4), (30, 1, 1))
    assert np.all(settle(alike, states).spread >= BRANCHES.least)
    apart = np.random.default_rng(3).choice([1.0, 500.0], (30, 2, 4))
    assert settle(apart, states).spread[2] == BRANCHES.most[2]


def test_a_held_bias_has_center_zero():
    said = draw_counts(4)
    said[:, 1] += 50  # all say yes
    free = settle(said)
    assert free.center[0] > 0.1
    assert free.learned(said, BRANCHES, unbiased=True).center[0] == 0


def test_shifting_takes_a_part_of_the_mean_bias_weighted_by_votes():
    said, found = draw_counts(5), settle(draw_counts(5))
    votes = said.sum(axis=(1, 2))
    before = np.average(found.means[:, 0], weights=votes)
    for part in (0.5, 1.0):
        shifted = found.shifted(said, part)
        after = np.average(shifted.means[:, 0], weights=votes)
        assert after == pytest.approx((1 - part) * before)
        assert np.array_equal(shifted.means[:, 1], found.means[:, 1])


def test_divergence_is_that_of_two_gaussians():
    """KL(N(m, C) || N(mu, S)), dense linear algebra."""
    found = settle(draw_counts(6))
    on = np.array([True, False, True, True, False, True])
    expected, prior = 0.0, np.diag(found.spread**2)
    for mean, covariance in zip(found.means[on], found.covariances[on], strict=True):
        away = mean - found.center
        expected += np.trace(np.linalg.solve(prior, covariance)) - 2
        expected += away @ np.linalg.solve(prior, away)
        expected += np.log(np.linalg.det(prior) / np.linalg.det(covariance))
    assert found.divergence(on) == pytest.approx(expected / 2)


def test_turned_coefficients_say_the_same_on_the_other_side():
    found = settle(draw_counts(7))
    turned = found.turned()
    assert turned.tabulate(SIDES) == pytest.approx(found.tabulate(SIDES)[:, :, ::-1])
    assert turned.divergence(np.ones(6, bool)) == pytest.approx(found.divergence(np.ones(6, bool)))
    assert np.array_equal(turned.turned().means, found.means)


def test_rows_that_are_taken_out_say_nothing():
    rows = np.array([True] + [False] * 5)
    found = settle(draw_counts(8)).without(rows)
    assert found.tabulate(SIDES)[0] == pytest.approx(np.full((2, 2), np.log(0.5)))
    assert np.all(found.means[1:] != 0)


def test_steps_and_hyper_parameters_raise_the_bound():
    said, on = draw_counts(9), np.ones(6, bool)
    found, before = Coefficients.first(6, BRANCHES, 2), -np.inf
    for _ in range(30):
        for step in (
            lambda x: x.moved(said, SIDES, 1, -np.inf),
            lambda x: x.learned(said, BRANCHES),
        ):
            found = step(found)
            bound = (said * found.tabulate(SIDES)).sum() - found.divergence(on)
            bound += BRANCHES.log_density(found)
            assert bound >= before - 1e-8
            before = bound
