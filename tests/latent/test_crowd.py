"""The votes as they are read: counts, samples, copies, and pairs of voters."""

import numpy as np
import pytest

from latent.worlds import class_crowd, copying_crowd, crowd_of, plain_crowd, polarized, sample_of
from unelisa.latent import crowd as module
from unelisa.latent.crowd import (
    DISSENTS,
    LEAST_ITEMS,
    Pairs,
    exceeds_factor,
    find_copies,
    measure_coherence,
)
from unelisa.simulation.designs import simulate_votes
from unelisa.votes.ballots import list_ballots, take_ballots
from unelisa.votes.blocks import KeptBlocks, WholeTable


def test_a_crowd_counts_its_votes_and_who_varies():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    values[:, 4] = 0  # silent: not a pair with anybody
    crowd = crowd_of(values)
    assert crowd.votes.tolist() == np.count_nonzero(values, axis=0).tolist()
    assert crowd.cast[:, 1].tolist() == (values > 0).sum(axis=0).tolist()
    counts = np.count_nonzero(values, axis=1)
    assert crowd.common == (counts * (counts - 1)).sum() / (6 * 5)
    values, _ = class_crowd(0, n_items=80, n_classes=3)
    crowd = crowd_of(values, 3)
    assert crowd.cast.T.tolist() == [(values == k).sum(axis=0).tolist() for k in (1, 2, 3)]
    values, _ = plain_crowd(2, n_items=200, n_voters=4, votes_per_item=4)
    beside = np.stack([values[:, 1], np.ones(200), np.zeros(200)], axis=1)
    crowd = crowd_of(np.hstack([values, beside]).astype(np.int8))
    assert crowd.heads.tolist() == [0, 1, 2, 3, 1, 5, 6]
    assert np.flatnonzero(~crowd.distinct).tolist() == [4]
    assert crowd.varied.tolist() == [0, 1, 2, 3]


def test_a_sample_has_the_same_items_every_time_and_votes_enough():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    one, other = (crowd_of(values).draw(20) for _ in range(2))
    assert (one.ballots.n_items, one.blocks.n_items, one.n_voters) == (20, 20, 7)
    assert np.array_equal(one.tabulate(), other.tabulate())
    assert np.array_equal(crowd_of(values).draw(50).tabulate(), values)
    assert one.pairs is one.pairs
    values, _ = plain_crowd(0, n_items=1000, n_voters=7, votes_per_item=3)
    assert np.count_nonzero(crowd_of(values).draw_votes(1800).tabulate()) == 1800
    assert crowd_of(values).draw_votes(60).ballots.n_items == LEAST_ITEMS
    assert crowd_of(values[:300]).draw_votes(60).ballots.n_items == 300
    values = np.repeat([[1, 1, 1], [1, -1, 1], [-1, -1, -1]], [6000, 3000, 1000], axis=0)
    drawn = crowd_of(np.asfortranarray(values, dtype=np.int8)).draw(1000).tabulate()
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert counts / 1000 == pytest.approx([0.1, 0.3, 0.6], abs=0.06)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_sample_is_the_same_in_any_order_of_items_voters_and_classes(n_classes):
    """Among the voters two copies, and two who name each class equally often."""
    rng = np.random.default_rng(n_classes)
    codes = np.stack([rng.permutation(np.arange(3000) % n_classes) for _ in range(5)], axis=1)
    codes[:, 2] = np.where(rng.random(3000) < 0.4, 0, codes[:, 2])
    values = (2 * codes - 1 if n_classes == 2 else codes + 1)[:, [0, 1, 2, 3, 4, 4]]
    items, voters = rng.permutation(3000), rng.permutation(6)
    turned = -values if n_classes == 2 else np.array([0, 2, 3, 1])[values]
    samples = []
    for table in (values, values[items][:, voters], turned):
        drawn = crowd_of(np.asfortranarray(table, dtype=np.int8), n_classes).draw(700).tabulate()
        samples.append(drawn)
    samples[1] = samples[1][:, np.argsort(voters)]
    samples[2] = -samples[2] if n_classes == 2 else np.array([0, 3, 1, 2])[samples[2]]
    rows = [sorted(sample.tolist()) for sample in samples]
    assert rows[0] == rows[1] == rows[2]
    assert samples[0].mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.12)


def test_correlations_of_a_sample_are_those_of_residuals():
    values, _ = plain_crowd(1, n_voters=8, votes_per_item=8)
    sample = crowd_of(values).draw(300)
    expected = np.corrcoef(values, rowvar=False)[sample.pairs.first, sample.pairs.second]
    assert np.allclose(sample.correlations, expected, atol=1e-5)


def make_votes(n_items=300, accuracies=(0.8, 0.7, 0.75, 0.6, 0.9), seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), n_items)
    right = rng.random((n_items, len(accuracies))) < np.array(accuracies)
    return np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)


def find(votes, n_classes=2):
    found = find_copies(list_ballots(WholeTable(np.asfortranarray(votes))), n_classes).tolist()
    return None if found == list(range(votes.shape[1])) else found


def test_equal_voters_are_copies_of_the_first_also_in_blocks():
    votes = make_votes()
    assert find(votes) is None
    assert find(votes[:, [0, 1, 2, 1, 3, 0, 1]]) == [0, 1, 2, 1, 4, 0, 1]
    classes = votes + 2  # 1 and 3
    classes[::5] = 2
    assert find(classes[:, [0, 1, 1, 2]], 3) == [0, 1, 1, 3]
    votes = make_votes(500)[:, [0, 1, 2, 1]]
    whole = list_ballots(WholeTable(np.asfortranarray(votes)))
    parts = [take_ballots(whole, np.arange(k, k + 125)) for k in range(0, 500, 125)]
    assert find_copies(KeptBlocks(parts, 4)).tolist() == [0, 1, 2, 1]
    votes = make_votes()
    votes[:, [1, 3]] = 0
    assert find(votes) is None


def test_copies_are_equal_in_every_vote_and_more_than_chance():
    votes = make_votes()[:, [0, 1, 1, 2]]
    for other in (0, -votes[7, 2]):
        changed = votes.copy()
        changed[7, 2] = other
        assert find(changed) is None
    # voters who are always right are equal; so are those who share few errors
    votes = make_votes(accuracies=(1.0, 1.0, 0.97, 0.97, 0.97))
    assert find(votes) is None
    truth, row = votes[:, 0], np.arange(len(votes))
    others = [
        np.where((row > 100 + 10 * k) & (row < 106 + 10 * k), -truth, truth) for k in range(3)
    ]
    for errors, found in ((DISSENTS - 1, None), (DISSENTS, [0, 1, 1, 3, 4])):
        twice = np.where(row < errors, -truth, truth)
        assert find(np.stack([others[0], twice, twice, *others[1:]], axis=1)) == found


def naive(values):
    """Correlations of centered votes and common items, pair by pair."""
    n_voters = values.shape[1]
    there = values != 0
    centered = np.where(there, values - values.sum(axis=0) / np.maximum(there.sum(axis=0), 1), 0.0)
    centered /= np.maximum(np.sqrt((centered**2).sum(axis=0) / there.sum(axis=0)), 0.05)
    found = {}
    for s in range(n_voters):
        for t in range(s + 1, n_voters):
            both = there[:, s] & there[:, t]
            if both.sum() >= 5:
                found[s, t] = both.sum(), centered[both, s] @ centered[both, t] / both.sum()
    return found


@pytest.mark.parametrize("strip", [20, 4_000_000])
@pytest.mark.parametrize("votes_per_item", [1, 2, 12])
def test_pairs_are_those_who_met(votes_per_item, strip, monkeypatch):
    monkeypatch.setattr(module, "STRIP", strip)
    values, _ = plain_crowd(0, n_items=200, n_voters=12, votes_per_item=votes_per_item)
    pairs, correlations = correlated_pairs(values)
    expected = naive(values)
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == list(expected)
    assert pairs.common.tolist() == [common for common, _ in expected.values()]
    assert correlations == pytest.approx([c for _, c in expected.values()], abs=1e-5)


def correlated_pairs(values):
    sample = sample_of(values)
    return sample.pairs, sample.correlations


def coherence(values):
    return measure_coherence(*correlated_pairs(values))


def test_coherence_is_1_for_voters_who_look_the_same_way_and_2q_less_1_squared():
    values, _ = copying_crowd(0, n_others=12)
    assert coherence(values) > 0.7
    half = values * np.where(np.arange(values.shape[1]) % 2, 1, -1).astype(np.int8)
    assert coherence(half) < 0.2
    for turned in (0, 4, 8, 12):
        values = polarized(turned, n_items=2000)[0]
        # over ordered pairs of two different voters
        expected = ((40 - 2 * turned) ** 2 - 40) / (40 * 39)
        assert coherence(values) == pytest.approx(expected, abs=0.03)
    assert coherence(np.array([[1, -1], [-1, 1]], dtype=np.int8)) == 1
    found = [coherence(polarized(0, n_items=40, seed=seed)[0]) for seed in range(10)]
    assert np.mean(found) == pytest.approx(1, abs=0.05)


def test_of_very_many_voters_the_busiest_are_compared(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (40, 12))
    values[:20, ::2] = 0
    whole, found = sample_of(values), sample_of(values)
    expected = whole.correlations
    monkeypatch.setattr(module, "MOST_VOTERS", 6)
    busy = list(range(1, 12, 2))
    assert np.unique(found.pairs[:2]).tolist() == busy
    assert len(found.pairs.first) == 15
    kept = np.isin(whole.pairs.first, busy) & np.isin(whole.pairs.second, busy)
    assert found.correlations == pytest.approx(expected[kept])


def pairs_of(values):
    first, second = np.triu_indices(values.shape[1], 1)
    common = np.full(len(first), len(values), np.float32)
    correlations = np.corrcoef(values.T)[first, second].astype(np.float32)
    return Pairs(first.astype(np.int32), second.astype(np.int32), common), correlations


def crowd(accuracies, n_items, seed):
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], size=(n_items, 1))
    return np.where(rng.random((n_items, len(accuracies))) < accuracies, truth, -truth)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "accuracies",
    [np.full(20, 0.7), np.r_[np.full(15, 0.8), np.full(5, 0.2)], np.r_[np.full(6, 0.9), [0.5] * 9]],
    ids=["alike", "contrarians", "spammers"],
)
def test_a_truth_that_everybody_sees_is_one_factor(accuracies, seed):
    assert not exceeds_factor(*pairs_of(crowd(accuracies, 300, seed)))


@pytest.mark.parametrize("snr", ["high", "medium", "low"])
@pytest.mark.parametrize("size", ["log", "sqrt"])
def test_edges_between_voters_are_more(snr, size):
    votes = simulate_votes(25, size, snr, random_state=1).votes
    pairs, correlations = pairs_of(np.asarray(votes.values))
    assert exceeds_factor(pairs, correlations)
    order = np.random.default_rng(0).permutation(25)
    flipped = np.asarray(votes.values)[:, order] * np.where(order % 2, 1, -1)
    assert exceeds_factor(*pairs_of(flipped))


def test_noise_is_no_more_than_a_factor():
    assert not exceeds_factor(*pairs_of(crowd(np.full(12, 0.5), 200, 0)))
