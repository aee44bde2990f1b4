import numpy as np
import pytest

from latent.worlds import copying_crowd, plain_crowd, repeating_crowd, sample_of, sides
from unelisa.latent.consensus.contest import hold_contest
from unelisa.latent.consensus.families import (
    REPEATS,
    Ties,
    count_once,
    expect_votes,
    find_ties,
    number_families,
    propose_families,
    prune_families,
)
from unelisa.latent.consensus.model import Consensus, fit_consensus, start_consensus

SIDES = np.array([[1.0, 1.0], [1.0, -1.0]])


def known(truth):
    """The posterior of a truth that is known."""
    return np.stack([truth > 0, truth < 0], axis=1).astype(float)


def ties_between(*pairs):
    first, second, strengths = zip(*pairs, strict=True)
    return Ties(np.array(first), np.array(second), np.array(strengths))


def proposed(values, truth):
    sample = sample_of(values)
    return propose_families(find_ties(sample, known(truth), SIDES), sample.n_voters)


@pytest.mark.parametrize("repeat", [1.0, 0.95, 0.9])
@pytest.mark.parametrize("n_items", [300, 1000, 3000])
def test_copies_are_proposed_as_one_family(n_items, repeat):
    expected = [0] * 3 + [-1] * 8
    for seed in range(5):
        values, truth = copying_crowd(seed, n_items, repeat=repeat)
        assert expected in [family.tolist() for family in proposed(values, truth)]


@pytest.mark.parametrize("n_items", [300, 1000, 3000])
def test_copies_are_found_by_the_votes_alone(n_items):
    for seed in range(3):
        values, _ = copying_crowd(seed, n_items)
        sample = sample_of(values)
        best = hold_contest(sample, sample, ("plain", "families"), -np.inf).best
        assert best.model.family.tolist() == [0] * 3 + [-1] * 8


@pytest.mark.parametrize("n_items", [300, 3000])
def test_independent_voters_have_no_family(n_items):
    for seed in range(8):
        values, truth = copying_crowd(seed, n_items, n_copies=0, n_others=12)
        assert proposed(values, truth) == []
        sample = sample_of(values)
        best = hold_contest(sample, sample, ("plain", "families"), -np.inf).best
        assert best.model.n_families == 0


def test_sparse_voters_who_hardly_met_have_no_family():
    values, truth = plain_crowd(0, n_items=1000, n_voters=60, votes_per_item=5)
    values[:, 1] = values[:, 0]  # copies with about 80 items
    assert np.count_nonzero(values[:, 0]) < 100
    assert proposed(values, truth) == []


def test_copies_in_a_sparse_crowd_are_found():
    values, truth = plain_crowd(0, n_items=3000, n_voters=60, votes_per_item=5)
    values[:, 1] = values[:, 0]
    (family,) = {tuple(one) for one in proposed(values, truth)}
    assert family == (0, 0) + (-1,) * 58


def test_in_a_crowd_who_repeats_another_votes_on_the_same_items():
    """A copy of a third of somebody's votes is not a relative, unless all are asked at random."""
    values, truth = plain_crowd(0, n_items=3000, n_voters=60, votes_per_item=5)
    values[:, 0] = np.where(np.arange(3000) < 900, truth, 0)
    values[:900, 0] *= np.where(np.random.default_rng(0).random(900) < 0.3, -1, 1)
    values[:, 1] = np.where(np.arange(3000) < 300, values[:, 0], 0)
    assert proposed(values, truth) == []
    assert len(proposed(values[:, :2], truth)) == 1  # a panel: both answer a tenth or more


def test_relatives_on_a_panel_are_found_with_a_few_votes_per_item():
    values, truth = repeating_crowd(0)
    rng = np.random.default_rng(1)
    values[rng.random(values.shape) < 0.7] = 0
    sample = sample_of(values)
    ties = find_ties(sample, known(truth), SIDES)
    counts = np.count_nonzero(values, axis=0)
    met = (values[:, ties.first] != 0) & (values[:, ties.second] != 0)
    assert (met.sum(axis=0) < 0.5 * np.maximum(counts[ties.first], counts[ties.second])).all()
    group = np.repeat([0, 1, 2, 3], [6, 4, 3, 6])
    assert np.array_equal(group[ties.first], group[ties.second])
    assert len(ties.first) > 15
    assert (ties.strengths >= 0.5).all()


def test_a_few_items_show_no_family():
    """Related classifiers look like copies on a few dozen items, and leave too few voters."""
    values, truth = copying_crowd(0, n_items=99)
    assert proposed(values, truth) == []


def test_ties_are_what_the_hidden_states_leave():
    """Given the truth, relatives alone are tied; without it, everybody is."""
    values, truth = repeating_crowd(0)
    sample = sample_of(values)
    ties = find_ties(sample, known(truth), SIDES)
    group = np.repeat([0, 1, 2, 3], [6, 4, 3, 6])
    assert np.array_equal(group[ties.first], group[ties.second])
    assert len(ties.first) == 15 + 6 + 3
    assert np.all(ties.strengths > 0.5)
    even = np.ones((len(values), 1))
    assert len(find_ties(sample, even, np.array([[1.0, 0.0]])).first) > 100


def test_expected_votes_are_each_voters_mean_on_either_side():
    values, truth = plain_crowd(1, n_items=3000, n_voters=6, votes_per_item=6)
    found = expect_votes(sample_of(values), known(truth), SIDES).reshape(values.shape)
    for side in (-1, 1):
        expected = values[truth == side].mean(axis=0)
        assert found[truth == side] == pytest.approx(
            np.tile(expected, (np.count_nonzero(truth == side), 1)), abs=0.02
        )


def test_the_tree_is_cut_at_several_heights():
    ties = ties_between((0, 1, 0.9), (2, 3, 0.6), (4, 5, 0.3))
    found = [family.tolist() for family in propose_families(ties, 7)]
    assert found == [
        [0, 0, -1, -1, -1, -1, -1],
        [0, 0, 1, 1, -1, -1, -1],
        [0, 0, 1, 1, 2, 2, -1],
    ]


def test_without_ties_there_is_nothing_to_propose():
    nobody = np.empty(0, dtype=np.int32)
    assert propose_families(Ties(nobody, nobody, np.empty(0)), 5) == []


def test_average_linkage_joins_a_voter_who_is_tied_to_most_of_a_family():
    """0, 1, 2 are tied by .9; 3 is tied to one of them alone."""
    ties = ties_between((0, 1, 0.9), (0, 2, 0.9), (1, 2, 0.9), (2, 3, 0.9))
    found = [family.tolist() for family in propose_families(ties, 4)]
    assert found == [[0, 0, 0, -1], [0, 0, 0, 0]]


def test_families_are_numbered_by_their_first_voters_and_singles_have_none():
    assert number_families(np.array([9, 4, 4, -1, 9, 2])).tolist() == [0, 1, 1, -1, 0, -1]
    assert number_families(np.array([-1, -1])).tolist() == [-1, -1]
    assert number_families(np.array([], dtype=int)).tolist() == []


def test_voters_who_hardly_repeat_their_family_leave_it():
    values, truth = copying_crowd(1, n_items=1500)
    blocks = sample_of(values).blocks
    first = Consensus.first(np.array([0] * 4 + [-1] * 7))  # the fourth errs on its own
    model = fit_consensus(blocks, start_consensus(blocks, first, 3.0 * truth))
    assert model.members.means[3, 1] < REPEATS < model.members.means[:3, 1].min()
    assert prune_families(model).tolist() == [0] * 3 + [-1] * 8


def test_copies_count_once():
    rng = np.random.default_rng(2)
    truth = sides(rng, 2000)
    votes = np.where(rng.random((2000, 6)) < 0.75, truth[:, None], -truth[:, None])
    values = np.hstack([votes[:, :1]] * 3 + [votes[:, 1:]]).astype(np.int8)
    once = count_once(sample_of(values))
    assert once[:3].sum() == pytest.approx(1, abs=0.05)
    assert once[3:].min() > 0.7
