"""Copies of voters: who they are."""

import numpy as np

from unelisa.latent.crowd import DISSENTS, find_copies
from unelisa.votes.ballots import list_ballots, take_ballots
from unelisa.votes.blocks import KeptBlocks, WholeTable


def make_votes(n_items=300, accuracies=(0.8, 0.7, 0.75, 0.6, 0.9), seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), n_items)
    right = rng.random((n_items, len(accuracies))) < np.array(accuracies)
    return np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)


def find(votes, n_classes=2):
    found = find_copies(list_ballots(WholeTable(np.asfortranarray(votes))), n_classes).tolist()
    return None if found == list(range(votes.shape[1])) else found


def test_equal_voters_are_copies_of_the_first():
    votes = make_votes()
    assert find(votes) is None
    assert find(votes[:, [0, 1, 2, 1, 3, 0, 1]]) == [0, 1, 2, 1, 4, 0, 1]
    classes = votes + 2  # 1 and 3
    classes[::5] = 2
    assert find(classes[:, [0, 1, 1, 2]], 3) == [0, 1, 1, 3]


def test_one_vote_less_or_another_vote_makes_no_copy():
    votes = make_votes()[:, [0, 1, 1, 2]]
    for other in (0, -votes[7, 2]):
        changed = votes.copy()
        changed[7, 2] = other
        assert find(changed) is None


def test_agreement_that_chance_explains_is_none():
    """Voters who are always right are equal; so are those who share few errors."""
    votes = make_votes(accuracies=(1.0, 1.0, 0.97, 0.97, 0.97))
    assert find(votes) is None
    truth, row = votes[:, 0], np.arange(len(votes))
    others = [
        np.where((row > 100 + 10 * k) & (row < 106 + 10 * k), -truth, truth) for k in range(3)
    ]
    for errors, found in ((DISSENTS - 1, None), (DISSENTS, [0, 1, 1, 3, 4])):
        twice = np.where(row < errors, -truth, truth)
        assert find(np.stack([others[0], twice, twice, *others[1:]], axis=1)) == found


def test_silent_voters_are_not_copies():
    votes = make_votes()
    votes[:, [1, 3]] = 0
    assert find(votes) is None


def test_blocks_of_items_say_the_same():
    votes = make_votes(500)[:, [0, 1, 2, 1]]
    whole = list_ballots(WholeTable(np.asfortranarray(votes)))
    parts = [take_ballots(whole, np.arange(k, k + 125)) for k in range(0, 500, 125)]
    assert find_copies(KeptBlocks(parts, 4)).tolist() == [0, 1, 2, 1]
