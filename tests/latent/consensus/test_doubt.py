import numpy as np
import pytest

from latent.consensus.test_model import draw_model
from latent.consensus.test_pool import choose, draw_votes
from latent.worlds import (
    plain_crowd,
    repeating_crowd,
    sample_of,
    tilted_crowd,
    two_axes,
    uneven_crowd,
)
from unelisa.latent.consensus.doubt import (
    APART,
    MISFIT,
    MOST_SHARE,
    SHARE,
    Doubt,
    imply_correlations,
    match_majority,
    measure_doubt,
    measure_misfit,
)

KINDS = ("plain", "ease", "tilt", "families")
NOBODY = np.full(3, -1, dtype=np.int32)


def test_the_share_has_nearly_all_the_weight_where_a_model_that_does_not_hold_leaves_it():
    assert Doubt(0.0, 0.0, 1.0).share == Doubt(1.0, 1.0, 0.0).share == SHARE
    assert Doubt(0.0, MISFIT, APART).share == Doubt(1.0, 1.0, 1.0).share == MOST_SHARE
    half = (SHARE + MOST_SHARE) / 2
    assert Doubt(0.0, MISFIT / 2, APART).share == pytest.approx(half)
    assert Doubt(0.0, MISFIT, APART / 2).share == pytest.approx(half)


def test_few_items_cannot_prove_a_model_right():
    model = draw_model(5, np.array([0, 0, 0, -1, -1, -1, -1, -1]), tilt=True, ease=True)
    bounds = []
    for n_items in (100, 1000, 10_000):
        truth = np.full(n_items, 0.9)
        doubts = [
            measure_doubt(sample_of(draw_votes(model, n_items, seed)), model, truth, truth)
            for seed in range(10)
        ]
        assert all(doubt.misfit <= doubt.at_most for doubt in doubts)
        assert all(doubt.apart == doubt.size == 0 for doubt in doubts)
        bounds.append(np.mean([doubt.at_most for doubt in doubts]))
    assert bounds[0] > 2 * bounds[1] > 4 * bounds[2] > 0


@pytest.mark.parametrize("tilt", [False, True], ids=["", "tilt"])
@pytest.mark.parametrize("ease", [False, True], ids=["", "ease"])
def test_implied_correlations_are_those_of_votes_drawn_from_the_model(tilt, ease):
    model = draw_model(4, np.array([0, 0, 0, 1, 1, -1, -1, -1]), tilt=tilt, ease=ease)
    first, second = np.triu_indices(8, 1)
    found = imply_correlations(model, first, second)
    votes = draw_votes(model, 60_000)
    assert found == pytest.approx(np.corrcoef(votes, rowvar=False)[first, second], abs=0.02)


@pytest.mark.parametrize("world", [plain_crowd, tilted_crowd, repeating_crowd, uneven_crowd])
def test_a_model_that_describes_the_votes_leaves_nothing_unexplained(world):
    sample, choice = choose(world(0)[0])
    assert measure_misfit(sample, choice.best.model)[0] < 0.02


def test_votes_drawn_from_a_model_have_no_misfit():
    model = draw_model(5, np.array([0, 0, 0, -1, -1, -1, -1, -1]), tilt=True, ease=True)
    assert measure_misfit(sample_of(draw_votes(model, 5000)), model)[0] < 0.01
    other = draw_model(6, model.family, tilt=True, ease=True)
    assert measure_misfit(sample_of(draw_votes(model, 5000)), other)[0] > 0.2


def test_a_second_axis_is_a_misfit():
    for world in (two_axes, repeating_crowd):
        sample, choice = choose(world(0)[0])
        plain = choice.tried[0]
        assert measure_misfit(sample, plain.model)[0] > 0.1


def test_a_truth_is_compared_with_a_majority_that_says_yes_as_often():
    truth = np.array([0.9, 0.8, 0.2, 0.1])
    assert match_majority(truth, np.array([0.4, 0.3, 0.2, 0.1])) == 1  # same order, another rate
    assert match_majority(truth, np.array([0.1, 0.2, 0.3, 0.4])) == 0
    assert match_majority(truth, np.array([0.9, 0.1, 0.8, 0.2])) == 0.5
    assert match_majority(truth, np.full(4, 0.5)) == 0.5  # all at the threshold: by half
    assert match_majority(np.full(4, 0.9), np.array([0.9, 0.1, 0.8, 0.2])) == 1
