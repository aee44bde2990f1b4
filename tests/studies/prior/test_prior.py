"""The numbers of the prior: how they are fitted, left out, tried and shown."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, logit

from studies.prior import fits, runs
from studies.prior.fits import SAFETY, Labels, Outcome, fit_powers, fit_trust, measure_outcome
from studies.prior.sets import Fitted, fit_set, setting
from unelisa import LatentIsing
from unelisa.latent import prior

# one of the sets has a copy, which the default says
pytestmark = pytest.mark.filterwarnings("ignore:.*repeat each other vote for vote")


def test_a_fit_is_that_of_the_default_before_it_is_averaged(truths):
    for one in truths:
        fitted = fit_set(one)
        assert (fitted.name, fitted.source, fitted.told) == (one.one.name, one.one.source, True)
        for chances in (fitted.chances, fitted.shares):
            assert chances.sum(axis=1) == pytest.approx(1)
        logs = prior.MODEL_POWER * np.log(np.maximum(fitted.chances, prior.LEAST_CHANCE))
        logs += prior.SHARE_POWER * np.log(fitted.shares)
        model = LatentIsing().fit(one.votes)
        expected = np.exp(fitted.reading.experience.factor * logs)
        expected /= expected.sum(axis=1, keepdims=True)
        assert model.predict_proba(one.votes) == pytest.approx(expected, abs=1e-9)


def test_values_are_restored_also_after_an_error():
    before = prior.REPEATS, prior.MODEL_POWER
    with setting({"REPEATS": 2.0, "MODEL_POWER": 0.1}):
        assert (prior.REPEATS, prior.MODEL_POWER) == (2.0, 0.1)
    assert before == (prior.REPEATS, prior.MODEL_POWER)
    with pytest.raises(ZeroDivisionError), setting({"REPEATS": 2.0, "MODEL_POWER": 0.1}):
        raise ZeroDivisionError
    assert before == (prior.REPEATS, prior.MODEL_POWER)


@pytest.fixture(scope="session")
def truths(listed_sets):
    """The sets with their true classes."""
    return runs.read_sets(listed_sets, None)


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


def test_fitted_powers_have_the_least_log_loss_and_its_slope(fitted):
    found = fit_powers(fitted)
    powers = found["MODEL_POWER"], found["SHARE_POWER"]
    least = mean_loss(fitted, powers)
    for other in ((0.5, 0.5), (1, 0), (0, 1), (1, 1)):
        assert least < mean_loss(fitted, other)
    for step in ((0.05, 0), (-0.05, 0), (0, 0.05), (0, -0.05)):
        near = np.clip(np.add(powers, step), 0, 2)
        assert least <= mean_loss(fitted, near) + 1e-7
    rng = np.random.default_rng(1)
    logs = np.log(rng.dirichlet(np.ones(3), (2, 40)))
    labels = Labels(logs, rng.integers(0, 3, 40))
    for powers in rng.uniform(0, 2, (4, 2)):
        slope = approx_fprime(powers, lambda at: fits._miss(labels, at)[0], 1e-7)
        assert fits._miss(labels, powers)[1] == pytest.approx(slope, abs=1e-5)


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


def test_outcomes_are_those_of_the_default(fitted):
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
    # so what is learned is what the default asks for; copies are one voter in both
    assert not fitted[1].reading.distinct.all()
    for one in fitted:
        found = measure_outcome(one, {}, 1.0)
        experience = LatentIsing().fit(one.truth.votes)._reading.experience
        assert found.depth == pytest.approx(experience.depth)
        first, second, third = fits.prior.ACCURACY
        center = first + second * found.stated + third / found.depth
        assert center == pytest.approx(experience.center)


def ignore(*_):
    """Show no progress."""


@pytest.fixture(scope="module")
def archive(truths):
    return runs.run_prior(truths, ignore, alternatives=False)


def test_sources_are_left_out_together_and_do_not_influence_their_numbers(fitted):
    one = fitted[0].truth
    twin = fitted[0]._replace(truth=one._replace(one=one.one._replace(name="more coins")))
    folds = runs.fit_folds([*fitted, twin])
    assert set(folds) == {"mint", "post", "park"}
    assert folds["mint"] == runs.fit_folds(fitted)["mint"]
    first = fitted[0]
    classes = np.where(first.truth.classes >= 0, 1 - first.truth.classes, -1)
    other = first._replace(truth=first.truth._replace(classes=classes))
    before, after = runs.fit_folds(fitted), runs.fit_folds([other, *fitted[1:]])
    assert after["mint"] == before["mint"]
    assert after["post"] != before["post"]
    assert runs.fit_all([other, *fitted[1:]]) != runs.fit_all(fitted)


def test_the_archive_labels_sets_with_the_numbers_of_other_sources(fitted, archive):
    folds = runs.fit_folds(fitted)
    for one, row in zip(fitted, archive["sets"], strict=True):
        with setting(folds[one.source]):
            model = LatentIsing().fit(one.truth.votes)
            found = runs.score_chances(model.predict_proba(one.truth.votes), one.truth.classes)
        assert (row["set"], row["source"]) == (one.name, one.source)
        assert (row["accuracy"], row["log_loss"]) == (found["accuracy"], found["log_loss"])
        assert row["expected"] == model.expected_accuracy_
        assert (row["low"], row["high"]) == model.expected_accuracy_interval_
        assert row["reliable"] == model.reliable_
    assert set(archive["fitted"]) == set(archive["spread"]) == set(runs.FITTED)
    found = runs.fit_all(fitted)
    for name in runs.FITTED:
        assert archive["fitted"][name] == pytest.approx(found[name], rel=1e-4)
        assert archive["values"][name] == pytest.approx(getattr(prior, name), rel=1e-4)
    assert set(archive["values"]) == {*runs.FITTED, *runs.TRIED, *runs.TRIED_TRUST}
    assert archive["trials"] == archive["judged"] == []
    assert found.items() >= fit_trust(fitted, found).items()


def test_every_number_is_on_the_page_and_scores_are_over_known_items():
    named = {name for name in vars(prior) if name.isupper()}
    assert named == {*runs.FITTED, *runs.TRIED, *runs.TRIED_TRUST}
    chances = np.array([[0.8, 0.2], [0.5, 0.5], [0.0, 1.0], [0.3, 0.7]])
    found = runs.score_chances(chances, np.array([0, 1, 0, -1]))
    assert found["accuracy"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.5, 1e-3]).mean())


def test_numbers_are_tried_with_all_sources_left_out(truths, fitted, monkeypatch):
    monkeypatch.setattr("studies.prior.runs.TRIED", {"CLASS_WEIGHT": (1.0,)})
    monkeypatch.setattr("studies.prior.runs.TRIED_TRUST", {"GATE": (0.0,), "GOLD_SPREAD": (1.0,)})
    monkeypatch.setattr("studies.prior.runs.GOLD", 12)
    asked = []
    found = runs.run_prior(truths, lambda doing, n: asked.append((doing, n)), alternatives=True)
    before = prior.CLASS_WEIGHT, prior.GATE
    with setting({"CLASS_WEIGHT": 1.0}):
        other = [fit_set(one) for one in truths]
        folds = runs.fit_folds(other)
        rows = []
        for one in other:
            with setting(folds[one.source]):
                chances = LatentIsing().fit(one.truth.votes).predict_proba(one.truth.votes)
            rows.append(runs.score_chances(chances, one.truth.classes))
    (tried,) = found["trials"]
    assert (tried["name"], tried["value"]) == ("CLASS_WEIGHT", 1.0)
    for score in ("accuracy", "log_loss"):
        assert tried[score] == pytest.approx(np.mean([row[score] for row in rows]))
    used, none, small, large = found["judged"]
    assert (used["name"], used["value"], none["value"]) == ("GATE", prior.GATE, 0.0)
    assert none["reliable"] == 0.0
    assert none["too_sure"] is None
    assert used["reliable"] == np.mean([row["reliable"] for row in found["sets"]])
    assert used["shares_held"] == np.mean([row["shares_held"] for row in found["sets"]])
    assert (small["value"], large["value"]) == (prior.GOLD_SPREAD, 1.0)
    assert small["log_loss"] != large["log_loss"]
    assert before == (prior.CLASS_WEIGHT, prior.GATE)
    assert sum(n for _, n in asked) == len(truths) * (2 + 1 + 2 + 2)
