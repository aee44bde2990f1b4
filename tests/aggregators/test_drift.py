import numpy as np
import pytest

import unelisa as ue
from unelisa.aggregators.drift import describe_drift, find_drift
from unelisa.errors import ModelError, ReliabilityWarning

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")


def draw(seed, last, n_items=900, n_voters=10):
    """Votes of good voters; the accuracy of the first falls to `last` in the second half."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.4
    right = np.tile(rng.uniform(0.7, 0.9, n_voters), (n_items, 1))
    right[:, 0] = np.where(np.arange(n_items) < n_items / 2, 0.9, last)
    said = np.where(rng.random(right.shape) < right, truth[:, None], ~truth[:, None])
    return ue.Votes.of(np.where(said, 1, -1))


def test_who_changed_is_named_and_an_update_warns():
    votes = draw(0, 0.6)
    table = find_drift(ue.DawidSkene().fit(votes), votes)
    assert table["voter"][table["drifted"]].tolist() == ["v0"]
    row = table.iloc[0]
    assert row["first"] > row["last"] + 0.15
    assert row["change"] == pytest.approx(row["last"] - row["first"], abs=0.06)
    assert "accuracy of 1 voter changed over time: 'v0'" in describe_drift(table)
    votes = draw(2, 0.5)
    model = ue.LatentIsing().fit(votes.take_items(np.arange(800)))
    with pytest.warns(ReliabilityWarning, match="accuracy of 1 voter changed over time: 'v0'"):
        model.update(votes.take_items(np.arange(800, 900)))


def test_nobody_is_named_by_chance_or_for_harder_items():
    named = 0
    for seed in range(30):
        votes = draw(seed, 0.9, n_items=400)
        named += int(find_drift(ue.DawidSkene().fit(votes), votes)["drifted"].any())
    assert named <= 2
    rng = np.random.default_rng(1)
    truth = rng.random(1000) < 0.5
    right = np.where(np.arange(1000)[:, None] < 500, 0.9, 0.65) + np.zeros((1000, 8))
    said = np.where(rng.random(right.shape) < right, truth[:, None], ~truth[:, None])
    votes = ue.Votes.of(np.where(said, 1, -1))
    table = find_drift(ue.LatentIsing().fit(votes), votes)
    assert table["drifted"].sum() <= 1


def test_few_votes_tell_nothing_and_other_models_are_refused(crowd):
    votes = draw(0, 0.5, n_items=50)
    table = find_drift(ue.DawidSkene().fit(votes), votes)
    assert table["p_value"].isna().all()
    assert not table["drifted"].any()
    assert describe_drift(table) == ""
    more = ue.simulate_classes(n_classes=3, n_voters=6, n_items=300, random_state=0).votes
    table = find_drift(ue.DawidSkene().fit(more), more)
    assert table["p_value"].between(0, 1).all()
    votes, _ = crowd
    with pytest.raises(ModelError, match="LatentIsing or DawidSkene, found MajorityVote"):
        find_drift(ue.MajorityVote().fit(votes), votes)
