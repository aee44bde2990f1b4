"""Gold labels: what they decide and correct, beside slow computations and in simulations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax

from latent.worlds import ballots_of, echo, model_of, name_class, reading_of, run_of, sides
from unelisa.latent import gold as module
from unelisa.latent import prior as latent_prior
from unelisa.latent.consensus import ConsensusReading
from unelisa.latent.gold import (
    TURNED,
    Labeled,
    _list_labeled,
    fit_correction,
    follow_gold,
    match_prevalence,
)
from unelisa.latent.reading import TWO_READINGS, Caution, Correction
from unelisa.latent.trust import LEAST_LABELS, Checked


class OpenReading(ConsensusReading):
    """One whose sign is open, as in a graph."""

    sign_is_open = True


def crowd(seed, accuracies, n_items=600):
    """Independent voters, and the truth."""
    rng = np.random.default_rng(seed)
    truth = sides(rng, n_items)
    votes = [echo(rng, truth, accuracy) for accuracy in accuracies]
    return np.array(votes, dtype=np.int8).T, truth


def classes_crowd(seed, accuracies, n_classes=3, n_items=600):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    votes = [name_class(rng, truth, accuracy, n_classes) for accuracy in accuracies]
    return np.array(votes, dtype=np.int8).T + 1, truth


def labels(truth, chosen):
    """Gold labels as classes from 0 on some items, of sides or of classes."""
    known = np.full(len(truth), -1)
    known[chosen] = np.where(truth > 0, 1, 0)[chosen] if truth.min() < 0 else truth[chosen]
    return known


def trust_equally(n_voters, n_classes=2, weight=1.4, **more):
    return reading_of(
        model_of([weight] * n_voters, classes=np.full(n_classes, 1 / n_classes)), **more
    )


def follow(values, gold, reading, odds=None):
    return follow_gold(ballots_of(values, odds), gold, reading)


def told(reading):
    return [note.text for note in reading.notes]


def accuracy(reading, values, truth):
    chosen = reading.weigh(ballots_of(values)).argmax(axis=1)
    return np.mean(chosen == labels(truth, np.arange(len(truth))))


def log_loss(reading, values, truth, items):
    logs = reading.weigh(ballots_of(values))
    return -logs[items, labels(truth, items)[items]].mean()


def labeled_items(n_classes, n_items=60):
    """Labeled items, some with odds known besides the votes."""
    if n_classes == 2:
        values, truth = crowd(0, [0.8, 0.7, 0.6, 0.5], n_items)
        odds = np.random.default_rng(0).normal(size=n_items)
    else:
        values, truth = classes_crowd(0, [0.8, 0.7, 0.6, 0.5], n_classes, n_items)
        odds = np.random.default_rng(0).normal(size=(n_items, n_classes))
    values[::4, 1] = 0
    reading = reading_of(model_of([1.0, 0.5, 0.4, 0.7], classes=np.full(n_classes, 1 / n_classes)))
    run = run_of(values, odds)
    return _list_labeled(run, labels(truth, np.arange(n_items)), reading), reading, run


def cost(labeled: Labeled, x, spread):
    """What the correction minimizes, item by item; x is slope, offsets and weights."""
    n_classes, total = labeled.logs.shape[1], 0.0
    slope, offsets, weights = x[0], x[1 : 1 + n_classes], x[1 + n_classes :]
    for i, truth in enumerate(labeled.classes):
        odds = slope * labeled.logs[i] + offsets + labeled.known[i]
        odds += np.array([labeled.votes[k][[i]].toarray()[0] @ weights for k in range(n_classes)])
        total -= log_softmax(odds)[truth]
    total += ((slope - 1) ** 2 + (offsets**2).sum()) / latent_prior.GOLD_SPREAD**2 / 2
    return total + ((weights / spread) ** 2).sum() / 2 if spread else total


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_at_the_correction_the_gradient_vanishes(n_classes, spread):
    labeled, _, _ = labeled_items(n_classes)
    found = fit_correction(labeled, 4, spread)
    x = np.concatenate([[found.slope], found.offsets, found.votes])
    free = np.eye(len(x))[: len(x) if spread else 1 + n_classes]
    ends = np.array(
        [[cost(labeled, x + sign * 1e-4 * e, spread) for sign in (1, -1)] for e in free]
    )
    assert (ends[:, 0] - ends[:, 1]) / 2e-4 == pytest.approx(0, abs=0.02)
    assert found.votes.any() == bool(spread)
    assert cost(labeled, x, spread) < cost(labeled, np.eye(len(x))[0], spread) - 0.1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_correction_predicts_what_was_fitted_and_lowers_the_log_loss(n_classes):
    labeled, reading, run = labeled_items(n_classes)
    found = fit_correction(labeled, 4, 0.3)
    corrected = replace(reading, correction=found)
    assert corrected.weigh_run(run) == pytest.approx(labeled.predict(found))
    gains, right = [], []
    for seed in range(5):
        values, truth = biased_crowd(seed, n_classes)
        reading, rest = trust_equally(5, n_classes), np.arange(100, 800)
        found, _ = follow(values, labels(truth, np.arange(100)), reading)
        gains.append(log_loss(reading, values, truth, rest) - log_loss(found, values, truth, rest))
        right.append(accuracy(found, values, truth) - accuracy(reading, values, truth))
    assert np.mean(gains) > 0.05
    assert np.mean(right) > 0.02


def test_clear_labels_against_the_voters_swap_the_sides():
    values, truth = crowd(0, [0.8] * 7)
    reading = trust_equally(7)
    mixed = np.r_[np.flatnonzero(truth > 0)[:3], np.flatnonzero(truth < 0)[:3]]
    agreeing, _ = follow(values, labels(truth, mixed), reading)
    against, _ = follow(values, labels(-truth, mixed), reading)
    assert agreeing is reading
    assert told(against) == [TURNED]
    assert accuracy(against, values, -truth) == accuracy(reading, values, truth) > 0.9


def test_one_label_swaps_nothing_but_decides_a_sign_that_is_open():
    values, truth = crowd(0, [0.8] * 7)
    reading, sure = trust_equally(7), np.flatnonzero(values.sum(axis=1) == 7 * truth)[:1]
    assert follow(values, labels(-truth, sure), reading)[0] is reading
    reading = trust_equally(7, kind=OpenReading)
    unsure = np.flatnonzero(values.sum(axis=1) == truth)[:1]
    for side in (1, -1):
        found, _ = follow(values, labels(side * truth, unsure), reading)
        assert told(found) == []
        assert accuracy(found, values, side * truth) > 0.9
    values, truth = classes_crowd(0, [0.8] * 7)
    reading = trust_equally(7, 3)
    assert follow(values, labels(2 - truth, np.arange(9)), reading)[0] is reading


@pytest.mark.parametrize("n_labels", [LEAST_LABELS - 1, LEAST_LABELS])
def test_ten_labels_choose_between_readings(n_labels):
    rng = np.random.default_rng(3)
    truth, cue = sides(rng, 800), sides(rng, 800)
    values = np.array([echo(rng, side, 0.9) for side in [cue] * 5 + [truth] * 5], dtype=np.int8).T
    rival = reading_of(model_of([0.0] * 5 + [2.0] * 5), structure="rival")
    doubt = Caution(f"{TWO_READINGS}: of which one is not known")
    model = model_of([2.0] * 5 + [0.0] * 5)
    reading = reading_of(model, others=(rival,), coherence=0.4, reasons=(doubt,))
    found, _ = follow(values, labels(truth, np.arange(n_labels)), reading)
    kept, _ = follow(values, labels(cue, np.arange(n_labels)), reading)
    many = n_labels >= LEAST_LABELS
    assert found.structure == ("rival" if many else "ease")
    assert [one.structure for one in found.others] == ([] if many else ["rival"])
    assert found.two_readings == (not many)
    assert (kept.structure, found.coherence) == ("ease", 0.4)
    if many:
        assert accuracy(found, values, truth) > 0.85


def test_another_reading_must_be_clearly_better():
    values, truth = crowd(0, [0.8] * 7)
    rival = trust_equally(7, weight=1.5)
    reading = trust_equally(7, weight=1.4, others=(rival,))
    found, _ = follow(values, labels(truth, np.arange(20)), reading)
    assert found.others == (rival,)


def test_where_another_readings_other_side_is_chosen_all_sides_are_swapped():
    rng = np.random.default_rng(3)
    truth, cue = sides(rng, 800), sides(rng, 800)
    values = np.array([echo(rng, side, 0.9) for side in [cue] * 5 + [truth] * 5], dtype=np.int8).T
    near = [
        reading_of(model_of([0.0] * 5 + [weight] * 5), structure="rival") for weight in (2, 1.9)
    ]
    reading = reading_of(model_of([2.0] * 5 + [0.0] * 5), others=tuple(near))
    found, _ = follow(values, labels(-truth, np.arange(40)), reading)
    assert (found.structure, told(found)) == ("rival", [TURNED])
    first = found.others[0].score(ballots_of(values))
    assert first == pytest.approx(-reading.score(ballots_of(values)))


def biased_crowd(seed, n_classes, n_items=800):
    """Voters who name the last class too often, all of them: the votes cannot tell."""
    rng = np.random.default_rng(seed)
    values, truth = classes_crowd(seed, [0.8] * 5, n_classes, n_items)
    values = np.where(rng.random(values.shape) < 0.35, n_classes, values)
    if n_classes == 2:
        return (2 * values - 3).astype(np.int8), 2 * truth - 1
    return values.astype(np.int8), truth


def test_voters_are_judged_anew_but_prior_odds_not_learned_again():
    values, truth = crowd(5, [0.95, 0.95, 0.55, 0.55, 0.55])
    reading = reading_of(model_of([0.2, 0.2, 1.5, 1.5, 1.5]))
    found, _ = follow(values, labels(truth, np.arange(150)), reading)
    assert found.correction.votes[:2].min() > found.correction.votes[2:].max()
    assert accuracy(found, values, truth) > accuracy(reading, values, truth) + 0.1
    # what a prior explains needs no vote
    values, truth = crowd(11, [0.5] * 5)
    found, _ = follow(
        values, labels(truth, np.arange(100)), trust_equally(5, weight=0.01), 3.0 * truth
    )
    assert np.abs(found.correction.votes).max() < 0.3
    assert np.abs(found.correction.offsets).max() < 0.5


@pytest.mark.parametrize("n_labels", [10, 50])
def test_labels_do_no_harm(n_labels):
    values, truth = crowd(6, [0.75] * 9)
    reading, everything = trust_equally(9, weight=2.2), np.arange(600)
    losses = []
    for seed in range(8):
        chosen = np.random.default_rng(seed).choice(600, n_labels, replace=False)
        found, _ = follow(values, labels(truth, chosen), reading)
        losses.append(log_loss(found, values, truth, everything))
    assert np.mean(losses) < log_loss(reading, values, truth, everything) + 0.02


def test_what_is_checked_was_left_out_and_of_many_labels_some_are_used(monkeypatch):
    """Labels without any relation to the votes of 300 voters, who could fit all of them."""
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (80, 300))
    _, checked = follow(values, rng.integers(0, 2, 80), trust_equally(300, weight=0.1))
    assert checked.n == 80
    assert 20 < checked.right < 60
    monkeypatch.setattr(module, "MOST_LABELS", 50)
    values, truth = crowd(1, [0.8] * 5)
    known = labels(truth, np.arange(600))
    _, checked = follow(values, known, trust_equally(5))
    assert checked.n == 50


def test_every_label_is_checked_by_the_correction_of_the_other_folds(monkeypatch):
    """With one prior only, by hand."""
    monkeypatch.setattr(module, "VOTES", (0.3,))
    values, truth = biased_crowd(0, 3)
    reading, known = trust_equally(5, 3), labels(truth, np.arange(40))
    found, checked = follow(values, known, reading)
    labeled = _list_labeled(run_of(values[:40]), known[:40], reading)
    folds, right = np.arange(40) % module.FOLDS, 0
    for fold in range(module.FOLDS):
        part = fit_correction(labeled.take(folds != fold), 5, 0.3)
        logs = labeled.take(folds == fold).predict(part)
        right += np.count_nonzero(logs.argmax(axis=1) == known[:40][folds == fold])
    assert checked[:2] == (40, right)
    whole = fit_correction(labeled, 5, 0.3)
    for one, other in zip(found.correction, whole, strict=True):
        assert one == pytest.approx(other)


def test_items_without_votes_and_no_labels_teach_nothing():
    values, truth = crowd(10, [0.8] * 5)
    values[:30] = 0
    reading, silent = trust_equally(5), np.arange(30)
    assert follow(values, labels(-truth, silent), reading) == (reading, Checked())
    voted, both = labels(truth, np.arange(30, 90)), labels(truth, np.arange(90))
    one, other = (follow(values, known, reading) for known in (voted, both))
    assert one[1] == other[1]
    assert np.array_equal(one[0].weigh(ballots_of(values)), other[0].weigh(ballots_of(values)))
    values, _ = crowd(0, [0.8] * 5)
    reading = trust_equally(5)
    assert follow(values, np.full(600, -1), reading) == (reading, Checked())
    values, truth = crowd(0, [0.8] * 7)
    reading, known = trust_equally(7), labels(truth, np.arange(9))
    found, checked = follow(values, known, reading)
    right = accuracy(reading, values[:9], truth[:9])
    assert found is reading
    assert checked[:2] == (9, round(9 * right))


def shares_of(values, reading, odds=None):
    """The mean of each class's P over the items with votes."""
    return np.exp(reading.weigh(ballots_of(values, odds))[values.any(axis=1)]).mean(axis=0)


def match(values, reading, low, high, odds=None):
    bounds = np.array([low, high], dtype=float)
    correction = match_prevalence(ballots_of(values, odds), reading, bounds)
    return replace(reading, correction=correction)


def test_shares_are_stated_for_two_classes_or_three():
    values, _ = biased_crowd(0, 2)
    values[:50] = 0  # without votes: not among those that are counted
    reading = trust_equally(5)
    found = match(values, reading, [0, 0.2], [1, 0.2])
    assert shares_of(values, reading)[1] > 0.6
    assert shares_of(values, found)[1] == pytest.approx(0.2, abs=1e-5)
    before, after = reading.score(ballots_of(values)), found.score(ballots_of(values))
    assert after - before == pytest.approx(after[0] - before[0])  # the order of items stays
    values, _ = biased_crowd(0, 2)
    share = shares_of(values, reading)[1]
    above, below = (
        match(values, reading, [0, 0.9], [1, 0.95]),
        match(values, reading, [0, 0], [1, 0.3]),
    )
    assert shares_of(values, above)[1] == pytest.approx(0.9, abs=1e-5)
    assert shares_of(values, below)[1] == pytest.approx(0.3, abs=1e-5)
    inside = match_prevalence(ballots_of(values), reading, np.array([[0, share - 0.1], [1, 1.0]]))
    assert inside is reading.correction
    values, _ = biased_crowd(0, 3)
    reading = trust_equally(5, 3)
    one = shares_of(values, match(values, reading, [0, 0, 0.1], [1, 1, 0.1]))
    assert one[2] == pytest.approx(0.1, abs=1e-5)
    every = shares_of(values, match(values, reading, [0.5, 0.3, 0.2], [0.5, 0.3, 0.2]))
    assert every == pytest.approx([0.5, 0.3, 0.2], abs=1e-5)
    ranges = shares_of(values, match(values, reading, [0.4, 0, 0], [1, 1, 0.3]))
    assert ranges == pytest.approx([0.4, 0.3, 0.3], abs=1e-5)


def test_known_labels_count_in_the_share_and_their_correction_is_kept():
    values, truth = biased_crowd(0, 2)
    odds = np.where(np.arange(800) < 200, 1e3 * truth, 0.0)
    found = match(values, trust_equally(5), [0, 0.5], [1, 0.5], odds)
    assert shares_of(values, found, odds)[1] == pytest.approx(0.5, abs=1e-5)
    values, _ = biased_crowd(0, 3)
    before = Correction(0.7, np.array([0.1, 0.2, 0.0]), np.linspace(0.1, 0.5, 5))
    found = match(values, trust_equally(5, 3, correction=before), [0, 0, 0.1], [1, 1, 0.1])
    assert found.correction.slope == 0.7
    assert np.array_equal(found.correction.votes, before.votes)
    assert shares_of(values, found)[2] == pytest.approx(0.1, abs=1e-5)
