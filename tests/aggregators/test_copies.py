"""A panel with a judge twice or three times is the panel with that judge once."""

import numpy as np
import pytest

from unelisa import LatentIsing, Votes, simulate_classes, suggest_votes
from unelisa.analysis.rate import estimate_rate
from unelisa.storage import load, save

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def make_panel(n=400, seed=0):
    """Seven judges, two of whom are relatives."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.6, 1, -1)
    right = rng.random((n, 7)) < np.array([0.9, 0.85, 0.8, 0.8, 0.75, 0.7, 0.55])
    said = np.where(right, truth[:, None], -truth[:, None])
    said[:, 3] = np.where(rng.random(n) < 0.95, said[:, 2], -said[:, 2])
    return said.astype(np.int8)


def name(values, classes=("no", "yes"), extra=0):
    voters = [f"j{s}" for s in range(values.shape[1] - extra)] + [f"copy{s}" for s in range(extra)]
    return Votes.of_values(values, np.arange(len(values)), np.array(voters, dtype=object), classes)


def repeat(values, judge, times):
    return np.hstack([values, *[values[:, [judge]]] * (times - 1)])


@pytest.fixture(scope="module")
def panel():
    values = make_panel()
    return values, LatentIsing().fit(name(values))


@pytest.mark.parametrize(("judge", "times"), [(0, 2), (0, 3), (2, 2), (6, 3)])
def test_effective_judges_and_chances_stay(panel, judge, times):
    values, once = panel
    votes = name(repeat(values, judge, times), extra=times - 1)
    model = LatentIsing().fit(votes)
    assert model.effective_voters_ == pytest.approx(once.effective_voters_)
    assert np.allclose(model.predict_proba(votes), once.predict_proba(name(values)))
    assert model.expected_accuracy_ == pytest.approx(once.expected_accuracy_)
    (kin,) = [kin for kin in model.families_ if f"j{judge}" in kin]
    assert {f"copy{s}" for s in range(times - 1)} < set(kin)
    rows = model.voters_.set_index("voter")
    figures = ["sensitivity", "specificity", "weight", "standard_error", "votes"]
    assert rows.loc["copy0", figures].tolist() == rows.loc[f"j{judge}", figures].tolist()
    assert rows.loc["copy0", "verdict"] == f"family of {rows.loc['copy0', 'family']}"
    assert f"repeats j{judge} vote for vote" in rows.loc["copy0", "reason"]
    assert rows.loc[f"j{judge}", "family"] == rows.loc["copy0", "family"]
    assert len(model.fields_) == len(model.standard_errors_) == len(rows)


def test_a_copy_is_stored_as_one_and_not_asked(panel, tmp_path):
    values, once = panel
    votes = name(repeat(values, 0, 2), extra=1)
    model = LatentIsing().fit(votes)
    save(model, tmp_path / "model.npz")
    kept = load(tmp_path / "model.npz")
    assert kept.families_ == model.families_
    assert np.allclose(estimate_rate(kept, votes), estimate_rate(once, name(values)))
    values, _ = panel
    some = repeat(values, 1, 2)
    some[:100, [1, -1]] = 0
    votes = name(some, extra=1)
    asked = suggest_votes(LatentIsing().fit(votes), votes, n=60, spread=False)
    assert "copy0" not in set(asked["voter"])
    assert "j1" in set(asked["voter"])


def test_copies_of_two_judges_or_of_more_classes_count_once():
    values = repeat(make_panel()[:, :2], 0, 2)
    model = LatentIsing().fit(name(values, extra=1))
    assert not model.reliable_
    assert model.effective_voters_ <= 2
    crowd = simulate_classes(n_classes=3, n_voters=6, n_items=300, random_state=0)
    values = crowd.votes.values
    classes = tuple(crowd.votes.classes)
    once = LatentIsing().fit(name(values, classes))
    votes = name(repeat(values, 1, 3), classes, extra=2)
    model = LatentIsing().fit(votes)
    assert np.allclose(model.predict_proba(votes), once.predict_proba(name(values, classes)))
    assert model.effective_voters_ == pytest.approx(once.effective_voters_)
    table = model.voters_.set_index("voter")
    assert table.loc["copy1", "accuracy"] == table.loc["j1", "accuracy"]
    assert ["j1", "copy0", "copy1"] in model.families_
