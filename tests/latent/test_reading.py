from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from latent.worlds import plain_crowd, repeating_crowd, rules, tilted_crowd
from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.consensus import Consensus, weigh_truth
from unelisa.latent.discount import Affinity, discount_votes
from unelisa.latent.interpretation import interpret
from unelisa.latent.reading import (
    RATE,
    Links,
    Reading,
    count_ballots,
    score_edges,
    share_rate,
    sum_chances,
)
from unelisa.latent.silence import fill_silence, odds_before_silence

VALUES = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 1], [0, 0, -1]], dtype=np.int8)


def read(values, structure="auto"):
    return interpret(MemoryBallots.of(values), structure, np.random.default_rng(0))


def graph(weights, field=0.2):
    """A graph's reading with these ties to the truth."""
    weights = np.array(weights)
    nobody, silent = np.zeros(len(weights), dtype=bool), np.zeros(len(weights), dtype=np.int8)
    return Reading("edges", "edges", weights, weights * 0, weights * 0, field, nobody, silent)


def consensus(means, rate, silence=(0, 0, 0), discounted=False):
    """A consensus of voters known for sure."""
    means, silence = np.array(means, dtype=float), np.array(silence, dtype=np.int8)
    unsure = np.zeros((len(means), 2, 2))
    model = Consensus(means, unsure, np.zeros(2), np.ones(2), rate, np.empty(0), converged=True)
    field, nobody = share_rate(rate, discounted) / 2, np.zeros(len(means), dtype=bool)
    weights, fields = model.weights, model.fields
    return Reading("consensus", "plain", weights, fields, fields * 0, field, nobody, silence, model)


def odds_by_hand(values, means):
    """The votes' part of the log-odds: sum_s log P(f_s | yes) / P(f_s | no)."""
    b, a = np.array(means).T
    ratio = np.log(expit(2 * values * (b + a)) / expit(2 * values * (b - a)))
    return np.where(values != 0, ratio, 0).sum(axis=1)


def test_a_graph_scores_by_the_ties_to_the_truth():
    """2 (theta_0 + z / 2 + sum_s a_s f_s)."""
    prior = np.array([0.0, 1.0, -2.0, 0.5])
    odds = graph([0.5, -0.3, 1.0]).score(MemoryBallots.of(VALUES, prior))
    by_hand = 2 * (0.2 + prior / 2 + np.array([0.8, 0, -0.5 - 0.3 + 1.0, -1.0]))
    assert odds == pytest.approx(by_hand)
    ballots = MemoryBallots.of(VALUES, prior).blocks[0]
    assert score_edges(ballots, np.array([0.5, -0.3, 1.0]), 0.2) == pytest.approx(by_hand)


def test_a_consensus_scores_by_both_coins_and_half_the_class_rate():
    means, prior = [[0.1, 0.9], [-0.4, 0.5], [0.3, -0.2]], np.array([0.0, 1.0, -2.0, 0.5])
    odds = consensus(means, rate=0.8).score(MemoryBallots.of(VALUES, prior))
    assert odds == pytest.approx(odds_by_hand(VALUES, means) + prior + 0.5 * 0.8)
    full = consensus(means, rate=0.8, discounted=True).score(MemoryBallots.of(VALUES, prior))
    assert full == pytest.approx(odds + 0.5 * 0.8)


def test_the_class_rate_counts_by_half_unless_votes_are_discounted():
    assert share_rate(0.8, discounted=False) == RATE * 0.8 == 0.4
    assert share_rate(0.8, discounted=True) == 0.8


def test_silence_is_an_answer_on_items_with_votes_and_tells_of_the_others_by_bayes():
    means, silence = [[0.1, 0.9], [-0.4, 0.5], [0.3, 0.2]], np.array([-1, 1, 0], dtype=np.int8)
    reading = consensus(means, 0.8, silence)
    odds = reading.score(MemoryBallots.of(VALUES))
    filled = np.where((VALUES == 0) & VALUES.any(axis=1)[:, None], silence, VALUES)
    by_hand = odds_by_hand(filled, means) + 0.4
    by_hand[1] = 0.5 * odds_before_silence(reading.model.coins, silence, 0.8)
    assert odds == pytest.approx(by_hand)
    assert by_hand[1] != pytest.approx(0.4)


def test_repeats_are_discounted_before_they_are_scored():
    ends = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
    affinity = Affinity.tie(*ends, np.array([0.5], dtype=np.float32), 3)
    means = [[0.1, 0.9], [-0.4, 0.5], [0.3, 0.2]]
    reading = replace(consensus(means, 0.0), affinity=affinity)
    odds = reading.score(MemoryBallots.of(VALUES))
    parts = [odds_by_hand(np.where(np.arange(3) == s, VALUES, 0), means) for s in range(3)]
    both = VALUES[:, :2].all(axis=1)
    share = np.where(both, 1 / 1.5, 1.0)
    assert odds == pytest.approx(share * (parts[0] + parts[1]) + parts[2])


def test_blocks_are_prepared_as_they_were_fitted():
    values, _ = rules(0)
    reading = read(values)
    blocks = MemoryBallots.of(values)
    filled, by_hand = (
        reading.prepare(blocks).blocks[0],
        fill_silence(blocks.blocks[0], reading.silence),
    )
    assert np.array_equal(filled.votes, by_hand.votes)
    assert len(filled.votes) > len(blocks.blocks[0].votes)
    values, _ = repeating_crowd(1)
    reading, blocks = read(values), MemoryBallots.of(values)
    weights = reading.prepare(blocks).blocks[0].weights
    assert np.array_equal(weights, discount_votes(blocks.blocks[0], reading.affinity).weights)
    assert weights.min() < 0.5


@pytest.mark.parametrize(
    ("world", "structure"),
    [(plain_crowd, "plain"), (tilted_crowd, "tilt"), (repeating_crowd, "auto"), (rules, "auto")],
)
def test_a_turned_reading_says_the_opposite_of_every_item(world, structure):
    values, _ = world(1)
    reading, blocks = read(values, structure), MemoryBallots.of(values)
    odds = reading.score(blocks)
    assert reading.turned().score(blocks) == pytest.approx(-odds)
    assert reading.turned().field == -reading.field
    assert np.array_equal(reading.turned().weights, -reading.weights)
    assert np.array_equal(reading.turned().turned().score(blocks), odds)
    if reading.other is not None:
        other = reading.other.score(blocks)
        assert reading.turned().other.score(blocks) == pytest.approx(-other)


def test_a_consensus_with_another_model_says_what_that_one_says():
    means = [[0.1, 0.9], [-0.4, 0.5], [0.3, 0.2]]
    before, after = consensus(np.array(means) / 2, rate=0.4), consensus(means, rate=0.8)
    found, blocks = before.refitted(after.model), MemoryBallots.of(VALUES)
    assert np.array_equal(found.score(blocks), after.score(blocks))
    assert found.field == after.field
    for what in ("weights", "fields"):
        assert np.array_equal(getattr(found, what), getattr(after, what))
    assert np.array_equal(found.standard_errors, after.model.standard_errors)


def test_a_turned_graph_says_the_opposite():
    reading, blocks = graph([0.5, -0.3, 1.0]), MemoryBallots.of(VALUES)
    assert reading.turned().score(blocks) == pytest.approx(-reading.score(blocks))


def test_notes_are_added_and_a_settled_reading_has_no_rival():
    reading = read(repeating_crowd(0)[0]).noting("one", "two")
    assert reading.two_readings
    assert reading.notes[-2:] == ("one", "two")
    settled = reading.settled()
    assert settled.notes == ("one", "two")
    assert (settled.two_readings, settled.other) == (False, None)
    assert np.array_equal(settled.weights, reading.weights)


def test_chances_are_summed_with_the_class_rate_in_full():
    """sum 1, tau, tau^2 over items with votes; per voter sum P(side) f and sum P(side) |f|."""
    means, prior = [[0.1, 0.9], [-0.4, 0.5], [0.3, -0.2]], np.array([0.0, 1.0, -2.0, 0.5])
    reading = consensus(means, rate=0.8)
    ballots = MemoryBallots.of(VALUES, prior).blocks[0]
    found, signed, observed = sum_chances(ballots, reading, 3)
    chances = expit(odds_by_hand(VALUES, means) + prior + 0.8)
    heard = chances[VALUES.any(axis=1)]
    assert found == pytest.approx([3, heard.sum(), (heard**2).sum()])
    sides = np.stack([1 - chances, chances], axis=1)
    assert signed == pytest.approx(VALUES.T @ sides)
    assert observed == pytest.approx(np.abs(VALUES).T @ sides)


def test_the_mean_chance_is_the_class_rate_that_was_fitted():
    values, _ = plain_crowd(2, n_items=2000, share=0.3)
    reading = read(values, "plain")
    (n_items, total, _), *_ = MemoryBallots.of(values).sum(sum_chances, reading, 20)
    assert logit(total / n_items) == pytest.approx(reading.model.rate, abs=0.01)
    assert reading.field == pytest.approx(reading.model.rate / 4)


def test_every_vote_is_counted_on_its_item():
    assert count_ballots(MemoryBallots.of(VALUES).blocks[0]).tolist() == [2, 0, 3, 1]


def test_links_are_pairs_of_voters():
    edges = np.zeros((3, 3))
    edges[0, 2] = edges[2, 0] = -0.7
    found = Links.of_edges(edges, np.array([1, 4, 6]))
    assert (found.first.tolist(), found.second.tolist()) == ([1], [6])
    assert found.weights.tolist() == [-0.7]
    ends = np.array([0, 1], dtype=np.int32), np.array([2, 2], dtype=np.int32)
    affinity = Affinity.tie(*ends, np.array([0.25, 0.5], dtype=np.float32), 3)
    tied = Links.of_affinity(affinity)
    told = zip(tied.first.tolist(), tied.second.tolist(), tied.weights.tolist(), strict=True)
    assert sorted(told) == [(0, 2, 0.25), (1, 2, 0.5)]
    assert len(Links.none().first) == 0


def test_the_strongest_partners_are_named_and_the_others_counted():
    hub, others = np.zeros(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32)
    links = Links(hub, others, np.array([0.1, -0.9, 0.3, 0.2, 0.5]))
    told = links.name_partners(np.array(list("abcdef"), dtype=object))
    assert told == ["c, f, d and 2 more", "a", "a", "a", "a", "a"]
    assert Links.none().name_partners(np.array(["a", "b"])) == ["", ""]


def test_scores_do_not_depend_on_the_other_items():
    values, _ = repeating_crowd(1)
    reading = read(values)
    whole = reading.score(MemoryBallots.of(values))
    assert reading.score(MemoryBallots.of(values[40:50])) == pytest.approx(whole[40:50])
    blocks = reading.prepare(MemoryBallots.of(values))
    assert whole == pytest.approx(blocks.concatenate(weigh_truth, reading.model.factors))
