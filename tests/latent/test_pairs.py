import numpy as np
import pytest

from latent.worlds import copying_crowd, plain_crowd, sample_of
from unelisa.latent import crowd as module
from unelisa.latent.crowd import measure_coherence


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


def test_coherence_is_1_for_voters_who_look_the_same_way_and_falls_with_contrarians():
    values, _ = copying_crowd(0, n_others=12)
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


def test_chance_adds_nothing_to_the_coherence_of_few_items():
    found = [coherence(polarized_crowd(0, n_items=40, seed=seed)) for seed in range(10)]
    assert np.mean(found) == pytest.approx(1, abs=0.05)


def polarized_crowd(turned, n_voters=40, n_items=1000, seed=0):
    """Votes of which 73 % are right; the first voters are turned around."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], size=(n_items, 1))
    right = np.where(rng.random((n_items, n_voters)) < 0.73, truth, -truth)
    return np.where(np.arange(n_voters) < turned, -right, right).astype(np.int8)


def test_of_very_many_voters_the_busiest_are_compared(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (40, 12))
    values[:20, ::2] = 0
    ballots, whole = sample_of(values).ballots, sample_of(values).pairs
    monkeypatch.setattr(module, "MOST_VOTERS", 6)
    found = module.find_pairs(ballots, 12)
    busy = set(range(1, 12, 2))
    assert set(found.first.tolist()) | set(found.second.tolist()) == busy
    assert len(found.first) == 15
    kept = np.isin(whole.first, list(busy)) & np.isin(whole.second, list(busy))
    expected = module.correlate(ballots, whole, np.zeros(len(ballots.votes)), 12)[kept]
    again = module.correlate(ballots, found, np.zeros(len(ballots.votes)), 12)
    assert again == pytest.approx(expected)
