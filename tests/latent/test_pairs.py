import numpy as np
import pytest

from latent.worlds import plain_crowd, repeating_crowd, sample_of
from unelisa.latent import pairs as module
from unelisa.latent.pairs import measure_chance, measure_coherence


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


def chance(values):
    return measure_chance(*correlated_pairs(values), values.shape[1])


def test_coherence_is_1_for_voters_who_look_the_same_way_and_falls_with_contrarians():
    values, _ = repeating_crowd(0)
    assert coherence(values) > 0.7
    half = values * np.where(np.arange(values.shape[1]) % 2, 1, -1).astype(np.int8)
    assert coherence(half) < 0.2


def test_too_few_pairs_are_taken_as_coherent():
    assert coherence(np.array([[1, -1], [-1, 1]], dtype=np.int8)) == 1


def test_coherence_is_2q_less_1_squared_where_a_share_q_looks_one_way():
    for turned in (0, 4, 8, 12):
        values = polarized_crowd(turned, n_items=2000)
        # over ordered pairs of two different voters
        expected = ((40 - 2 * turned) ** 2 - 40) / (40 * 39)
        assert coherence(values) == pytest.approx(expected, abs=0.03)


def polarized_crowd(turned, n_voters=40, n_items=1000):
    """Votes of which 73 % are right; the first voters are turned around."""
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], size=(n_items, 1))
    right = np.where(rng.random((n_items, n_voters)) < 0.73, truth, -truth)
    return np.where(np.arange(n_voters) < turned, -right, right).astype(np.int8)


def test_a_coherence_of_a_fifth_is_no_chance_among_forty_voters():
    values = polarized_crowd(turned=11)
    assert 0.15 < coherence(values) < 0.3
    assert chance(values) < 0.01
    assert chance(polarized_crowd(turned=20)) > 0.3


def test_random_polarities_are_as_coherent_as_chance_says():
    values = polarized_crowd(turned=0, n_voters=12, n_items=300)
    rng = np.random.default_rng(1)
    shares = [chance(values * rng.choice([-1, 1], size=12).astype(np.int8)) for _ in range(200)]
    assert 0.02 < np.mean(np.array(shares) <= 0.1) < 0.2  # ties make it conservative


def test_few_voters_are_never_coherent_beyond_chance():
    assert chance(polarized_crowd(turned=0, n_voters=6)) > 0.01  # 2 of 2^6 polarities are the same
