import numpy as np
import pytest
from scipy.special import expit

from latent.edges.test_reading import graph
from latent.worlds import ballots_of, run_of, two_camps
from unelisa.latent import interpret
from unelisa.latent.reading import Answers, Caution, Links, list_names, sum_posteriors

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)


def test_notes_are_added_and_a_settled_reading_has_no_rival():
    reading = interpret(ballots_of(two_camps(0)[0]), "auto")
    assert reading.two_readings
    noted = reading.noting("one", "two")
    assert [note.text for note in noted.notes[-2:]] == ["one", "two"]
    settled = noted.settled()
    assert settled.notes == noted.notes
    assert (settled.two_readings, settled.others) == (False, ())
    assert np.array_equal(settled.model.weights, reading.model.weights)


def test_posteriors_are_summed_over_items_and_voters():
    """Items, items with votes, tau, tau^2, max(tau, 1 - tau), tau >= 1/2; per voter P(side) f."""
    reading, prior = graph([0.5, -0.3, 1.0]), np.array([0.0, 1.0, -2.0, 0.5])
    found, signed, observed = sum_posteriors(run_of(VALUES, prior), reading, 3)
    chances = expit(reading.score(ballots_of(VALUES, prior)))
    heard = chances[VALUES.any(axis=1)]
    sure, yes = np.maximum(chances, 1 - chances).sum(), np.count_nonzero(chances >= 0.5)
    assert found == pytest.approx([4, 3, heard.sum(), (heard**2).sum(), sure, yes])
    sides = np.stack([1 - chances, chances], axis=1)
    assert signed == pytest.approx(VALUES.T @ sides)
    assert observed == pytest.approx(np.abs(VALUES).T @ sides)


def test_a_graph_answers_by_its_posteriors():
    reading, ballots = graph([0.5, -0.3, 1.0]), ballots_of(VALUES)
    answers = reading.answering(ballots).answers
    chances = expit(reading.score(ballots))
    heard = VALUES.any(axis=1)
    assert answers.prevalence == pytest.approx(chances[heard].mean())
    expected = np.maximum(chances, 1 - chances).mean()
    assert answers.expected_accuracy == pytest.approx(expected)
    assert answers.expected_interval[0] <= expected <= answers.expected_interval[1]
    yes = (VALUES[:, 0] > 0).astype(float)
    seen = (VALUES[:, 0] != 0).astype(float)
    shares = [(w @ yes + 0.5) / (w @ seen + 1) for w in (1 - chances, chances)]
    assert answers.coins[:, 0] == pytest.approx(shares)  # a vote of each kind is added by half
    again = reading.answering(ballots)
    assert again.answering(ballots) is again


def test_turned_answers_are_those_of_the_other_side():
    coins = np.array([[0.1, 0.2], [0.8, 0.9]])
    answers = Answers(0.3, (0.2, 0.45), 0.9, (0.8, 0.95), 0.25, coins)
    turned = answers.turned()
    assert turned[:2] == (pytest.approx(0.7), (pytest.approx(0.55), pytest.approx(0.8)))
    assert turned[2:5] == (0.9, (0.8, 0.95), 0.75)
    assert np.array_equal(turned.coins, coins[::-1])


def test_cautions_name_their_voters():
    names = np.array(["ann", "bob", "cem", "dia", "eve"], dtype=object)
    assert Caution("{voters} repeat each other", (1, 3)).tell(names) == "bob, dia repeat each other"
    told = Caution("{voters} repeat each other", (0, 1, 2, 3, 4)).tell(names)
    assert told == "ann, bob, cem and 2 more repeat each other"
    assert told.voters == tuple(names)
    told = Caution("of {pair}, ...; so it is with 1 more pair", (3, 0, 1, 2)).tell(names)
    assert told == "of dia, ann, ...; so it is with 1 more pair"
    assert told.voters == ("dia, ann", "bob, cem")
    assert Caution("nothing found").tell(names) == "nothing found"


def test_the_strongest_partners_are_named_and_the_others_counted():
    hub, others = np.zeros(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32)
    links = Links(hub, others, np.array([0.1, -0.9, 0.3, 0.2, 0.5]))
    told = links.name_partners(np.array(list("abcdef"), dtype=object))
    assert told == ["c, f, d and 2 more", "a", "a", "a", "a", "a"]
    assert Links.none().name_partners(np.array(["a", "b"])) == ["", ""]
    assert list_names(["a", "b", "c"]) == "a, b, c"
