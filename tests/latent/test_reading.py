"""What a reading says of items and of voters."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

from latent.worlds import ballots_of, model_of, reading_of, run_of
from unelisa.latent.edges import EdgesReading, Hub
from unelisa.latent.reading import (
    TWO_READINGS,
    Caution,
    Correction,
    Links,
    explain_voters,
    find_heads,
    judge_voters,
    list_followers,
    list_names,
    tabulate_readings,
)

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)
CODES = np.array([[1, 3, 0], [0, 0, 0], [2, 1, 1]], dtype=np.int8)


def reading_with(correction):
    n_classes = len(correction.offsets)
    return reading_of(
        model_of([1.0, 2.0, 0.5], classes=np.full(n_classes, 1 / n_classes)), correction=correction
    )


def test_scores_are_log_odds_or_logs_with_the_prior_added():
    two, three = (reading_with(Correction.none(k, 3)) for k in (2, 3))
    logs = two.weigh(ballots_of(VALUES))
    assert np.exp(logs).sum(axis=1) == pytest.approx(1)
    assert two.score(ballots_of(VALUES)) == pytest.approx(logs[:, 1] - logs[:, 0])
    assert np.array_equal(three.score(ballots_of(CODES)), three.weigh(ballots_of(CODES)))
    reading, odds = reading_with(Correction.none(2, 3)), np.array([0.0, 1.0, -2.0, 0.5])
    plain = reading.score(ballots_of(VALUES))
    assert reading.score(ballots_of(VALUES, odds)) == pytest.approx(plain + odds)
    three, logs = reading_with(Correction.none(3, 3)), np.arange(9.0).reshape(3, 3)
    expected = log_softmax(three.weigh(ballots_of(CODES)) + logs, axis=1)
    assert three.weigh(ballots_of(CODES, logs)) == pytest.approx(expected)


def test_corrections_are_what_the_equation_says_also_turned():
    """slope log P(k) + offset_k + sum_s w_s [f_s = k], of items with votes."""
    weights = np.array([0.5, -0.2, 0.1])
    correction = Correction(0.7, np.array([0.3, 0.0, -0.3]), weights)
    run, logs = run_of(CODES), np.log([[0.2, 0.3, 0.5], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
    said = np.array([[0.5, 0, -0.2], [0, 0, 0], [-0.2 + 0.1, 0.5, 0]])
    expected = 0.7 * logs + correction.offsets + said
    heard = [0, 2]
    assert correction.apply(run, logs)[heard] == pytest.approx(expected[heard])
    assert correction.apply(run, logs + 5.0)[heard] == pytest.approx(expected[heard])
    found = reading_with(correction).weigh(ballots_of(CODES))
    logs = correction.apply(run, reading_with(correction).think(run))
    assert found == pytest.approx(log_softmax(logs, axis=1))
    correction = Correction(0.7, np.array([0.3, -0.1]), np.array([0.5, -0.2, 0.1]))
    reading = reading_with(correction)
    turned = replace(reading.turned(), correction=correction.turned())
    plain = replace(turned, correction=correction.turned()._replace(votes=np.zeros(3)))
    other = replace(reading, correction=correction._replace(votes=np.zeros(3)))
    score, votes = other.score(ballots_of(VALUES)), VALUES @ correction.votes
    assert plain.score(ballots_of(VALUES)) == pytest.approx(-score)
    assert turned.score(ballots_of(VALUES)) == pytest.approx(-score + votes)  # w_s is of "says k"


def test_branches_reasons_notes_and_readings_are_those_of_the_voters():
    model = model_of(np.ones(7), standard_errors=np.array([1, 1, np.nan, 1, 1, 1, 1.0]))
    assert reading_of(model).clusters == 6
    assert reading_of(model, family=[0, 0, -1, 1, 1, 1, -1]).clusters == 3
    reading = reading_of(model_of(np.ones(3)), reasons=(Caution("first"),))
    assert [one.text for one in reading.doubting("more").reasons] == ["first", "more"]
    assert [one.text for one in reading.noting("one", "two").notes] == ["one", "two"]
    assert reading.notes == ()
    one = reading_of(model_of(np.ones(3)))
    both = replace(one, others=(replace(one, structure="other"),))
    assert [each.structure for each in both.readings] == ["ease", "other"]
    assert (one.two_readings, both.two_readings) == (False, True)
    assert one.doubting(f"{TWO_READINGS}: of which one is not known").two_readings
    found = reading_of(model_of(np.ones(3))).measure_ease(SimpleNamespace(n_items=2))
    assert np.isnan(found).all()
    assert len(found) == 2


def test_cautions_and_partners_name_their_voters():
    names = np.array(["ann", "bob", "cem", "dia", "eve"], dtype=object)
    assert (
        Caution("{voters} repeat each other", (1, 3)).name_voters(names)
        == "bob, dia repeat each other"
    )
    told = Caution("{voters} repeat each other", (0, 1, 2, 3, 4)).name_voters(names)
    assert told == "ann, bob, cem and 2 more repeat each other"
    assert told.voters == tuple(names)
    assert Caution("nothing found").name_voters(names) == "nothing found"
    hub, others = np.zeros(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32)
    links = Links(hub, others, np.array([0.1, -0.9, 0.3, 0.2, 0.5]))
    assert links.edges[1] == (0, 2, -0.9)
    told = links.name_partners(np.array(list("abcdef"), dtype=object))
    assert told == ["c, f, d and 2 more", "a", "a", "a", "a", "a"]
    nobody = np.empty(0, dtype=np.int32)
    assert Links(nobody, nobody, np.empty(0)).name_partners(np.array(["a", "b"])) == ["", ""]
    assert list_names(["a", "b", "c"]) == "a, b, c"


NAMES = np.array(["a1", "a2", "a3", "dia", "eve", "fay", "gus"], dtype=object)


@pytest.fixture
def reading():
    """Three who repeat each other, an expert, one who is counted, a contrarian, one who guesses."""
    model = model_of([1.0, 1.5, 1.2, 2.0, 1.0, -1.0, 0.15])
    return reading_of(model, family=[0, 0, 0, -1, -1, -1, -1], experts=np.arange(7) == 3)


def test_verdicts_and_heads_are_given_with_reasons(reading):
    assert judge_voters(reading, NAMES) == [
        "family of a2",
        "counted",
        "family of a2",
        "expert",
        "counted",
        "contrarian",
        "uninformative",
    ]
    assert explain_voters(reading, NAMES) == [
        "repeats a2: the family counts as one voter",
        "agrees with the truth",
        "repeats a2: the family counts as one voter",
        "clearly better than the crowd",
        "agrees with the truth",
        "contradicts the truth: its votes are reversed",
        "not clearly tied to the truth",
    ]
    assert find_heads(reading, NAMES) == ["a2"] * 3 + [""] * 4
    assert find_heads(reading_of(model_of(np.ones(7))), NAMES) == [""] * 7
    assert list_followers(reading).tolist() == [0, 1, 2, 3, 4]
    assert list_followers(reading.turned()).tolist() == [5]


def test_readings_are_told_in_a_table(reading):
    rival = reading_of(model_of([1.0] * 7), structure="other", agreement=0.8)
    table = tabulate_readings(
        [replace(reading, agreement=0.7), rival], NAMES, np.array(["no", "yes"])
    )
    assert list(table) == ["structure", "clusters", "agreement", "share_yes", "voters"]
    assert table.structure.tolist() == ["ease", "other"]
    assert table.clusters.tolist() == [5, 7]
    assert table.agreement.tolist() == [1.0, 0.8]
    assert table.share_yes.isna().all()  # until labels are judged
    assert table.voters[0] == ["a1", "a2", "a3", "dia", "eve"]
    three = reading_of(model_of([1.0] * 7, classes=np.full(3, 1 / 3)))
    columns = tabulate_readings([three], NAMES, np.array(["a", "b", "c"])).columns
    assert isinstance(columns, pd.Index)
    assert list(columns[3:-1]) == ["share_a", "share_b", "share_c"]


def test_voters_of_a_graph_are_its_hubs_or_explained_by_others():
    weights = np.array([0.5, -0.5, 0.1, 0.0])
    tie = Links(np.array([0]), np.array([2]), np.ones(1))
    hub = Hub(weights, weights * 0, np.zeros(4), 0.2, tie)
    experts = np.array([True, True, False, False])
    found = reading_of(model_of(weights), kind=_graph, experts=experts, hub=hub)
    assert explain_voters(found, NAMES[:4]) == [
        "agrees with the truth",
        "contradicts the truth",
        "explained by other voters",
        "not clearly tied to the truth",
    ]


def _graph(*, hub, model, ties, **more):
    del model, ties  # of a consensus
    return EdgesReading(model=hub, **more)


PRIOR = np.array([0.0, 1.0, -2.0, 0.5])
NONE = Links(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0))


def graph(weights, field=0.2, experts=(False, False, False)):
    """A graph's reading with these ties to the truth."""
    weights = np.array(weights)
    n_voters = len(weights)
    return EdgesReading(
        structure="edges",
        model=Hub(weights, weights * 0, np.zeros(n_voters), field, NONE),
        experts=np.array(experts),
        heads=np.arange(n_voters, dtype=np.int32),
        family=np.full(n_voters, -1, dtype=np.int32),
        correction=Correction.none(2, n_voters),
    )


def test_a_graph_scores_by_the_ties_to_the_truth_and_its_experts_say_which_side_is_up():
    """2 (theta_0 + z / 2 + sum_s a_s f_s)."""
    said = np.array([0.8, 0, -0.5 - 0.3 + 1.0, -1.0])
    found = graph([0.5, -0.3, 1.0]).score(ballots_of(VALUES, PRIOR))
    assert found == pytest.approx(2 * (0.2 + PRIOR / 2 + said))
    assert not graph([0.5, -0.3, 1.0]).needs_turning()
    assert graph([-0.5, 0.3, -1.0]).needs_turning()
    assert graph([0.5, -0.3, 1.0], experts=(False, True, False)).needs_turning()
    assert graph([0.5, -0.3, 1.0]).sign_is_open
