from dataclasses import replace

import numpy as np
import pytest

from unelisa.latent.potts.coefficients import BRANCHES, MEMBERS, ClassCoefficients, Setting

FORM = np.eye(3)
GRID = np.array([0.0, 0.5, 1.0])


def draw_counts(seed, n_rows=4, n_states=9):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, 5.0, (n_rows, 3, n_states))


def penalized(found, said, prior=BRANCHES):
    """The log-likelihood of expected counts, and the log density of the coefficients."""
    sharp = replace(
        found,
        field_variances=np.zeros_like(found.field_variances),
        weight_variances=np.zeros_like(found.weight_variances),
        own_variances=np.full_like(found.own_variances, 1e-12),
    )
    fit = (said * sharp.tabulate(FORM, GRID)).sum()
    fields, weights = found.fields - found.center, found.weights - found.weight_center
    terms = zip((fields, weights, found.own), found.spreads, strict=True)
    fit -= sum(((part / spread) ** 2).sum() / 2 for part, spread in terms)
    return fit - ((found.shared / prior.shared_spread) ** 2).sum() / 2


def test_chances_of_all_answers_add_up_to_one():
    found = ClassCoefficients.first(4, FORM, BRANCHES).moved(
        draw_counts(0), Setting(FORM, GRID, BRANCHES), 3
    )
    assert found.find_chances(FORM, 0.5).sum(axis=2) == pytest.approx(1)


def test_steps_raise_the_penalized_likelihood_until_it_is_highest():
    said, setting = draw_counts(1), Setting(FORM, GRID, BRANCHES)
    found = ClassCoefficients.first(4, FORM, BRANCHES)
    path = [penalized(found, said)]
    for _ in range(40):
        found = found.moved(said, setting, 1)
        path.append(penalized(found, said))
    assert np.all(np.diff(path) > -1e-6)
    rng = np.random.default_rng(0)
    for _ in range(5):
        nudged = replace(
            found,
            weights=found.weights + rng.normal(0, 0.05, 4),
            own=found.own + rng.normal(0, 0.05, found.own.shape),
            shared=found.shared + rng.normal(0, 0.05, (3, 3)),
        )
        assert penalized(nudged, said) < path[-1]


def test_members_have_no_confusions():
    said = draw_counts(2, n_states=3)
    setting = Setting(FORM, np.ones(1), MEMBERS)
    found = ClassCoefficients.first(4, FORM, MEMBERS).moved(said, setting, 5)
    assert not found.own.any()
    assert not found.shared.any()


def test_least_weight_bounds_every_weight():
    said = np.zeros((2, 3, 3))
    said[:, [1, 2, 0], [0, 1, 2]] = 100.0  # always another class than the true one
    setting = Setting(FORM, np.ones(1), BRANCHES)
    first = ClassCoefficients.first(2, FORM, BRANCHES)
    assert first.moved(said, setting, 8).weights.max() < 0
    assert first.moved(said, setting, 8, 0.4).weights == pytest.approx(0.4)


def test_voters_with_few_votes_stay_near_the_center():
    said = np.zeros((2, 3, 3))
    said[0, [0, 1, 2], [0, 1, 2]] = 300.0
    said[1, [0, 1, 2], [0, 1, 2]] = 1.0
    setting = Setting(FORM, np.ones(1), BRANCHES)
    found = ClassCoefficients.first(2, FORM, BRANCHES).moved(said, setting, 20)
    assert abs(found.weights[1] - 1.4) < abs(found.weights[0] - 1.4)
    assert found.weight_variances[1] > found.weight_variances[0]


def test_spreads_and_centers_follow_the_rows():
    first = ClassCoefficients.first(50, FORM, BRANCHES)
    rng = np.random.default_rng(3)
    weights = rng.normal(2.5, 0.6, 50)
    rows = replace(first, weights=weights, weight_variances=np.full(50, 1e-6))
    found = rows.learned(np.ones(50, dtype=bool), BRANCHES)
    assert found.weight_center == pytest.approx(weights.mean(), abs=0.05)
    assert found.spreads[1] == pytest.approx(weights.std(), abs=0.05)


def test_divergence_is_zero_for_the_prior_itself():
    first = ClassCoefficients.first(3, FORM, BRANCHES)
    assert first.divergence(np.ones(3, dtype=bool), BRANCHES) == pytest.approx(0, abs=1e-9)
    moved = first.moved(draw_counts(4, 3), Setting(FORM, GRID, BRANCHES), 3)
    assert moved.divergence(np.ones(3, dtype=bool), BRANCHES) > 1


def test_rows_without_votes_are_zero():
    first = ClassCoefficients.first(3, FORM, BRANCHES)
    found = first.without(np.array([True, False, False]))
    assert found.weights.tolist() == [0, 1.4, 1.4]
