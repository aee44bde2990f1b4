import numpy as np
import pytest

from latent.worlds import ballots_of, plain_crowd, repeating_crowd, rules
from unelisa.errors import VotesError
from unelisa.latent import interpret
from unelisa.latent.consensus import RULES


def read(values, structure="auto"):
    return interpret(ballots_of(values), structure, np.random.default_rng(0))


def test_voters_who_say_one_thing_do_not_change_the_coherence():
    values, _ = plain_crowd(0, votes_per_item=20)
    constant = np.ones((300, 15), dtype=np.int8)
    alone, beside = read(values), read(np.hstack([values, constant]))
    assert beside.coherence == pytest.approx(alone.coherence)
    assert read(constant).coherence == 1


def test_a_graph_needs_two_voters_who_gave_both_answers():
    values = np.ones((50, 4), dtype=np.int8)
    values[:25, 0] = -1
    with pytest.raises(VotesError, match="2 voters who gave both answers, found 1"):
        read(values, "edges")


def test_a_second_axis_is_told_with_what_became_of_it():
    reading = read(repeating_crowd(0)[0])
    (note,) = reading.notes
    assert reading.two_readings
    assert note.startswith(f"the votes allow two readings: '{reading.structure}'")
    assert "is kept" in note


def test_a_structure_that_gives_way_to_plain_is_told_of():
    values, _ = plain_crowd(0)
    reading = read(values, "discount")
    assert reading.structure == "plain"
    assert reading.notes == (
        "structure 'discount' was requested, but it predicts the votes worse than plain: "
        "plain is kept",
    )
    for structure in ("plain", "tilt", "auto"):
        assert read(values, structure).notes == ()


def test_rules_are_fitted_plainly_whatever_was_asked_for():
    values, _ = rules(0)
    assert RULES in read(values, "tilt").notes
    assert RULES in read(values, "discount").notes
    assert RULES not in read(values, "plain").notes
    assert RULES not in read(values).notes


def test_many_voters_of_whom_three_quarters_look_one_way_agree_on_the_truth():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], size=(1000, 1))
    right = np.where(rng.random((1000, 80)) < 0.73, truth, -truth)
    coherent = np.where(np.arange(80) < 20, -right, right).astype(np.int8)
    found = read(coherent)
    assert found.name == "consensus"
    assert found.coherence < 0.36
    assert np.mean(np.sign(found.score(ballots_of(coherent))) == truth[:, 0]) > 0.99
    opposed = np.where(np.arange(80) < 40, -right, right).astype(np.int8)
    assert read(opposed).name == "edges"
