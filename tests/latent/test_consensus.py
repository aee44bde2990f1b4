"""What the voters agree on, as a reading."""

import numpy as np
import pytest

from latent.worlds import (
    bad_clique,
    ballots_of,
    class_crowd,
    copying_crowd,
    crowd_of,
    model_of,
    reading_of,
    run_of,
    uneven_crowd,
)
from unelisa.latent import prior
from unelisa.latent.consensus import APART, TOGETHER, average, expect_ease, read_consensus
from unelisa.latent.reading import TWO_READINGS
from unelisa.latent.trust import LOSS

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)


@pytest.fixture(autouse=True)
def _held(monkeypatch):
    """The numbers of the prior may be learned anew: what these tests say of them does not move."""
    monkeypatch.setattr(prior, "REPEATS", 0.65)
    monkeypatch.setattr(prior, "RAMP", 0.15)


def some_reading():
    biases = np.array([[0.1, 0.5], [0.0, -0.4], [0.2, 0.2]])
    model = model_of([1.0, 2.0, -0.5], biases, ease=(0.3, 1.6), classes=[0.3, 0.7])
    return reading_of(model)


def test_two_classes_are_told_in_halves_and_turned_around():
    reading = some_reading()
    assert reading.weights == pytest.approx([0.5, 1.0, -0.25])
    assert reading.standard_errors == pytest.approx(0.05)
    assert reading.fields == pytest.approx([0.2, -0.2, 0.0])
    assert reading.field == pytest.approx(np.log(0.7 / 0.3) / 2)
    model = model_of(
        [1.0, 2.0], np.array([[0.0, 0.3, 0.4], [0.0, 0.1, -0.2]]), classes=[0.2, 0.3, 0.5]
    )
    reading = reading_of(model)
    assert reading.weights.tolist() == [1.0, 2.0]
    assert reading.standard_errors == pytest.approx(0.1)
    assert reading.fields == pytest.approx([0.2, -0.1])
    assert reading.n_classes == 3
    reading, run = some_reading(), run_of(VALUES)
    turned = reading.turned()
    assert np.array_equal(reading.think(run), average(run, reading.model))
    assert np.array_equal(turned.think(run), reading.think(run)[:, ::-1])
    assert turned.score(ballots_of(VALUES)) == pytest.approx(-reading.score(ballots_of(VALUES)))
    assert (turned.field, turned.weights.tolist()) == (-reading.field, (-reading.weights).tolist())
    assert np.array_equal(turned.fields, reading.fields)
    assert np.array_equal(turned.turned().weights, reading.weights)
    assert not reading.needs_turning()
    reading = some_reading()
    assert reading.turned().confusions == pytest.approx(reading.confusions[:, ::-1])


def test_confusions_are_averaged_over_the_ease_and_ease_is_told_where_there_are_levels():
    reading = some_reading()
    each = [np.average(reading.model.confusions[:, k], axis=1, weights=[0.5, 0.5]) for k in (0, 1)]
    assert reading.confusions == pytest.approx(np.stack(each, axis=1))
    assert reading.confusions.sum(axis=2) == pytest.approx(1)
    reading, ballots = some_reading(), ballots_of(VALUES)
    found = reading.measure_ease(ballots)
    assert np.array_equal(found, expect_ease(run_of(VALUES), reading.model), equal_nan=True)
    assert np.isnan(reading_of(model_of([1.0] * 3)).measure_ease(ballots)).all()


def test_easy_items_are_told_from_hard_ones_and_labels_have_a_vote():
    values, _, ease = uneven_crowd(0)
    reading = read_consensus(crowd_of(values))
    found = reading.measure_ease(ballots_of(values))
    means = [found[ease == level].mean() for level in (0.1, 0.5, 1.5)]
    assert means[0] < means[1] < means[2]
    values, _ = class_crowd(0, 400, n_classes=4, votes_per_item=2)
    labels = read_consensus(crowd_of(values, 4)).weigh(ballots_of(values)).argmax(axis=1)
    assert np.mean([k + 1 in row for k, row in zip(labels, values, strict=True)]) > 0.99


@pytest.mark.parametrize(
    ("structure", "levels", "families"),
    [("auto", 3, 1), ("families", 1, 1), ("ease", 3, 0), ("plain", 1, 0)],
)
def test_a_structure_does_with_or_without_ease_and_families(structure, levels, families):
    reading = read_consensus(crowd_of(copying_crowd(0, repeat=0.99)[0]), structure)
    assert reading.structure == structure
    assert len(reading.model.ease) == levels
    assert reading.family.max() + 1 == families
    assert (reading.model.counts < 1).any() == bool(families)
    assert len(reading.links.edges) == 3 * families
    assert reading.clusters == 11 - 2 * families


def test_a_second_reading_is_told_where_repeaters_decide_and_not_elsewhere():
    values, truth = bad_clique(0, repeat=0.99)
    crowd = crowd_of(values)
    reading = read_consensus(crowd)
    (other,) = reading.others
    first, second = (one.weigh(crowd.ballots).argmax(axis=1) for one in (reading, other))
    assert other.structure == APART
    assert other.agreement == np.mean(first == second) < 1 - LOSS
    assert np.mean(first == (truth > 0)) > np.mean(second == (truth > 0)) + 0.2
    (reason,) = reading.reasons
    assert reason.text.startswith(TWO_READINGS)
    assert reason.voters == tuple(range(6))
    told = str(reason.name_voters(np.array(list("abcdefghijklmn"), dtype=object)))
    assert "a, b, c and 3 more repeat each other" in told
    assert f"{1 - other.agreement:.0%} of the items if each counted once" in told
    turned = reading.turned().others[0]
    assert np.array_equal(turned.weigh(crowd.ballots), other.weigh(crowd.ballots)[:, ::-1])
    values, _ = bad_clique(0, size=4, repeat=0.94)
    reading = read_consensus(crowd_of(values))
    assert reading.family.max() == -1
    assert (reading.model.counts[:4] < 1).all()
    assert [reason.voters for reason in reading.reasons] == [(0, 1, 2, 3)]
    values, _ = bad_clique(0, n_items=24, repeat=0.97)
    reading = read_consensus(crowd_of(values))
    (other,), (reason,) = reading.others, reading.reasons
    assert reading.model.counts.tolist() == [1.0] * 14
    assert other.structure == TOGETHER
    assert (other.model.counts[:6] < 1).sum() >= 5
    assert set(reason.voters) <= set(range(6))
    assert "if they counted as one" in reason.text
    reading = read_consensus(crowd_of(copying_crowd(0, n_copies=2, repeat=0.99, n_others=20)[0]))
    assert reading.family.max() == 0
    assert (reading.others, reading.reasons) == ((), ())
