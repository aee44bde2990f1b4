from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from latent.worlds import ballots_of, plain_crowd, run_of, tilted_crowd
from unelisa.latent.consensus.model import Consensus, fit_consensus, infer, share_votes, weigh_truth
from unelisa.latent.consensus.tilt import (
    FIRST_SHIFT,
    Tilt,
    fit_tilted,
    split_states,
    sum_surplus,
    surplus,
    weigh_tilt,
)


@pytest.fixture
def known():
    """Votes with gaps and an item without any, and voters known for sure: (b, a, c) and a rate."""
    rng = np.random.default_rng(3)
    values = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (40, 5))
    values[7] = 0
    means = rng.normal([0.1, 0.8, 0.4], 0.3, (5, 3))
    model = Consensus(
        means, np.zeros((5, 3, 3)), np.zeros(3), np.ones(3), 0.4, np.empty(0), converged=True
    )
    return values, model


def plain_part(model):
    """The same voters without their pull."""
    return replace(model, means=model.means[:, :2], covariances=model.covariances[:, :2, :2])


def fit_both(values):
    blocks = ballots_of(values)
    plain = fit_consensus(blocks, share_votes, np.ones(blocks.n_voters))
    return blocks, plain, fit_tilted(blocks, plain)


def chance_of_yes(values, model):
    """P(f0 = +1 | votes) by Bayes, voter by voter."""
    odds = np.full(len(values), model.rate)
    for s, (b, a) in enumerate(model.means):
        yes, no = expit(2 * values[:, s] * (b + a)), expit(2 * values[:, s] * (b - a))
        odds += np.where(values[:, s] != 0, np.log(yes / no), 0)
    return expit(odds)


def test_the_surplus_is_what_the_votes_have_beyond_the_truth(known):
    values, model = known
    plain = plain_part(model)
    yes = chance_of_yes(values, plain)[:, None]
    b, a = plain.means.T
    expected = np.tanh(b + a) * yes + np.tanh(b - a) * (1 - yes)
    beyond = np.where(values != 0, values - expected, 0).sum(axis=1)
    by_hand = beyond / np.sqrt(np.maximum((values != 0).sum(axis=1), 1))
    ballots = run_of(values)
    assert surplus(ballots, plain) == pytest.approx(by_hand)
    assert by_hand[7] == 0
    (sums,) = sum_surplus(ballots, plain)
    assert sums == pytest.approx([np.sum(by_hand**2), 40])


def test_at_the_start_the_truth_is_doubted_and_the_surplus_is_the_tilt(known):
    values, model = known
    plain, ballots = plain_part(model), run_of(values)
    states = split_states(ballots, plain, 0.7)
    assert states.shape == (40, 4)
    assert states.sum(axis=1) == pytest.approx(np.ones(40))
    # the rows of STATES: (yes, u = +1), (yes, u = -1), (no, u = +1), (no, u = -1)
    assert states[:, :2].sum(axis=1) == pytest.approx(0.1 + 0.8 * chance_of_yes(values, plain))
    tilt = states[:, 0] + states[:, 2]
    assert tilt == pytest.approx(expit(2 * surplus(ballots, plain) / 0.7))


def test_the_tilt_is_weighed_over_both_truths(known):
    values, model = known
    joint = np.zeros((2, 2, 40))
    for i, truth in enumerate((1, -1)):
        for j, tilt in enumerate((1, -1)):
            field = model.means @ np.array([1, truth, tilt])
            said = np.where(values != 0, expit(2 * values * field), 1).prod(axis=1)
            joint[i, j] = expit(truth * model.rate) / 2 * said
    by_hand = joint[:, 0].sum(axis=0) / joint.sum(axis=(0, 1))
    ballots = run_of(values)
    assert weigh_tilt(ballots, model.factors) == pytest.approx(by_hand - 0.5)
    assert weigh_tilt(ballots, model.factors)[7] == pytest.approx(0)  # no vote, no tilt


def test_pulls_count_as_far_as_the_votes_move_them():
    model = Consensus.first(np.tile([0.0, 0.7, 0.3], (4, 1)))
    # as wide as their prior: nothing is learned
    assert Tilt("tilt", model).cost == pytest.approx(0)
    covariances = model.covariances.copy()
    covariances[:, 2, 2] = model.spread[2] ** 2 * np.array([1, 0.5, 0.25, 0])
    assert Tilt("tilt", replace(model, covariances=covariances)).cost == pytest.approx(
        0 + 0.5 + 0.75 + 1
    )


def test_a_shared_misreading_is_told_from_the_truth():
    values, truth = tilted_crowd(1)
    blocks, plain, tilted = fit_both(values)
    assert (plain.means.shape[1], tilted.means.shape[1]) == (2, 3)
    pulls = tilted.means[:, 2]
    assert abs(pulls.mean()) == pytest.approx(0.6, abs=0.1)  # as the world was made
    assert np.abs(pulls - pulls.mean()).max() < 0.4  # one misreading, shared by all
    right = [
        np.mean((blocks.concatenate(weigh_truth, model.factors) > 0) == (truth > 0))
        for model in (plain, tilted)
    ]
    assert right[1] > right[0] + 0.01


def test_where_nothing_is_shared_the_pull_falls_and_the_weights_stay():
    _, plain, tilted = fit_both(plain_crowd(1, n_items=1500)[0])
    assert abs(tilted.means[:, 2].mean()) < 0.7 * FIRST_SHIFT
    assert tilted.weights == pytest.approx(plain.weights, abs=0.2)


def test_without_pulls_the_tilt_leaves_the_truth_alone(known):
    values, model = known
    still = replace(model, means=model.means * [1, 1, 0])
    ballots = run_of(values)
    both = [infer(ballots, one.factors)[0] for one in (still, plain_part(model))]
    assert both[0][:, :2].sum(axis=1) == pytest.approx(both[1][:, 0])
    assert weigh_tilt(ballots, still.factors) == pytest.approx(np.zeros(40))
