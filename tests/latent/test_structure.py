import numpy as np
import pytest
from scipy.special import expit, log_expit

from latent.worlds import plain_crowd, repeating_crowd, rules, tilted_crowd, two_axes
from unelisa.kernels.ballots import score_by_strangers
from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.consensus import fit_consensus, infer_states, weigh_truth
from unelisa.latent.discount import Affinity
from unelisa.latent.pairs import find_pairs
from unelisa.latent.silence import LEAST_WEIGHT, fill_silence
from unelisa.latent.structure import (
    _keep_nearest,
    choose_structure,
    fit_all,
    fit_candidates,
    fit_rules,
)

ALL = ("plain", "tilt", "discount")


def choose(values, kinds=ALL):
    blocks = MemoryBallots.of(values)
    pairs = find_pairs(blocks.blocks[0], blocks.n_voters)
    choice = choose_structure(blocks, blocks, pairs, kinds)
    model = choice.candidate.model
    return choice, choice.candidate.prepare(blocks).concatenate(weigh_truth, model.factors)


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
        assert sum(row.kept for row in choice.table) == 1
        assert choice.table[0].structure == "plain"
        assert choice.table[0].gain == 0
        _, plain = choose(values, ("plain",))
        assert accuracy(odds, truth) >= accuracy(plain, truth)


def test_a_second_axis_is_reported():
    values, truth = repeating_crowd(0)
    choice, odds = choose(values)
    assert choice.rival is not None
    assert choice.rival.verdict.agreement < 0.85
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
    blocks = MemoryBallots.of(values)
    pairs = find_pairs(blocks.blocks[0], blocks.n_voters)
    *_, once, tilted = fit_candidates(blocks, pairs, ALL)
    assert (once.name, tilted.name) == ("discount, duplicates once", "tilt, duplicates once")
    assert tilted.model.has_tilt
    weights = tilted.weigh(blocks.blocks[0]).weights
    assert weights.min() < 0.5
    rows = {row.structure: row for row in choose(values)[0].table}
    assert rows[tilted.name].gain > 0.9 * rows[once.name].gain > 0
    half = MemoryBallots.of(values[:700])
    whole = fit_all(blocks, half, pairs, tilted)  # other items than it was fitted to
    assert whole.affinity is tilted.affinity
    assert np.abs(whole.model.weights - tilted.model.weights).max() < 0.05


def test_the_axis_that_was_not_kept_is_at_hand():
    values, truth = repeating_crowd(0)
    choice, odds = choose(values)
    blocks = MemoryBallots.of(values)
    other = choice.rival.other
    left = other.prepare(blocks).concatenate(weigh_truth, other.model.factors)
    assert np.mean((left > 0) == (odds > 0)) < 0.85
    assert accuracy(left, truth) < accuracy(odds, truth)
    assert choose(plain_crowd(1)[0])[0].rival is None


def test_every_vote_is_predicted_from_strangers_alone():
    """Against a sum over both truths, with voters 0 and 1 as neighbours."""
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (30, 4))
    ballots = MemoryBallots.of(values).blocks[0]
    lean, priors = rng.normal(0, 1, (4, 2)), np.log(rng.dirichlet([1, 1], 30))
    near = np.array([0, 1, 2, 2, 2]), np.array([1, 0], dtype=np.int32)
    scores = score_by_strangers(*ballots[:3], ballots.weights, priors, lean, *near)
    expected = np.zeros(30)
    for i, s in zip(*np.nonzero(values), strict=True):
        others = [t for t in range(4) if values[i, t] and t != s and {s, t} != {0, 1}]
        joint = priors[i] + sum(log_expit(2 * values[i, t] * lean[t]) for t in others)
        posterior = np.exp(joint - np.logaddexp.reduce(joint))
        expected[i] += np.log(posterior @ expit(2 * values[i, s] * lean[s]))
    assert scores == pytest.approx(expected)


def test_at_most_so_many_neighbors_are_kept_and_the_nearest_ones():
    first, second = (np.array(x, dtype=np.int32) for x in ([0, 0, 0], [1, 2, 3]))
    tied = Affinity.tie(first, second, np.array([0.5, 0.9, 0.2], dtype=np.float32), 4)
    rows, others = _keep_nearest(tied, 2)
    assert others[rows[0] : rows[1]].tolist() == [1, 2]
    assert np.diff(rows).tolist() == [2, 1, 1, 1]


def test_em_draws_rules_to_the_largest_group_that_speaks_together_weighing_them_once_does_not():
    values, truth = rules(0)
    rng = np.random.default_rng(1)
    event = rng.random((len(truth), 1)) < 0.3  # of no concern to the truth
    group = np.where(event & (rng.random((len(truth), 4)) < 0.7), 1, 0)
    values = np.hstack([values, group]).astype(np.int8)
    silence = np.where((values > 0).any(axis=0), -1, 1).astype(np.int8)
    blocks = MemoryBallots.of(values).rewrite(fill_silence, silence)
    once = fit_rules(blocks, silence).model
    start = infer_states, once.factors
    rounds = fit_consensus(blocks, *start, model=once, least_weight=LEAST_WEIGHT)
    heard = values.any(axis=1)
    at_once, at_last = (
        accuracy(blocks.concatenate(weigh_truth, model.factors)[heard], truth[heard])
        for model in (once, rounds)
    )
    assert at_once > at_last + 0.1
