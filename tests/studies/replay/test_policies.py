import numpy as np
import pytest

from studies.replay.policies import POLICIES, Market, buy_for_entropy, buy_for_fewest
from studies.replay.recordings import draw_recording
from studies.replay.runs import draw_first
from unelisa.simulation.crowds import simulate_classes
from unelisa.sources.labels import KnownLabels


def known_crowd(n_items=80):
    drawn = simulate_classes(3, 8, n_items, missing=0.3, random_state=0)
    return KnownLabels(drawn.votes, drawn.truth, np.empty(0), np.empty(0, dtype=np.int8))


@pytest.fixture
def market():
    recording = draw_recording(known_crowd(), seed=0, most=60)
    rng = np.random.default_rng(0)
    chosen = draw_first(recording.offered, rng)
    return Market(recording.bought(chosen), recording.offered & ~chosen, rng)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_policy_buys_distinct_votes_that_are_offered(market, name):
    pairs = POLICIES[name](market, 45)
    assert len({tuple(pair) for pair in pairs.tolist()}) == 45
    assert market.offered[pairs[:, 0], pairs[:, 1]].all()
    rest = POLICIES[name](market, 10_000)
    assert len(rest) == market.offered.sum()
    assert len(np.unique(rest, axis=0)) == len(rest)


def test_the_fewest_votes_come_first(market):
    pairs = buy_for_fewest(market, 90)
    counts = np.count_nonzero(market.votes.values, axis=1)
    np.add.at(counts, pairs[:, 0], 1)
    open_ = market.without(pairs).any(axis=1)
    assert counts[open_].max() - counts[open_].min() <= 1


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_the_largest_entropy_comes_first(market):
    chances = market.dawid_skene.predict_proba(market.votes)
    entropy = -np.sum(chances * np.log(np.maximum(chances, 1e-12)), axis=1)
    items = buy_for_entropy(market, 10)[:, 0]
    others = np.setdiff1d(np.flatnonzero(market.offered.any(axis=1)), items)
    assert len(set(items.tolist())) == 10
    assert entropy[items].min() >= entropy[others].max() - 1e-12
