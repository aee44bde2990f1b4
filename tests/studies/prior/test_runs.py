import numpy as np
import pytest

from studies.prior.fits import fit_trust
from studies.prior.runs import (
    FITTED,
    TRIED,
    TRIED_TRUST,
    count_true,
    fit_all,
    fit_folds,
    read_sets,
    run_prior,
    score_chances,
)
from studies.prior.sets import fit_set, setting
from unelisa import LatentIsing
from unelisa.errors import ModelError
from unelisa.latent import prior

# one of the sets has a copy, which the default says
pytestmark = pytest.mark.filterwarnings("ignore:.*repeat each other vote for vote")


def ignore(*_):
    """Show no progress."""


@pytest.fixture(scope="module")
def fitted(truths):
    return [fit_set(one) for one in truths]


@pytest.fixture(scope="module")
def archive(truths):
    return run_prior(truths, ignore, alternatives=False)


def test_a_source_does_not_influence_the_numbers_it_is_labeled_with(fitted):
    first = fitted[0]
    classes = np.where(first.truth.classes >= 0, 1 - first.truth.classes, -1)
    other = first._replace(truth=first.truth._replace(classes=classes))
    before, after = fit_folds(fitted), fit_folds([other, *fitted[1:]])
    assert after["mint"] == before["mint"]
    assert after["post"] != before["post"]
    assert fit_all([other, *fitted[1:]]) != fit_all(fitted)


def test_sets_of_one_source_are_left_out_together(fitted):
    one = fitted[0].truth
    twin = fitted[0]._replace(truth=one._replace(one=one.one._replace(name="more coins")))
    folds = fit_folds([*fitted, twin])
    assert set(folds) == {"mint", "post", "park"}
    assert folds["mint"] == fit_folds(fitted)["mint"]


def test_every_set_is_labeled_with_the_numbers_of_the_other_sources(fitted, archive):
    folds = fit_folds(fitted)
    for one, row in zip(fitted, archive["sets"], strict=True):
        with setting(folds[one.source]):
            model = LatentIsing().fit(one.truth.votes)
            found = score_chances(model.predict_proba(one.truth.votes), one.truth.classes)
        assert (row["set"], row["source"]) == (one.name, one.source)
        assert (row["accuracy"], row["log_loss"]) == (found["accuracy"], found["log_loss"])
        assert row["expected"] == model.expected_accuracy_
        assert (row["low"], row["high"]) == model.expected_accuracy_interval_
        assert row["reliable"] == model.reliable_


def test_the_archive_holds_what_was_fitted_and_what_is_in_use(fitted, archive):
    assert set(archive["fitted"]) == set(archive["spread"]) == set(FITTED)
    found = fit_all(fitted)
    for name in FITTED:
        assert archive["fitted"][name] == pytest.approx(found[name], rel=1e-4)
        assert archive["values"][name] == pytest.approx(getattr(prior, name), rel=1e-4)
    assert set(archive["values"]) == {*FITTED, *TRIED, *TRIED_TRUST}
    assert archive["trials"] == archive["judged"] == []
    assert found.items() >= fit_trust(fitted, found).items()


def test_every_number_of_the_prior_is_on_the_page():
    named = {name for name in vars(prior) if name.isupper()}
    assert named == {*FITTED, *TRIED, *TRIED_TRUST}


def test_numbers_are_tried_with_all_sources_left_out(truths, fitted, monkeypatch):
    monkeypatch.setattr("studies.prior.runs.TRIED", {"CLASS_WEIGHT": (1.0,)})
    monkeypatch.setattr("studies.prior.runs.TRIED_TRUST", {"GATE": (0.0,), "GOLD_SPREAD": (1.0,)})
    monkeypatch.setattr("studies.prior.runs.GOLD", 12)
    asked = []
    found = run_prior(truths, lambda doing, n: asked.append((doing, n)), alternatives=True)
    before = prior.CLASS_WEIGHT, prior.GATE
    with setting({"CLASS_WEIGHT": 1.0}):
        other = [fit_set(one) for one in truths]
        folds = fit_folds(other)
        rows = []
        for one in other:
            with setting(folds[one.source]):
                chances = LatentIsing().fit(one.truth.votes).predict_proba(one.truth.votes)
            rows.append(score_chances(chances, one.truth.classes))
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


def test_small_numbers_keep_their_digits(truths, monkeypatch):
    monkeypatch.setattr("studies.prior.runs.TRIED", {"LEAST_CHANCE": (1.23456e-6,)})
    monkeypatch.setattr("studies.prior.runs.TRIED_TRUST", {})
    (tried,) = run_prior(truths, ignore, alternatives=True)["trials"]
    assert tried["value"] == 1.2346e-6


def test_true_shares_are_those_of_labeled_items(fitted):
    for one in fitted:
        classes = one.truth.classes
        shares = [(classes == k).sum() / (classes >= 0).sum() for k in range(classes.max() + 1)]
        assert count_true(one) == pytest.approx(shares)


def test_scores_are_over_the_items_with_known_truth():
    chances = np.array([[0.8, 0.2], [0.5, 0.5], [0.0, 1.0], [0.3, 0.7]])
    found = score_chances(chances, np.array([0, 1, 0, -1]))
    assert found["accuracy"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.5, 1e-3]).mean())


def test_sets_are_chosen_by_name(data):
    assert [one.one.name for one in read_sets(data, None)] == ["coins", "stamps", "birds"]
    with pytest.raises(ModelError, match=r"--sets must be one of .*, found 'shells'"):
        read_sets(data, ["coins", "shells"])
    with pytest.raises(ModelError, match="come from fewer than 3 sources"):
        read_sets(data, ["coins", "stamps"])
