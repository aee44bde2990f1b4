import numpy as np
import pytest

from latent.worlds import ballots_of, copying_crowd, plain_crowd, rules, uneven_crowd
from unelisa.errors import VotesError
from unelisa.latent import COHERENT, interpret


def read(values, structure="auto"):
    return interpret(ballots_of(values), structure)


def polarized(turned, n_voters=80):
    """Voters who are right in 73 % of the cases, some of them turned around; and the truth."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], size=(1000, 1))
    right = np.where(rng.random((1000, n_voters)) < 0.73, truth, -truth)
    return np.where(np.arange(n_voters) < turned, -right, right).astype(np.int8), truth[:, 0]


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


@pytest.mark.parametrize("structure", ["plain", "ease", "families", "edges"])
def test_a_structure_that_was_asked_for_is_taken(structure):
    world = {"ease": uneven_crowd}.get(structure, copying_crowd)
    reading = read(world(0)[0], structure)
    assert reading.structure == structure
    assert not any("was requested" in note.text for note in reading.notes)


def test_a_structure_that_the_votes_do_not_admit_is_told():
    values, _ = plain_crowd(0)
    reading = read(values, "families")
    assert reading.structure == "plain"
    assert [note.text for note in reading.notes] == [
        "structure 'families' was requested, but the votes do not admit it: 'plain' is kept"
    ]
    for structure in ("plain", "ease", "auto"):
        assert read(values, structure).notes == ()


def test_rules_have_no_tilt():
    """A rule's bias is its coverage, which a tilt would explain."""
    values, _ = rules(0)
    reading = read(values, "tilt")
    assert reading.structure == "plain, silence filled in"
    assert any("'tilt' was requested" in note.text for note in reading.notes)
    assert read(values).notes == ()


@pytest.mark.parametrize("turned", [0, 10, 20])
def test_where_three_quarters_point_one_way_they_agree_on_the_truth(turned):
    values, truth = polarized(turned)
    found = read(values)
    assert found.name == "consensus"
    assert found.coherence > COHERENT
    assert np.mean(np.sign(found.score(ballots_of(values))) == truth) > 0.99


def test_where_half_point_either_way_the_truth_is_the_hub_of_a_graph():
    reading = read(polarized(20, n_voters=40)[0])
    assert reading.name == "edges"
    assert reading.coherence < COHERENT


def test_too_few_common_items_for_a_graph_are_told():
    """Half of the voters are turned around, and each item has six votes."""
    values, _ = plain_crowd(1)
    values[:, ::2] *= -1
    reading = read(values)
    assert reading.name == "consensus"
    assert reading.coherence < COHERENT
    assert any("too few, or share too few items" in note.text for note in reading.notes)
