"""The reporting part's own kinds, by their shapes and rates alone: no method is run on them."""

import numpy as np
import pytest

from studies.worlds import unseen


@pytest.fixture
def draw():
    return lambda kind: [kind(np.random.default_rng([5, seed])) for seed in range(4)]


def test_an_expert_is_copied_and_votes_are_missing(draw):
    for world in draw(unseen.copied_expert):
        assert world.votes.shape[1] in {11, 12, 13}
        assert 0.25 < np.mean(world.votes == 0) < 0.65
        first, second = world.votes[:, 0], world.votes[:, 1]
        both = (first != 0) & (second != 0)
        assert np.mean(first[both] == second[both]) > 0.87


def test_families_are_nested(draw):
    for world in draw(unseen.nested_families):
        correlation = np.corrcoef(world.votes, rowvar=False)
        pairs = correlation[np.tril_indices(len(correlation), -1)]
        assert pairs.max() > 0.7
        assert pairs.min() < 0.4
        assert 6 <= len(correlation) <= 36


def test_voters_are_good_at_one_of_two_topics(draw):
    """Voters of the same topic are right together more often than voters of different ones."""
    for world in draw(unseen.two_topics):
        margins = world.votes * world.truth[:, None]
        teams = margins[:, ::2].sum(axis=1), margins[:, 1::2].sum(axis=1)
        assert np.corrcoef(*teams)[0, 1] < -0.1


def test_voters_change_over_the_items(draw):
    for world in draw(unseen.drifting_crowd):
        counts = (world.votes != 0).sum(axis=1)
        assert 5 <= counts.min() == counts.max() <= 9
        halves = np.array_split(np.arange(len(counts)), 2)
        rates = [
            (world.votes[rows] == world.truth[rows, None]).sum(axis=0)
            / np.maximum((world.votes[rows] != 0).sum(axis=0), 1)
            for rows in halves
        ]
        busy = (world.votes != 0).sum(axis=0) > 60
        assert np.abs(rates[0] - rates[1])[busy].mean() > 0.03
