import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, logit

from studies.prior import fits
from studies.prior.fits import (
    SAFETY,
    Labels,
    Outcome,
    find_quantile,
    fit_powers,
    fit_trust,
    measure_outcome,
    share_right,
    weigh_sets,
)
from studies.prior.sets import Fitted, fit_set
from unelisa import LatentIsing

# one of the sets has a copy, which the default says
pytestmark = pytest.mark.filterwarnings("ignore:.*repeat each other vote for vote")


@pytest.fixture(scope="module")
def fitted(truths):
    return [fit_set(one) for one in truths]


def mean_loss(fitted, powers):
    """The mean over sets of the mean log loss, written out."""
    losses = []
    for one in fitted:
        known = one.truth.classes >= 0
        table = np.maximum(one.chances, 1e-3) ** powers[0] * one.shares ** powers[1]
        table /= table.sum(axis=1, keepdims=True)
        losses.append(-np.log(table[known, one.truth.classes[known]]).mean())
    return np.mean(losses)


def test_fitted_powers_have_the_least_log_loss(fitted):
    found = fit_powers(fitted)
    powers = found["MODEL_POWER"], found["SHARE_POWER"]
    least = mean_loss(fitted, powers)
    for other in ((0.5, 0.5), (1, 0), (0, 1), (1, 1)):
        assert least < mean_loss(fitted, other)
    for step in ((0.05, 0), (-0.05, 0), (0, 0.05), (0, -0.05)):
        near = np.clip(np.add(powers, step), 0, 2)
        assert least <= mean_loss(fitted, near) + 1e-7


def test_the_gradient_of_the_log_loss_is_its_slope():
    rng = np.random.default_rng(1)
    logs = np.log(rng.dirichlet(np.ones(3), (2, 40)))
    labels = Labels(logs, rng.integers(0, 3, 40))
    for powers in rng.uniform(0, 2, (4, 2)):
        slope = approx_fprime(powers, lambda at: fits._miss(labels, at)[0], 1e-7)
        assert fits._miss(labels, powers)[1] == pytest.approx(slope, abs=1e-5)


def test_a_quantile_is_reached_by_its_share_of_the_weight():
    values = np.array([4.0, 1.0, 3.0, 2.0])
    assert find_quantile(values, np.ones(4), 0.75) == 3.0
    assert find_quantile(values, np.ones(4), 0.76) == 4.0
    assert find_quantile(values, np.ones(4), 1.0) == 4.0
    assert find_quantile(values, np.array([1.0, 7.0, 1.0, 1.0]), 0.7) == 1.0


def test_sources_count_equally():
    made = [make_fitted(source) for source in ("a", "b", "b", "b")]
    assert weigh_sets(made) == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])


class Named:
    """The part of a set that says where it comes from."""

    def __init__(self, source):
        self.name = self.source = source
        self.one = self


def make_fitted(source, told=True):
    return Fitted(Named(source), None, np.empty((0, 2)), np.empty((0, 2)), told=told)


def plant(monkeypatch, outcomes):
    """Let sets have stated outcomes; return them, each of a source of its own."""
    sets = [make_fitted(f"source {k}") for k in range(len(outcomes))]
    stated = {id(one): outcome for one, outcome in zip(sets, outcomes, strict=True)}

    def measure(one, _, weight):
        return stated[id(one)]._replace(weight=weight)

    monkeypatch.setattr(fits, "measure_outcome", measure)
    return sets


def draw_outcomes(noise, n=60):
    rng = np.random.default_rng(2)
    stated, depth = rng.uniform(0, 3, n), rng.uniform(2, 20, n)
    targets = -0.7 + 1.2 * stated + 2.0 / depth + noise * rng.standard_normal(n)
    many = 10**9  # items: half an item more does not matter
    return [
        Outcome(float(expit(target)), many, float(one), float(other), np.nan)
        for target, one, other in zip(targets, stated, depth, strict=True)
    ]


def test_a_planted_regression_is_found_and_lowered_for_safety(monkeypatch):
    found = fit_trust(plant(monkeypatch, draw_outcomes(noise=0.0)), {})
    assert found["ACCURACY"] == pytest.approx((-0.7 - SAFETY, 1.2, 2.0), abs=1e-5)
    # nothing is left, so the margins only bring the ends back to where they were
    assert found["BELOW"] == pytest.approx(-SAFETY, abs=1e-5)
    assert found["ABOVE"] == pytest.approx(SAFETY, abs=1e-5)
    assert found["TAIL"] == pytest.approx(-SAFETY, abs=1e-5)


def test_margins_are_quantiles_of_what_is_left_on_sources_left_out(monkeypatch):
    outcomes = draw_outcomes(noise=0.5)
    found = fit_trust(plant(monkeypatch, outcomes), {})
    design = np.array([[1, one.stated, 1 / one.depth] for one in outcomes])
    targets = np.array([one.target for one in outcomes])
    left = []
    for k in range(len(outcomes)):
        rest = np.arange(len(outcomes)) != k
        slopes = np.linalg.solve(design[rest].T @ design[rest], design[rest].T @ targets[rest])
        left.append(targets[k] - design[k] @ slopes)
    reach = np.sort(np.abs(left))[int(np.ceil(0.9 * 61)) - 1]
    assert found["BELOW"] + SAFETY == pytest.approx(reach)
    assert found["ABOVE"] - SAFETY == pytest.approx(reach)
    assert found["TAIL"] + SAFETY == pytest.approx(-np.sort(left)[5])


def test_sets_whose_votes_tell_nothing_are_left_out(monkeypatch):
    sets = plant(monkeypatch, draw_outcomes(noise=0.3))
    found = fit_trust(sets, {})
    assert fit_trust([*sets, make_fitted("noise", told=False)], {}) == found


def test_an_outcome_is_what_a_fit_says_and_how_right_it_is(fitted):
    powers = {"MODEL_POWER": 0.6, "SHARE_POWER": 0.3}
    for one in fitted:
        found = measure_outcome(one, powers, 0.5)
        table = np.maximum(one.chances, 1e-3) ** 0.6 * one.shares**0.3
        table /= table.sum(axis=1, keepdims=True)
        known = one.truth.classes >= 0
        right = (table.argmax(axis=1) == one.truth.classes)[known].mean()
        assert found.accuracy == pytest.approx(right)
        assert found.stated == pytest.approx(logit(table.max(axis=1).mean()))
        voted = one.truth.votes.values[:, one.reading.distinct] != 0
        assert found.depth == pytest.approx(voted.sum(axis=1)[voted.any(axis=1)].mean())
        assert (found.n, found.weight) == (int(known.sum()), 0.5)


def test_depth_and_statement_are_those_of_the_default(fitted):
    """So what is learned is what the default asks for; copies are one voter in both."""
    assert not fitted[1].reading.distinct.all()
    for one in fitted:
        found = measure_outcome(one, {}, 1.0)
        experience = LatentIsing().fit(one.truth.votes)._reading.experience
        assert found.depth == pytest.approx(experience.depth)
        first, second, third = fits.prior.ACCURACY
        center = first + second * found.stated + third / found.depth
        assert center == pytest.approx(experience.center)


def test_ties_count_their_share():
    logs = np.log([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    assert share_right(logs, np.array([0, 2, 1])) == pytest.approx((0.5 + 1 + 0) / 3)
