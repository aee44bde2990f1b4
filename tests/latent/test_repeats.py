"""Who repeats whom: partial correlations beside a slow computation, and the counts they give."""

from itertools import permutations

import numpy as np
import pytest

from latent.worlds import (
    bad_clique,
    ballots_of,
    class_crowd,
    copied_classes,
    copying_crowd,
    crowd_of,
    plain_crowd,
)
from unelisa.latent import prior
from unelisa.latent import repeats as module
from unelisa.latent.consensus import read_consensus
from unelisa.latent.repeats import (
    RARE,
    Compared,
    Repeaters,
    compare_voters,
    find_repeaters,
    measure_partial,
)


@pytest.fixture(autouse=True)
def _held(monkeypatch):
    """The numbers of the prior may be learned anew: what these tests say of them does not move."""
    monkeypatch.setattr(prior, "REPEATS", 0.65)
    monkeypatch.setattr(prior, "RAMP", 0.15)


def naive_weights(signs, there):
    """1 / sum_t max(C_st, 0)^ALIKE, the voter itself among them, on at least FEWEST items."""
    totals = np.ones(signs.shape[1])
    for s, t in permutations(range(len(totals)), 2):
        common = there[:, s] & there[:, t]
        if common.sum() >= module.FEWEST:
            correlation = np.corrcoef(signs[common, s], signs[common, t])[0, 1]
            totals[s] += max(correlation, 0) ** module.ALIKE
    return 1 / totals


def naive_partial(signs, there, s, t, weights, compared=slice(None)):
    """The correlation of two voters on their common items, given the rest of the crowd there."""
    common = there[:, s] & there[:, t]
    own = np.where(there, signs * weights, 0.0)
    others = own.sum(axis=1) - own[:, s] - own[:, t]
    few = weights[compared].min()
    many = np.maximum(there @ weights - 2 * weights[compared].mean(), few)
    table = np.corrcoef([signs[common, s], signs[common, t], (others / many)[common]])
    st, sr, tr = table[0, 1], table[0, 2], table[1, 2]
    return (st - sr * tr) / np.sqrt((1 - sr**2) * (1 - tr**2))


def measure(values, n_classes=2, heard=None, voters=None):
    n_voters = values.shape[1]
    heard = np.ones(n_voters, dtype=bool) if heard is None else heard
    voters = np.arange(n_voters) if voters is None else voters
    sample = crowd_of(values, n_classes).draw(len(values))
    return Compared(voters, *measure_partial(sample, heard, voters, n_classes), 0.0)


def repeaters_of(crowd):
    return find_repeaters(crowd, compare_voters(crowd))


@pytest.mark.parametrize("votes_per_item", [8, 4])
def test_partial_correlations_are_given_all_others(votes_per_item):
    values, _ = plain_crowd(0, 600, n_voters=8, votes_per_item=votes_per_item)
    found, there = measure(values), values != 0
    weights = naive_weights(values, there)
    assert np.array_equal(found.common, there.T.astype(int) @ there)
    for s, t in np.argwhere(np.triu(np.ones((8, 8)), 1)):
        expected = naive_partial(values, there, s, t, weights)
        assert found.correlations[s, t] == pytest.approx(expected, abs=1e-4)
    assert np.array_equal(found.correlations, found.correlations.T)


def test_of_more_classes_it_is_the_mean_of_who_names_each():
    values, _ = class_crowd(0, 600, n_classes=3, n_voters=6, votes_per_item=5)
    values[:2, 0] = 4  # a class too rare to count
    found, there = measure(values, 4).correlations, values != 0
    shares = np.array([np.mean(values[there] == k) for k in (1, 2, 3, 4)])
    assert shares[3] < RARE
    own = (shares * (1 - shares))[:3]
    for s, t in [(0, 1), (2, 4), (3, 5)]:
        named = [np.where(values == k, 1.0, -1.0) for k in (1, 2, 3)]
        parts = [naive_partial(x, there, s, t, naive_weights(x, there)) for x in named]
        assert found[s, t] == pytest.approx(own @ parts / own.sum(), abs=1e-4)


def test_only_some_voters_are_heard_and_compared():
    values, _ = plain_crowd(0, 400, n_voters=8, votes_per_item=6)
    heard, voters = np.arange(8) != 3, np.array([0, 2, 5])
    found = measure(values, heard=heard, voters=voters)
    there, weights = (values != 0) & heard, np.ones(8)
    weights[voters] = naive_weights(values[:, voters], there[:, voters])
    expected = naive_partial(values, there, 0, 5, weights, voters)
    assert found.correlations[0, 2] == pytest.approx(expected, abs=1e-4)


def pairs_of(first, second, excess):
    return np.array(first, np.int32), np.array(second, np.int32), np.array(excess, dtype=float)


def test_a_count_is_1_over_1_and_all_excess_and_families_are_in_order():
    crowd = crowd_of(plain_crowd(0, 50, n_voters=6)[0])
    found = Repeaters.of(crowd, pairs_of([0, 0, 4], [1, 2, 5], [1.0, 0.7, 0.2]), 0)
    assert found.counts == pytest.approx([1 / 2.7, 1 / 2, 1 / 1.7, 1, 1 / 1.2, 1 / 1.2])
    assert found.family.tolist() == [0, 0, 0, -1, -1, -1]  # an excess of .2 is no family
    crowd = crowd_of(plain_crowd(0, 50, n_voters=7)[0])
    found = Repeaters.of(crowd, pairs_of([5, 0, 3], [6, 4, 4], [1.0, 1.0, 0.6]), 0)
    assert found.family.tolist() == [0, -1, -1, 0, 0, 1, 1]


def test_excess_is_what_a_correlation_has_beyond_chance():
    values, _ = copying_crowd(0, n_copies=2, repeat=0.95)
    found, partial = repeaters_of(crowd_of(values)), measure(values)
    margin = np.sqrt(2 * np.log(10 * 9 / 2) / 600)
    expected = (partial.correlations[0, 1] - margin - prior.REPEATS) / prior.RAMP
    assert 0 < expected < 1
    assert (found.first.tolist(), found.second.tolist()) == ([0], [1])
    assert found.excess == pytest.approx([expected], abs=1e-6)


def test_lower_bounds_by_fishers_z_suspect_what_independent_errors_do_not_prove():
    values, _ = copying_crowd(0, n_items=60, repeat=0.99)
    found = compare_voters(crowd_of(values))
    r, margin = found.correlations[0, 1], np.sqrt(2 * np.log(11 * 10 / 2))
    assert found.bound_surely()[0, 1] == pytest.approx(r - margin / np.sqrt(60))
    bound = np.tanh(np.arctanh(r) - margin / np.sqrt(57))
    assert found.bound_perhaps()[0, 1] == pytest.approx(bound)
    surely = find_repeaters(crowd_of(values), found)
    perhaps = find_repeaters(crowd_of(values), found, surely=False)
    assert np.all(perhaps.counts <= surely.counts)
    assert perhaps.counts[:3].max() < 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes_per_item", [12, 4])
def test_independent_voters_repeat_nobody(n_classes, votes_per_item):
    for seed in range(5):
        values, _ = class_crowd(seed, 500, n_classes, votes_per_item=votes_per_item, accuracy=0.85)
        signs = np.where(values == 0, 0, 2 * values - 3).astype(np.int8)
        found = repeaters_of(crowd_of(signs if n_classes == 2 else values, n_classes))
        assert (len(found.first), found.counts.min(), found.family.max()) == (0, 1, -1)


def test_a_few_common_items_or_none_show_nothing():
    values, _ = copying_crowd(0, n_items=15, repeat=1.0)
    assert repeaters_of(crowd_of(values)).counts.tolist() == [1.0] * values.shape[1]
    values = np.zeros((60, 3), dtype=np.int8)
    values[:30, 0], values[30:, 1], values[:, 2] = 1, -1, 1
    found = measure(values)
    assert not found.correlations.any()
    assert found.common[0, 1] == 0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_near_copies_are_found(n_classes):
    values, _ = (copying_crowd if n_classes == 2 else copied_classes)(0, repeat=0.99)
    own = [0, 1, 2] if n_classes == 2 else list(range(6, 12))
    found = repeaters_of(crowd_of(values, n_classes))
    assert np.flatnonzero(found.family == 0).tolist() == own
    assert found.counts[own] == pytest.approx(1 / len(own), abs=0.15)
    assert np.delete(found.counts, own).tolist() == [1.0] * (values.shape[1] - len(own))
    plain = find_repeaters(crowd_of(values, n_classes), None)
    assert plain.counts.tolist() == [1.0] * values.shape[1]


def test_copies_are_one_voter_and_repeat_whom_each_of_them_repeats():
    values, _ = copying_crowd(0, n_copies=2, repeat=0.995)
    values = values[:, [0, 0, 0, *range(1, 10)]]  # three copies and one near copy
    found = repeaters_of(crowd_of(values))
    assert found.n_copies == 3
    assert found.family.tolist() == [0] * 4 + [-1] * 8
    assert found.counts[:4] == pytest.approx([1 / 6] * 3 + [1 / 2], abs=0.08)
    crowd = crowd_of(values)
    for exact in (find_repeaters(crowd, None), found.only_copies(crowd)):
        assert exact.counts == pytest.approx([1 / 3] * 3 + [1] * 9)
        assert exact.family.tolist() == [0] * 3 + [-1] * 9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_who_says_the_same_of_every_item_counts_nothing(n_classes):
    values = plain_crowd(2, 200, 4, 4)[0] if n_classes == 2 else class_crowd(0, 200, 3, 4)[0]
    rule = np.where(np.arange(200) < 150, 1, 0)  # silent on some: it tells items apart
    beside = np.hstack([values, np.ones((200, 1)), rule[:, None]]).astype(np.int8)
    assert repeaters_of(crowd_of(beside, n_classes)).counts.tolist() == [1.0] * 4 + [0.0, 1.0]
    alone = repeaters_of(crowd_of(beside[:, 4:5], n_classes))
    assert alone.counts.tolist() == [1.0]  # there is nobody else


def test_of_very_many_voters_the_busiest_are_compared(monkeypatch):
    monkeypatch.setattr(module, "MOST_VOTERS", 6)
    values, _ = copying_crowd(0, repeat=0.99)
    values[500:, 2] = 0  # less busy, with the last four others
    values[500:, 7:] = 0
    found = repeaters_of(crowd_of(values))
    assert (found.first.tolist(), found.second.tolist()) == ([0], [1])


def test_a_clique_of_bad_copies_does_not_win():
    gains = []
    for seed in range(4):
        values, truth = bad_clique(seed, repeat=0.97)
        ballots, crowd = ballots_of(values), crowd_of(values)
        right = [
            np.mean((read_consensus(crowd, structure).score(ballots) > 0) == (truth > 0))
            for structure in ("auto", "ease")
        ]
        assert right[0] > 0.9
        gains.append(right[0] - right[1])
    assert np.mean(gains) > 0.2
