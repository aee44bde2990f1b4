from dataclasses import replace

import numpy as np
import pytest

from latent.worlds import ballots_of, plain_crowd, repeating_crowd
from unelisa.latent import interpret
from unelisa.latent.gold import follow_gold
from unelisa.latent.gold.following import CHOSEN, OVERRULED, TURNED
from unelisa.latent.reading import NOTHING_FOUND


def test_notes_are_renewed_by_a_fit_with_labels():
    values, truth = plain_crowd(0)
    ballots, rng = ballots_of(values), np.random.default_rng(0)
    reading = interpret(ballots, "plain", rng)
    doubted = replace(reading, notes=(NOTHING_FOUND, "else"))
    assert doubted.label(ballots, np.zeros(300), truth, rng).notes == ("else",)


def test_who_never_voted_has_no_weight_by_gold_labels_alone():
    values, _ = plain_crowd(7, n_items=400, votes_per_item=20)
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(400) < 0.5, 1, -1)
    known = np.where(rng.random((400, 5)) < 0.75, truth[:, None], -truth[:, None])
    values = np.hstack([values, known, np.zeros((400, 1))]).astype(np.int8)
    nothing = np.zeros(400)

    ballots = ballots_of(values)

    gold = np.where(np.arange(400) < 100, truth, 0).astype(np.int8)
    found = follow_gold(ballots, nothing, gold, interpret(ballots, "plain", rng), rng)
    assert found.name == "gold"
    assert found.model.weights[-1] == 0
    assert [row["kept"] for row in found.table] == [False, False, True]


@pytest.mark.parametrize(
    ("n_labels", "side", "told"), [(1, 1, ()), (1, -1, (OVERRULED,)), (30, -1, (TURNED,))]
)
def test_labels_against_the_voters_are_told_of_whatever_comes_of_them(n_labels, side, told):
    values, truth = plain_crowd(0, votes_per_item=20)
    nothing, rng = np.zeros(300), np.random.default_rng(0)

    ballots = ballots_of(values)

    gold = np.where(np.arange(300) < n_labels, side * truth, 0).astype(np.int8)
    found = follow_gold(ballots, nothing, gold, interpret(ballots, "plain", rng), rng)
    assert found.notes == told


def read_with_labels(values, truth, n_labels):
    """The votes, their reading, and what becomes of it with the first labels of a truth."""
    nothing, rng = np.zeros(len(values)), np.random.default_rng(0)

    ballots = ballots_of(values)

    reading = interpret(ballots, "auto", rng)
    gold = np.where(np.arange(len(values)) < n_labels, truth, 0).astype(np.int8)
    return ballots, reading, follow_gold(ballots, nothing, gold, reading, rng)


@pytest.mark.parametrize("side", [1, -1])
def test_labels_that_follow_the_kept_one_of_two_readings_settle_it(side):
    values, truth = repeating_crowd(0)
    blocks, reading, found = read_with_labels(values, side * truth, 100)
    assert reading.two_readings
    assert not found.two_readings
    assert not any("two readings" in note for note in found.notes)
    assert np.mean((found.score(blocks) > 0) == (side * truth > 0)) > 0.9


def test_labels_that_follow_the_other_one_of_two_readings_choose_it():
    values, truth = repeating_crowd(0)
    blocks, reading, _ = read_with_labels(values, truth, 1)
    other = np.sign(reading.other.score(blocks))
    _, _, found = read_with_labels(values, other, 100)
    assert not found.two_readings
    assert CHOSEN in found.notes
    assert found.structure == reading.other.structure != reading.structure
    assert np.mean((found.score(blocks) > 0) == (other > 0)) > 0.95
    assert [row["structure"] for row in found.table if row.get("kept")] == [found.structure]


def test_a_few_labels_leave_two_readings():
    values, truth = repeating_crowd(0)
    _, _, found = read_with_labels(values, truth, 5)
    assert found.two_readings
    assert any("two readings" in note for note in found.notes)
