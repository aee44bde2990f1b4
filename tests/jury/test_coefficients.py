"""Agreement against values worked out by hand, and against the package krippendorff."""

import numpy as np
import pytest

from unelisa import Votes
from unelisa.jury.panel import (
    bound_effective,
    compare_with_gold,
    compute_alpha,
    compute_fleiss,
    count_classes,
    exceeds_chance,
    measure_agreement,
)


def draw(n=300, judges=5, accuracy=0.8, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.5
    right = rng.random((n, judges)) < accuracy
    said = np.where(truth[:, None] == right, 1, -1)
    return Votes.of(np.where(rng.random(said.shape) < 0.1, np.nan, said), coding="pm1"), truth


def test_fleiss_own_example():
    counts = np.array(
        [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
         [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
    )  # fmt: skip
    assert compute_fleiss(counts) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_alpha_is_that_of_the_package_krippendorff(level):
    reference = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, 200)
    said = np.clip(truth[:, None] + rng.integers(-1, 2, (200, 4)), 1, 4).astype(float)
    said[rng.random(said.shape) < 0.2] = np.nan
    counts = np.stack([(said == k).sum(axis=1) for k in range(1, 5)], axis=1)
    own = compute_alpha(counts, ordered=level == "ordinal")
    theirs = reference.alpha(reliability_data=said.T, level_of_measurement=level)
    assert own == pytest.approx(theirs, abs=1e-9)


def test_independent_judges_are_as_many_and_copies_are_one():
    votes, truth = draw()
    chances = np.column_stack([~truth, truth]).astype(float)
    low, high = bound_effective(votes, chances, None)
    assert 3.5 < low < high < 5  # 4.5 votes per item
    assert high > 4.2
    copies = Votes.of(np.repeat(np.where(votes.values[:, :1] > 0, 1, -1), 4, axis=1), coding="pm1")
    low, high = bound_effective(copies, chances, None)
    assert high < 1.2
    wider = bound_effective(votes, 0.05 + 0.9 * chances, (0.7, 0.9))
    assert wider[0] < 4


def test_coins_do_not_exceed_chance_and_judges_do():
    rng = np.random.default_rng(0)
    coins = [Votes.of(rng.choice([-1, 1], (100, 6)), coding="pm1") for _ in range(60)]
    assert np.mean([exceeds_chance(votes) for votes in coins]) < 0.08
    assert exceeds_chance(draw()[0])
    assert abs(measure_agreement(coins[0])["alpha"]) < 0.1


def test_kappa_with_gold_labels():
    votes, truth = draw(accuracy=0.9)
    gold = np.where(truth, 1, -1).astype(np.int8)
    gold[100:] = 0
    found = compare_with_gold(votes, gold)
    rows = [*found.values()]
    assert np.mean([one["kappa"] for one in rows]) == pytest.approx(0.8, abs=0.1)
    assert all(0.5 < one["low"] < one["kappa"] < one["high"] <= 1 for one in rows)
    assert all(one["n"] <= 100 for one in rows)
    assert compare_with_gold(votes, np.zeros(300, np.int8)) == {}
    assert count_classes(votes).shape == (300, 2)
