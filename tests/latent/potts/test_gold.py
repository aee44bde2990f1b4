import numpy as np
import pytest

from latent.worlds import ballots_of, class_crowd
from unelisa.latent.ballots import CERTAIN, fix_labels, set_prior_odds
from unelisa.latent.potts import read_classes
from unelisa.latent.potts.gold import recalibrate


def test_gold_labels_fix_the_class_of_their_items():
    odds = fix_labels(np.zeros((3, 4)), np.array([0, 2, 4], dtype=np.uint8))
    assert odds.tolist() == [
        [0, 0, 0, 0],
        [-CERTAIN, 0, -CERTAIN, -CERTAIN],
        [-CERTAIN, -CERTAIN, -CERTAIN, 0],
    ]


def read_with_gold(values, gold, n_classes=4):
    ballots = ballots_of(values)
    known = fix_labels(np.zeros((len(values), n_classes)), gold)
    reading = read_classes(
        set_prior_odds(ballots, known), n_classes, ordered=False, structure="auto"
    )
    return recalibrate(reading, ballots, gold), ballots


def test_labels_recalibrate_the_probabilities():
    values, truth = class_crowd(0)
    # gold labels that say class 3 wherever the voters say class 1
    shifted = np.where(truth == 0, 2, truth)
    gold = np.where(np.arange(600) < 100, shifted + 1, 0).astype(np.uint8)
    reading, ballots = read_with_gold(values, gold)
    assert reading.pool.slope > 0
    plain, _ = read_with_gold(values, np.zeros(600, dtype=np.uint8))
    with_gold = np.exp(reading.score(ballots))[100:]
    without = np.exp(plain.score(ballots))[100:]
    loss = [-np.log(p[np.arange(500), shifted[100:]]).mean() for p in (with_gold, without)]
    assert loss[0] < loss[1]


def test_few_labels_do_not_recalibrate():
    values, truth = class_crowd(1)
    gold = np.where(np.arange(600) < 9, truth + 1, 0).astype(np.uint8)
    reading, _ = read_with_gold(values, gold)
    assert reading.pool.slope == 1
    assert not reading.pool.offsets.any()


def test_labels_that_agree_change_little():
    values, truth = class_crowd(2)
    gold = np.where(np.arange(600) < 50, truth + 1, 0).astype(np.uint8)
    reading, ballots = read_with_gold(values, gold)
    plain, _ = read_with_gold(values, np.zeros(600, dtype=np.uint8))
    right = [np.mean(one.score(ballots).argmax(axis=1) == truth) for one in (reading, plain)]
    assert right[0] == pytest.approx(right[1], abs=0.01)
