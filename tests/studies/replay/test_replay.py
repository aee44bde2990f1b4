"""Recorded votes bought batch by batch."""

import numpy as np
import pytest

from studies.replay import runs
from studies.replay.figures import draw_curves, mean_curve
from studies.replay.policies import OURS, POLICIES, Market, buy_for_entropy, buy_for_fewest
from studies.replay.recordings import draw_recording
from studies.replay.runs import draw_first, replay, score_votes
from unelisa.simulation.designs import simulate_classes
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def read(_seed):
    drawn = simulate_classes(3, 6, 40, missing=0.2, random_state=0)
    return KnownLabels(drawn.votes, drawn.truth, np.empty(0), np.empty(0, dtype=np.int8))


def test_a_curve_buys_what_its_stops_say_and_ends_with_all_votes():
    recording = draw_recording(read(0), 0)
    whole = score_votes(recording, recording.offered)
    curve = replay(recording, OURS, 0, whole)
    n_items, everything = len(recording.truth), int(recording.offered.sum())
    wanted = [min(round(stop * n_items), everything) for stop in runs.STOPS[: len(curve)]]
    assert [point[0] for point in curve] == wanted
    assert curve[-1] == whole
    assert all(0 <= point[1] <= 1 < 1 + point[2] for point in curve)


def row(policy, seed, heights):
    curve = [[100 * (k + 1), height, 1 - height] for k, height in enumerate(heights)]
    at_end = {"items": 100, "voters": 5, "whole": [500, 0.9, 0.1]}
    return {"set": "toy", "policy": policy, "seed": seed, "curve": curve, **at_end}


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


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_the_fewest_votes_or_the_largest_entropy_come_first(market):
    pairs = buy_for_fewest(market, 90)
    counts = np.count_nonzero(market.votes.values, axis=1)
    np.add.at(counts, pairs[:, 0], 1)
    open_ = market.without(pairs).any(axis=1)
    assert counts[open_].max() - counts[open_].min() <= 1
    chances = market.dawid_skene.predict_proba(market.votes)
    entropy = -np.sum(chances * np.log(np.maximum(chances, 1e-12)), axis=1)
    items = buy_for_entropy(market, 10)[:, 0]
    others = np.setdiff1d(np.flatnonzero(market.offered.any(axis=1)), items)
    assert len(set(items.tolist())) == 10
    assert entropy[items].min() >= entropy[others].max() - 1e-12


def known():
    values = np.array([[1, -1, 0], [1, 0, 0], [-1, -1, 0], [1, 1, 0]], dtype=np.int8, order="F")
    votes = Votes.of_values(values, np.arange(4), np.array(["a", "b", "c"]))
    return KnownLabels(
        votes, np.array([1, 1, -1, 0], dtype=np.int8), np.empty(0), np.empty(0, dtype=np.int8)
    )


def test_items_have_a_truth_and_only_what_was_bought_is_seen():
    recording = draw_recording(known(), seed=0)
    assert recording.votes.items.tolist() == [0, 2]
    assert recording.votes.voters.tolist() == ["a", "b"]
    assert recording.truth.tolist() == [1, -1]
    assert recording.offered.all()
    chosen = np.array([[True, False], [False, True]])
    assert recording.bought(chosen).values.tolist() == [[1, 0], [0, -1]]
    offered = draw_recording(read(0), 0).offered
    first = draw_first(offered, np.random.default_rng(0))
    assert (first.sum(axis=1) == 1).all()
    assert not (first & ~offered).any()


def test_curves_are_means_over_the_seeds_with_a_line_for_every_policy():
    votes, heights = mean_curve([row("ours", k, [0.6, 0.7 + 0.1 * k]) for k in (0, 1)])
    assert votes == [1.0, 2.0]
    assert heights == pytest.approx([0.6, 0.75])
    pytest.importorskip("matplotlib")
    figure = draw_curves([row(policy, 0, [0.6, 0.7]) for policy in POLICIES])
    lines = [line.get_label() for line in figure.axes[0].get_lines()]
    assert lines[: len(POLICIES)] == list(POLICIES)
