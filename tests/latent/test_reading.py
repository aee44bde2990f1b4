import numpy as np
import pytest
from scipy.special import expit

from latent.consensus.test_reading import VALUES, consensus, odds_by_hand
from latent.worlds import ballots_of, repeating_crowd, run_of
from unelisa.latent import interpret
from unelisa.latent.reading import Links, sum_posteriors


def read(values, structure="auto"):
    return interpret(ballots_of(values), structure, np.random.default_rng(0))


def test_notes_are_added_and_a_settled_reading_has_no_rival():
    reading = read(repeating_crowd(0)[0]).noting("one", "two")
    assert reading.two_readings
    assert reading.notes[-2:] == ("one", "two")
    settled = reading.settled()
    assert settled.notes == ("one", "two")
    assert (settled.two_readings, settled.others) == (False, ())
    assert np.array_equal(settled.model.weights, reading.model.weights)


def test_posteriors_are_summed_with_the_class_rate_in_full():
    """sum 1, tau, tau^2 over items with votes; per voter sum P(side) f and sum P(side) |f|."""
    means, prior = [[0.1, 0.9], [-0.4, 0.5], [0.3, -0.2]], np.array([0.0, 1.0, -2.0, 0.5])
    reading = consensus(means, rate=0.8)
    ballots = run_of(VALUES, prior)
    found, signed, observed = sum_posteriors(ballots, reading, 3)
    chances = expit(odds_by_hand(VALUES, means) + prior + 0.8)
    heard = chances[VALUES.any(axis=1)]
    assert found == pytest.approx([3, heard.sum(), (heard**2).sum()])
    sides = np.stack([1 - chances, chances], axis=1)
    assert signed == pytest.approx(VALUES.T @ sides)
    assert observed == pytest.approx(np.abs(VALUES).T @ sides)


def test_the_strongest_partners_are_named_and_the_others_counted():
    hub, others = np.zeros(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32)
    links = Links(hub, others, np.array([0.1, -0.9, 0.3, 0.2, 0.5]))
    told = links.name_partners(np.array(list("abcdef"), dtype=object))
    assert told == ["c, f, d and 2 more", "a", "a", "a", "a", "a"]
    assert Links.none().name_partners(np.array(["a", "b"])) == ["", ""]
