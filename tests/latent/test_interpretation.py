"""The walk of a fit: which reading the votes need, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from latent.worlds import (
    bad_clique,
    ballots_of,
    class_crowd,
    copied_classes,
    copying_crowd,
    plain_crowd,
    polarized,
    run_of,
    uneven_crowd,
)
from unelisa.errors import VotesError
from unelisa.latent import Known, describe, interpret, prior, sum_answers
from unelisa.latent.trust import Checked
from unelisa.latent.worth import sum_cases
from unelisa.votes import ballots as ballots_module
from unelisa.votes.ballots import fix_labels


def read(values, structure="auto", n_classes=2):
    return interpret(ballots_of(values), structure, n_classes)


def test_voters_of_one_word_and_polarized_crowds():
    values, _ = plain_crowd(0, votes_per_item=20)
    constant = np.ones((300, 15), dtype=np.int8)
    alone, beside = read(values), read(np.hstack([values, constant]))
    assert beside.coherence == pytest.approx(alone.coherence)
    assert read(constant).coherence == 1
    reading = read(polarized(20, n_voters=40)[0])
    assert reading.name == "edges"
    assert reading.coherence < prior.COHERENT


def test_a_graph_needs_common_items_and_voters_who_gave_both_answers():
    values = np.ones((50, 4), dtype=np.int8)
    values[:25, 0] = -1
    with pytest.raises(VotesError, match="2 voters who gave both answers, found 1"):
        read(values, "edges")
    # half of the voters are turned around, and each item has six votes
    values, _ = plain_crowd(1)
    values[:, ::2] *= -1
    reading = read(values)
    assert reading.name == "consensus"
    assert reading.coherence < prior.COHERENT
    assert any("too few, or share too few items" in one.text for one in reading.reasons)


@pytest.mark.parametrize("structure", ["auto", "plain", "ease", "families", "edges"])
def test_a_structure_that_was_asked_for_is_taken(structure):
    world = uneven_crowd if structure == "ease" else copying_crowd
    assert read(world(0)[0], structure).structure == structure


@pytest.mark.parametrize("turned", [0, 10, 20])
def test_where_three_quarters_point_one_way_they_agree_on_the_truth(turned):
    values, truth = polarized(turned, n_voters=80)
    found = read(values)
    assert (found.name, found.reasons) == ("consensus", ())
    assert found.coherence > prior.COHERENT
    assert np.mean(np.sign(found.score(ballots_of(values))) == truth) > 0.99


@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_as_sure_as_experience_expects_in_every_reading(n_classes):
    values, _ = (bad_clique if n_classes == 2 else copied_classes)(0, repeat=0.99)
    reading = read(values, n_classes=n_classes)
    assert len(reading.readings) == 2
    for one in reading.readings:
        sure = np.exp(one.weigh(ballots_of(values))).max(axis=1).mean()
        assert sure == pytest.approx(one.experience.expected, abs=0.01)


def known_of(values, gold=None, checked=None, bounds=None):
    gold = np.zeros(len(values), dtype=np.int8) if gold is None else gold
    return Known(gold, checked or Checked(), bounds)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_items_and_cases_are_summed_in_one_pass(n_classes, monkeypatch):
    monkeypatch.setattr(ballots_module, "RUN", 16)
    world = plain_crowd if n_classes == 2 else class_crowd
    values = world(0, n_items=100)[0] if n_classes == 2 else world(0, 100, 3)[0]
    values[:5] = 0
    gold = np.where(np.arange(100) < 20, 1, 0).astype(np.int8)
    none = np.zeros(100 if n_classes == 2 else (100, n_classes))
    ballots, reading = ballots_of(values, fix_labels(none, gold)), read(values, n_classes=n_classes)
    n_voters = values.shape[1]
    counts, totals, *cases = ballots.sum(sum_answers, reading, n_voters, per_item=(gold,))
    logs = reading.weigh(ballots)
    found = np.zeros((3, n_classes))
    for row, own in zip(values, logs, strict=True):
        chances = softmax(own)
        found[2, chances.argmax()] += 1
        if row.any():
            found[:2] += chances, chances * (1 - chances)
    assert counts.tolist() == [100, 95, 20]
    assert totals == pytest.approx(found)
    factors = reading.experience.flatter, reading.experience.steeper
    for one, other in zip(cases, sum_cases(run_of(values), logs, factors, n_voters), strict=True):
        assert one == pytest.approx(other)


def test_a_reading_is_described_within_stated_shares():
    values, truth = polarized(0, n_voters=12)
    reading = read(values)
    found = describe(ballots_of(values), reading, known_of(values), identified=True)
    right = np.mean((found.score(ballots_of(values)) > 0) == (truth > 0))
    assert found.trust.low < right
    assert found.trust.low < found.trust.accuracy < found.trust.high
    assert found.trust.shares[1] == pytest.approx(np.mean(truth > 0), abs=0.05)
    assert np.all(np.abs(found.worth.values[0] - (values == truth[:, None]).mean(axis=0)) < 0.13)
    assert 1 <= found.trust.voters <= 12
    values, _ = polarized(0, n_voters=12)
    bounds = np.array([[0.0, 0.3], [1.0, 0.35]])
    found = describe(
        ballots_of(values), read(values), known_of(values, bounds=bounds), identified=True
    )
    assert found.trust.share_bounds[:, 1].tolist() == [0.3, 0.35]
    values, _ = plain_crowd(0)
    reading = replace(read(values), experience=None)
    assert describe(ballots_of(values), reading, known_of(values), identified=True) is reading


@pytest.mark.parametrize("case", ["two voters", "a family", "not identified"])
def test_what_cannot_be_told_is_not_told_without_labels(case):
    values, _ = polarized(0, n_voters=12)
    values = {"two voters": values[:, :2], "a family": values[:, [0, 0, 0, 1]]}.get(case, values)
    reading, identified = read(values), case != "not identified"
    found = describe(ballots_of(values), reading, known_of(values), identified=identified)
    assert np.isnan(found.trust.accuracy)
    assert np.isnan(found.worth.values).all()
    assert not found.trust.reliable
    assert not found.experts.any()
    checked = known_of(values, checked=Checked(50, 45, 5.0))
    told = describe(ballots_of(values), reading, checked, identified=identified)
    assert np.isfinite(told.trust.accuracy)
    assert np.isfinite(told.worth.values).all()


def test_gold_labels_are_the_truth_of_their_items():
    values, truth = polarized(0, n_voters=12)
    gold = -truth.astype(np.int8)  # whatever the voters say
    ballots = ballots_of(values, fix_labels(np.zeros(1000), gold))
    checked = Checked(1000, 900, 50.0)
    found = describe(ballots, read(values), known_of(values, gold, checked), identified=True)
    assert (found.trust.accuracy, found.trust.low, found.trust.high) == (1, 1, 1)
    assert found.trust.labels[1] == np.mean(gold > 0)
    assert found.worth.values[0] == pytest.approx((values == gold[:, None]).mean(axis=0))
