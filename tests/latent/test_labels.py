from dataclasses import replace

import numpy as np
import pytest

from latent.worlds import plain_crowd
from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.interpretation import NOTHING_FOUND, interpret
from unelisa.latent.labels import OVERRULED, TURNED, _describe_again, follow_gold


def test_what_must_be_said_is_asked_anew_after_a_fit_with_labels():
    values, _ = plain_crowd(0)
    blocks, rng = MemoryBallots.of(values), np.random.default_rng(0)
    reading = interpret(blocks, "plain", rng)
    doubted = replace(reading, notes=(NOTHING_FOUND, "else"))
    assert _describe_again(blocks, doubted, rng).notes == ("else",)


def test_who_never_voted_has_no_weight_by_gold_labels_alone():
    values, _ = plain_crowd(7, n_items=400, votes_per_item=20)
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(400) < 0.5, 1, -1)
    known = np.where(rng.random((400, 5)) < 0.75, truth[:, None], -truth[:, None])
    values = np.hstack([values, known, np.zeros((400, 1))]).astype(np.int8)
    nothing = np.zeros(400)

    def lay(fields):
        return MemoryBallots.of(values, fields)

    gold = np.where(np.arange(400) < 100, truth, 0).astype(np.int8)
    found = follow_gold(lay, nothing, gold, interpret(lay(nothing), "plain", rng), rng)
    assert found.name == "gold"
    assert found.weights[-1] == 0
    assert [row["kept"] for row in found.table] == [False, False, True]


@pytest.mark.parametrize(
    ("n_labels", "side", "told"), [(1, 1, ()), (1, -1, (OVERRULED,)), (30, -1, (TURNED,))]
)
def test_labels_against_the_voters_are_told_of_whatever_comes_of_them(n_labels, side, told):
    values, truth = plain_crowd(0, votes_per_item=20)
    nothing, rng = np.zeros(300), np.random.default_rng(0)

    def lay(fields):
        return MemoryBallots.of(values, fields)

    gold = np.where(np.arange(300) < n_labels, side * truth, 0).astype(np.int8)
    found = follow_gold(lay, nothing, gold, interpret(lay(nothing), "plain", rng), rng)
    assert found.notes == told
