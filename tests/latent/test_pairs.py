import numpy as np
import pytest

from latent.worlds import plain_crowd, repeating_crowd
from unelisa.latent import pairs as module
from unelisa.latent.ballots import MemoryBallots
from unelisa.latent.pairs import correlate, expect_means, find_pairs, measure_coherence


def naive(values):
    """Correlations of centred votes and common items, pair by pair."""
    n_voters = values.shape[1]
    there = values != 0
    centred = np.where(there, values - values.sum(axis=0) / np.maximum(there.sum(axis=0), 1), 0.0)
    centred /= np.maximum(np.sqrt((centred**2).sum(axis=0) / there.sum(axis=0)), 0.05)
    found = {}
    for s in range(n_voters):
        for t in range(s + 1, n_voters):
            both = there[:, s] & there[:, t]
            if both.sum() >= 5:
                found[s, t] = both.sum(), centred[both, s] @ centred[both, t] / both.sum()
    return found


@pytest.mark.parametrize("strip", [20, 4_000_000])
@pytest.mark.parametrize("votes_per_item", [1, 2, 12])
def test_pairs_are_those_who_met(votes_per_item, strip, monkeypatch):
    monkeypatch.setattr(module, "STRIP", strip)
    values, _ = plain_crowd(0, n_items=200, n_voters=12, votes_per_item=votes_per_item)
    ballots = MemoryBallots.of(values).blocks[0]
    pairs = find_pairs(ballots, 12)
    correlations = correlate(ballots, pairs, expect_means(ballots, 12), 12)
    expected = naive(values)
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == list(expected)
    assert pairs.common.tolist() == [common for common, _ in expected.values()]
    assert correlations == pytest.approx([c for _, c in expected.values()], abs=1e-5)


def coherence(values):
    ballots, n_voters = MemoryBallots.of(values).blocks[0], values.shape[1]
    pairs = find_pairs(ballots, n_voters)
    means = expect_means(ballots, n_voters)
    return measure_coherence(pairs, correlate(ballots, pairs, means, n_voters))


def test_coherence_is_1_for_voters_who_look_the_same_way_and_falls_with_contrarians():
    values, _ = repeating_crowd(0)
    assert coherence(values) > 0.7
    half = values * np.where(np.arange(values.shape[1]) % 2, 1, -1).astype(np.int8)
    assert coherence(half) < 0.36


def test_too_few_pairs_are_taken_as_coherent():
    assert coherence(np.array([[1, -1], [-1, 1]], dtype=np.int8)) == 1
