from functools import cache
from typing import get_args

import numpy as np
import pytest

from latent.worlds import (
    bad_clique,
    copying_crowd,
    echo,
    plain_crowd,
    repeating_crowd,
    sample_of,
    sides,
    tilted_crowd,
    two_camps,
    uneven_crowd,
)
from unelisa.latent.consensus.contest import (
    LEAST_BRANCHES,
    SAME_TRUTH,
    Kind,
    hold_contest,
    weigh_majority,
)
from unelisa.latent.consensus.model import infer

ALL = get_args(Kind)
WORLDS = {
    "plain": plain_crowd,
    "tilt": tilted_crowd,
    "families": repeating_crowd,
    "ease": uneven_crowd,
}


def hold(values, kinds=ALL, least_weight=-np.inf):
    sample = sample_of(values)
    return hold_contest(sample, sample, kinds, least_weight)


@cache
def held(world, seed):
    """The contest on one of the worlds, and the truth."""
    values, truth = world(seed)[:2]
    return hold(values), truth


def right(candidate, truth):
    return np.mean((candidate.truth > 0.5) == (truth > 0))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", WORLDS)
def test_every_world_gets_the_structure_that_it_was_made_with(kind, seed):
    choice, truth = held(WORLDS[kind], seed)
    assert choice.best.kind == kind
    assert choice.best.admissible
    assert (choice.rival, choice.few) == (None, None)
    assert right(choice.best, truth) >= right(choice.tried[0], truth) - 0.01


@pytest.mark.parametrize("world", [plain_crowd, tilted_crowd, repeating_crowd, bad_clique])
def test_evidence_decides_and_ties_go_to_the_most_branches(world):
    """No admissible candidate of the same truth has log n nats more, or as many and more branches.

    A candidate with too few branches cannot win.
    """
    choice, _ = held(world, 0)
    tie = np.log(len(choice.best.truth))
    most = max(
        one.evidence
        for one in choice.tried
        if one.admissible and (not one.model.n_families or one.branches >= LEAST_BRANCHES)
    )
    assert choice.best.evidence > most - tie
    for one in choice.tried:
        if one.admissible and one.evidence > most - tie:
            assert one.branches <= choice.best.branches


def test_candidates_describe_their_own_fit():
    choice, _ = held(repeating_crowd, 1)
    sample = sample_of(repeating_crowd(1)[0])
    for one in choice.tried:
        posterior = infer(sample.ballots, one.model.factors)[0]
        assert one.posterior == pytest.approx(posterior)
        half = posterior.shape[1] // 2
        assert one.truth == pytest.approx(posterior[:, :half].sum(axis=1))
        assert one.branches == np.count_nonzero(one.model.lone) + one.model.n_families
        assert one.clear <= one.branches
        assert one.agreement(choice.best) == pytest.approx(choice.best.agreement(one))
        assert 0.5 <= one.agreement(choice.best) <= one.agreement(one) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_root_stays_with_the_most_branches_beside_a_bad_clique(seed):
    """Six voters repeat an opinion that is hardly better than a coin: they are one branch."""
    choice, truth = held(bad_clique, seed)
    assert choice.best.model.family.tolist() == [0] * 6 + [-1] * 8
    assert choice.best.branches == 9
    assert right(choice.best, truth) > 0.94
    assert right(choice.tried[0], truth) < 0.9


@pytest.mark.parametrize("seed", range(3))
def test_two_camps_of_one_size_are_two_readings(seed):
    values, truth, cue = two_camps(seed)
    choice = hold(values)
    assert choice.rival is not None
    assert choice.best.agreement(choice.rival) < SAME_TRUTH
    seen = {
        side: [max(right(one, axis), 1 - right(one, axis)) for one in (choice.best, choice.rival)]
        for side, axis in (("truth", truth), ("cue", cue))
    }
    assert max(seen["truth"]) > 0.85
    assert max(seen["cue"]) > 0.85
    assert np.argmax(seen["truth"]) != np.argmax(seen["cue"])


def test_a_tree_with_too_few_branches_is_told_of_and_not_chosen():
    """Three copies and one other: nothing is left to test the root with."""
    rng = np.random.default_rng(0)
    truth = sides(rng, 1500)
    said = echo(rng, truth, 0.8)
    columns = [echo(rng, said, 0.95) for _ in range(3)] + [echo(rng, truth, 0.8) for _ in range(2)]
    choice = hold(np.array(columns, dtype=np.int8).T)
    assert choice.few is not None
    assert choice.few.branches < LEAST_BRANCHES
    assert choice.few.model.family[:3].tolist() == [0, 0, 0]
    assert choice.best.model.n_families == 0 or choice.best.branches >= LEAST_BRANCHES


@pytest.mark.parametrize("kind", ["plain", "ease", "families", "tilt"])
def test_with_one_kind_the_choice_is_of_that_kind(kind):
    values = WORLDS[kind](2)[0]
    choice = hold(values, (kind,))
    assert choice.best.kind == kind
    assert choice.rival is None


def test_a_kind_that_the_votes_do_not_admit_gives_way_to_plain():
    values, _ = copying_crowd(0, n_copies=0)
    assert hold(values, ("families",)).best.kind == "plain"


def test_a_tilt_that_takes_the_truths_place_is_not_admissible():
    """Two camps: a tilt would be the second camp's cue."""
    choice = hold(two_camps(0)[0])
    tilted = [one for one in choice.tried if one.model.has_tilt]
    assert tilted
    assert not any(one.admissible for one in tilted)


def test_votes_turned_around_or_in_another_order_decide_the_same():
    values, _ = repeating_crowd(2)
    choice, turned = held(repeating_crowd, 2)[0], hold(-values)
    assert turned.best.kind == choice.best.kind
    assert turned.best.truth == pytest.approx(1 - choice.best.truth, abs=1e-3)
    order = np.random.default_rng(0).permutation(len(values))
    mixed = hold(values[order])
    assert np.array_equal(mixed.best.model.family, choice.best.model.family)
    assert mixed.best.truth == pytest.approx(choice.best.truth[order], abs=1e-3)


def test_rules_are_never_contrarians():
    values, _ = plain_crowd(3)
    values[:, 0] *= -1
    free, held_up = hold(values, ("plain",)), hold(values, ("plain",), least_weight=0.2)
    assert free.best.model.weights[0] < 0
    assert held_up.best.model.branches.means[:, 1].min() == pytest.approx(0.2)


def test_the_majority_counts_every_voter_with_its_weight():
    sample = sample_of(np.array([[1, 1, -1], [0, 0, 0], [-1, 0, 1], [1, 1, 1]], dtype=np.int8))
    assert weigh_majority(sample, np.ones(3)) == pytest.approx([2.5 / 4, 0.5, 0.5, 3.5 / 4])
    found = weigh_majority(sample, np.array([0.5, 0.5, 1.0]))
    assert found == pytest.approx([0.5, 0.5, 1.5 / 2.5, 2.5 / 3])
