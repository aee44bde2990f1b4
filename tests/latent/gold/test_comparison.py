from dataclasses import replace

import numpy as np
import pytest

from latent.worlds import ballots_of, plain_crowd, repeating_crowd, run_of
from unelisa.latent import interpret
from unelisa.latent.consensus.model import weigh_truth
from unelisa.latent.gold import (
    CHOSEN,
    OVERRULED,
    TURNED,
    compare_with_gold,
    follow_gold,
    labels_help,
    weigh_by_gold,
)
from unelisa.latent.reading import NOTHING_FOUND


@pytest.fixture
def crowd():
    return plain_crowd(0, n_items=400, n_voters=15, votes_per_item=10)


def ask(values, truth, odds, n_labels):
    """What the first labels follow, with `odds` as the votes' own axis."""
    blocks = ballots_of(values)
    items = np.arange(n_labels)
    ballots, signs = run_of(values[items]), truth[items].astype(float)
    model = weigh_by_gold(ballots, signs, blocks.n_voters)
    scale = blocks.concatenate(weigh_truth, model.factors).std()
    return compare_with_gold(ballots, signs, odds[items] / odds.std(), scale, blocks.n_voters)


def noisy(truth, seed=1):
    return 2.0 * truth + np.random.default_rng(seed).normal(0, 1, len(truth))


@pytest.mark.parametrize("n_labels", [5, 20, 100])
def test_labels_follow_an_axis_that_is_right_and_turn_one_that_is_wrong(crowd, n_labels):
    values, truth = crowd
    assert ask(values, truth, noisy(truth), n_labels).follows == "axis"
    assert ask(values, truth, -noisy(truth), n_labels).follows == "opposite"


def test_labels_leave_an_axis_that_has_nothing_to_do_with_them(crowd):
    values, truth = crowd
    other = noisy(np.random.default_rng(2).permutation(truth))
    test = ask(values, truth, other, 40)
    assert test.follows == "gold"
    assert test.alone > test.axis
    assert ask(values, truth, other, 5).follows != "gold"  # too few to weigh voters by


def test_voters_weighed_by_gold_alone_label_the_rest(crowd):
    values, truth = crowd
    blocks = ballots_of(values)
    ballots = run_of(values[:60])
    model = weigh_by_gold(ballots, truth[:60].astype(float), blocks.n_voters)
    odds = blocks.concatenate(weigh_truth, model.factors)
    assert np.mean((odds[60:] > 0) == (truth[60:] > 0)) > 0.9


def test_labels_in_the_fit_must_help_by_two_standard_errors():
    truth = np.tile([1.0, -1.0], 20)
    before = noisy(truth, 3)
    assert labels_help(truth, before, before + 2 * truth)
    assert not labels_help(truth, before, before)
    assert not labels_help(truth, before, before + 0.01 * np.random.default_rng(0).normal(size=40))


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
    other = np.sign(reading.others[0].score(blocks))
    _, _, found = read_with_labels(values, other, 100)
    assert not found.two_readings
    assert CHOSEN in found.notes
    assert found.structure == reading.others[0].structure != reading.structure
    assert np.mean((found.score(blocks) > 0) == (other > 0)) > 0.95
    assert [row["structure"] for row in found.table if row.get("kept")] == [found.structure]


def test_a_few_labels_leave_two_readings():
    values, truth = repeating_crowd(0)
    _, _, found = read_with_labels(values, truth, 5)
    assert found.two_readings
    assert any("two readings" in note for note in found.notes)
