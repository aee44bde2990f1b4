import numpy as np
import pytest
from scipy.special import expit, log_expit

from latent.worlds import (
    ballots_of,
    plain_crowd,
    repeating_crowd,
    run_of,
    sample_of,
    tilted_crowd,
    two_axes,
)
from unelisa.kernels.ballots import score_by_strangers
from unelisa.latent.consensus.affinity import Affinity
from unelisa.latent.consensus.contest import STRUCTURES, _keep_nearest, choose_structure
from unelisa.latent.consensus.model import weigh_truth

ALL = ("plain", "tilt", "discount")


def choose(values, kinds=ALL):
    ballots = ballots_of(values)
    choice = choose_structure(ballots, sample_of(values), kinds)
    return choice, score(choice.candidate, ballots)


def score(candidate, ballots):
    return candidate.view(ballots).concatenate(weigh_truth, candidate.model.factors)


def accuracy(odds, truth):
    return np.mean((odds > 0) == (truth > 0))


def test_each_world_gets_the_structure_it_needs():
    for world, kind in (
        (plain_crowd, "plain"),
        (tilted_crowd, "tilt"),
        (repeating_crowd, "discount"),
    ):
        values, truth = world(1)
        choice, odds = choose(values)
        assert choice.candidate.kind == kind
        assert sum(row["kept"] for row in choice.table) == 1
        assert choice.table[0]["structure"] == "plain"
        assert choice.table[0]["gain"] == 0
        _, plain = choose(values, ("plain",))
        assert accuracy(odds, truth) >= accuracy(plain, truth)


def test_a_second_axis_is_reported():
    values, truth = repeating_crowd(0)
    choice, odds = choose(values)
    assert choice.rival is not None
    assert choice.rival.agreement < 0.85
    assert choice.rival.lead > 3
    assert accuracy(odds, truth) > 0.9
    assert choose(two_axes(0)[0])[0].rival is None


@pytest.mark.parametrize("kind", ALL)
def test_a_structure_can_be_asked_for(kind):
    values, _ = repeating_crowd(2)
    assert choose(values, (kind,))[0].candidate.kind == kind


def test_a_tilt_with_duplicates_once_is_scored_as_it_is_fitted():
    """Both count duplicates once, and so its gain is near that of the discount, not of plain."""
    values, _ = repeating_crowd(0)
    sample, found = sample_of(values), []
    for propose in STRUCTURES.values():
        found += propose(sample, found)
    *_, once, tilted = found
    assert (once.name, tilted.name) == ("discount, duplicates once", "tilt, duplicates once")
    assert tilted.model.means.shape[1] == 3
    assert tilted.weigh(sample.ballots).weights.min() < 0.5
    rows = {row["structure"]: row for row in choose(values)[0].table}
    assert rows[tilted.name]["gain"] > 0.9 * rows[once.name]["gain"] > 0
    whole = tilted.fit_all(ballots_of(values), sample_of(values[:700]))
    assert whole.affinity is tilted.affinity
    assert np.abs(whole.model.weights - tilted.model.weights).max() < 0.05


def test_the_truth_that_was_not_kept_is_at_hand():
    values, truth = repeating_crowd(0)
    choice, odds = choose(values)
    left = score(choice.rival.left, ballots_of(values))
    assert np.mean((left > 0) == (odds > 0)) < 0.85
    assert accuracy(left, truth) < accuracy(odds, truth)
    assert choose(plain_crowd(1)[0])[0].rival is None


def test_the_choice_is_fitted_to_all_items():
    values, _ = repeating_crowd(0, n_items=3000)
    choice = choose_structure(ballots_of(values), sample_of(values[:1500]), ALL)
    assert choice.candidate.kind == "discount"
    direct = choose(values)[0].candidate
    assert choice.candidate.model.weights == pytest.approx(direct.model.weights, abs=0.05)


def test_every_vote_is_predicted_from_strangers_alone():
    """Against a sum over both truths, with voters 0 and 1 as neighbors."""
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (30, 4))
    ballots = run_of(values)
    effects, priors = rng.normal(0, 1, (4, 2)), np.log(rng.dirichlet([1, 1], 30))
    near = np.array([0, 1, 2, 2, 2]), np.array([1, 0], dtype=np.int32)
    scores = score_by_strangers(*ballots[:3], ballots.weights, priors, effects, *near)
    expected = np.zeros(30)
    for i, s in zip(*np.nonzero(values), strict=True):
        others = [t for t in range(4) if values[i, t] and t != s and {s, t} != {0, 1}]
        joint = priors[i] + sum(log_expit(2 * values[i, t] * effects[t]) for t in others)
        posterior = np.exp(joint - np.logaddexp.reduce(joint))
        expected[i] += np.log(posterior @ expit(2 * values[i, s] * effects[s]))
    assert scores == pytest.approx(expected)


def test_at_most_so_many_neighbors_are_kept_and_the_nearest_ones():
    first, second = (np.array(x, dtype=np.int32) for x in ([0, 0, 0], [1, 2, 3]))
    tied = Affinity.tie(first, second, np.array([0.5, 0.9, 0.2], dtype=np.float32), 4)
    rows, others = _keep_nearest(tied, 2)
    assert others[rows[0] : rows[1]].tolist() == [1, 2]
    assert np.diff(rows).tolist() == [2, 1, 1, 1]
