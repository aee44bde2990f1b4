"""Every kind keeps the promise of its first line; several worlds of each."""

import numpy as np
import pytest

from studies.worlds import simulated


@pytest.fixture
def draw():
    """Return a function that gives some worlds of a kind."""
    return lambda kind: [kind(np.random.default_rng([5, seed])) for seed in range(6)]


def accuracies(world):
    right = (world.votes == world.truth[:, None]).sum(axis=0)
    return right / np.maximum((world.votes != 0).sum(axis=0), 1)


def agreements(world):
    """The share of items on which each pair of voters who both voted agree, below the diagonal."""
    voted = (world.votes != 0).astype(float)
    both = voted.T @ voted
    same = (both + world.votes.T.astype(float) @ world.votes) / 2
    return (same / np.maximum(both, 1))[np.tril_indices(len(both), -1)]


def test_copies_are_exact_and_near_copies_nearly(draw):
    sizes = set()
    for exact, near in zip(draw(simulated.copies), draw(simulated.near_copies), strict=True):
        assert np.sum(agreements(exact) == 1) in {1, 3, 6}  # pairs among two, three or four
        assert agreements(near).max() == pytest.approx(0.945, abs=0.06)
        assert agreements(near).max() < 1
        sizes.add(len(exact.truth))
    assert sizes <= {300, 1000, 3000, 10_000}
    assert len(sizes) > 1


def test_one_judge_is_there_with_two_prompts(draw):
    for world in draw(simulated.two_prompts):
        pairs = np.sort(agreements(world))
        assert world.votes.shape[1] == 8
        assert pairs[-1] > 0.87
        assert pairs[-2] < pairs[-1]


def test_a_clique_is_bad_and_the_others_are_better(draw):
    for world in draw(simulated.bad_clique):
        right = np.sort(accuracies(world))
        assert 0.48 < right[:4].mean() < 0.66
        assert right[5:].min() > 0.6
        assert np.sum(agreements(world) > 0.8) in {6, 10}  # pairs among four or five


def test_families_agree_within_and_say_yes_too_often(draw):
    lean = []
    for world in draw(simulated.lenient_families):
        lean.append((world.votes > 0).mean() - (world.truth > 0).mean())
        assert np.sum(agreements(world) > 0.75) > 0
    assert np.mean(lean) > 0


def test_an_incomplete_panel_answers_three_to_six_times_per_item(draw):
    for world in draw(simulated.incomplete_panel):
        votes = np.count_nonzero(world.votes, axis=1)
        assert 3 <= votes.max() <= 6
        assert votes.mean() > 0.6 * votes.max()  # up to 30 % were missing before
        answered = np.mean(world.votes != 0, axis=0)
        assert np.ptp(answered) < 0.2  # everybody is asked equally often


def test_a_rare_class_is_rare(draw):
    for world in draw(simulated.rare_class):
        assert 0.015 < np.mean(world.truth > 0) < 0.16


def test_rules_are_one_sided_silent_on_most_items_and_better_than_chance(draw):
    silent = []
    for world in draw(simulated.rules):
        rate = np.mean(world.truth > 0)
        for column in world.votes.T:
            said = set(column[column != 0])
            assert len(said) == 1
            base = rate if said == {1} else 1 - rate
            assert np.mean(world.truth[column != 0] == column[column != 0]) > base
        silent.append(np.mean(~world.votes.any(axis=1)))
    assert np.mean(silent) > 0.1


def test_thresholds_of_one_count_are_nested(draw):
    for world in draw(simulated.thresholds):
        nested = sum(
            bool((world.votes[:, s] <= world.votes[:, t]).all())
            for s in range(world.votes.shape[1])
            for t in range(world.votes.shape[1])
            if s != t
        )
        assert nested >= 3


def test_contrarians_are_a_minority(draw):
    for world in draw(simulated.contrarians):
        assert 0 < np.mean(accuracies(world) < 0.5) <= 0.3


def test_half_of_the_spammers_world_ignores_the_truth(draw):
    for world in draw(simulated.spammers):
        votes, truth = world.votes[:, 1::2], world.truth
        cast = np.array([(votes[truth == side] != 0).sum(axis=0) for side in (-1, 1)])
        yes = np.array([(votes[truth == side] > 0).sum(axis=0) for side in (-1, 1)])
        shares = yes / cast
        assert np.abs(shares[0] - shares[1]).mean() < 0.15


def test_items_differ_in_ease(draw):
    """Voters err together: the number of right votes varies more than that of independent ones."""
    for world in draw(simulated.uneven_ease):
        voted = world.votes != 0
        rows = voted.all(axis=1)
        right = (world.votes == world.truth[:, None])[rows]
        if rows.sum() > 200:
            alone = (right.mean(axis=0) * (1 - right.mean(axis=0))).sum()
            assert right.sum(axis=1).var() > 1.2 * alone


def test_tilted_voters_err_together(draw):
    for world in draw(simulated.tilted):
        means = [world.votes[world.truth == side].mean(axis=0) for side in (1, -1)]
        votes = world.votes - np.where(world.truth[:, None] > 0, *means)
        correlation = np.corrcoef(votes, rowvar=False)
        assert correlation[np.tril_indices(len(correlation), -1)].mean() > 0.03


def test_a_sparse_crowd_has_a_few_votes_per_item(draw):
    for world in draw(simulated.sparse_crowd):
        counts = (world.votes != 0).sum(axis=1)
        assert 3 <= counts.min() == counts.max() <= 7


def test_independent_voters_are_better_than_chance(draw):
    for world in draw(simulated.independent):
        assert accuracies(world).min() > 0.5


def test_the_papers_designs_have_25_voters(draw):
    for world in draw(simulated.paper)[:2]:
        assert world.votes.shape[1] == 25
        assert world.votes.all()
