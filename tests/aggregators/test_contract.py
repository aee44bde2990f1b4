"""What every aggregator promises, whatever its method."""

import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from conftest import read_truth
from unelisa.aggregators import AGGREGATORS, OrientedAggregator
from unelisa.analysis.scoring import score_labels
from unelisa.errors import ModelError, UnelisaWarning, VotesError, VotesWarning
from unelisa.simulation.designs import simulate_votes
from unelisa.sources.tables import read_votes
from unelisa.votes import Votes

ORIENTED = [name for name, cls in AGGREGATORS.items() if issubclass(cls, OrientedAggregator)]
ANY = pytest.mark.parametrize("name", AGGREGATORS)
# a method may refuse many voters, in words: its own test shows that
LARGE = [name for name, cls in AGGREGATORS.items() if cls.takes.voters is None]
LABELS = [("no", "yes"), (False, True), (0, 1), (-1, 1), ("a", "b")]


def make(name, **settings_):
    cls = AGGREGATORS[name]
    if "random_state" in cls().get_params():
        settings_ = {"random_state": 0, **settings_}
    return cls(**settings_)


def fit_quietly(model, X, y=None):
    """Fit, and insist that every warning is one of ours, in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert all(issubclass(w.category, UnelisaWarning) for w in caught)
    assert all(" " in str(w.message) for w in caught)
    return model, [str(w.message) for w in caught]


def assert_sound(model, X, n_items):
    """Finite scores, the user's labels, and a probability that says the same as the label."""
    scores, labels = model.decision_function(X), model.predict(X)
    assert scores.shape == labels.shape == (n_items,)
    assert np.all(np.isfinite(scores))
    assert np.all(np.isfinite(model.weights_))
    assert labels.dtype == model.classes_.dtype
    clear = scores != 0
    assert np.array_equal(labels[clear], model.classes_[(scores >= 0).astype(int)][clear])
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(X)
        assert chances.shape == (n_items, 2)
        assert chances.min() >= 0
        assert chances.sum(axis=1) == pytest.approx(np.ones(n_items))
        clear = np.abs(scores) > 1e-12
        assert np.array_equal((chances[:, 1] > 0.5)[clear], (labels == model.classes_[1])[clear])


@ANY
@pytest.mark.parametrize("classes", LABELS, ids=str)
def test_labels_come_back_in_the_users_words(name, classes, crowd):
    values = crowd[0].values
    table = np.array(classes, dtype=object)[(values > 0).astype(int)].tolist()
    model, _ = fit_quietly(make(name), table)
    assert model.classes_.tolist() == list(classes)
    assert_sound(model, table, 600)
    plain, _ = fit_quietly(make(name), values)
    assert np.array_equal(model.predict(table) == classes[1], plain.predict(values) == 1)


@ANY
def test_shapes_and_types(name, crowd):
    votes, truth = crowd
    model, _ = fit_quietly(make(name), votes)
    assert model.weights_.shape == model.polarity_.shape == (9,)
    assert model.weights_.dtype == np.float64
    assert model.polarity_.dtype == np.int8
    assert np.array_equal(model.polarity_, np.sign(model.weights_))
    assert np.all(np.diff(model.experts_) > 0)
    assert model.n_features_in_ == 9
    assert_sound(model, votes, 600)
    assert_sound(model, votes.take_items(np.arange(3)), 3)
    assert len(model.voters_) == 9
    assert model.voters_.reason.str.len().min() > 0
    assert model.score(votes, truth) > 0.8
    assert np.array_equal(make(name).fit_predict(votes), model.predict(votes))


@ANY
def test_flipping_votes_or_permuting_voters_changes_only_that(name, crowd):
    values = crowd[0].values
    plain, _ = fit_quietly(make(name), values)
    flipped, _ = fit_quietly(make(name), -values)
    scores = plain.decision_function(values)
    near = 5e-3 if name == "latent-ising" else 1e-5  # its graph is fitted in single precision
    assert flipped.decision_function(-values) == pytest.approx(-scores, abs=near)
    clear = np.abs(scores) > 1e-4
    assert clear.any()
    assert np.array_equal(flipped.predict(-values)[clear], -plain.predict(values)[clear])
    assert flipped.weights_ == pytest.approx(plain.weights_, abs=near)
    order = np.random.default_rng(1).permutation(9)
    mixed, _ = fit_quietly(make(name), values[:, order])
    assert mixed.weights_ == pytest.approx(plain.weights_[order], abs=1e-3)
    assert sorted(order[mixed.experts_]) == plain.experts_.tolist()
    assert mixed.decision_function(values[:, order]) == pytest.approx(
        plain.decision_function(values), abs=1e-2
    )


@ANY
@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_voter_who_never_votes_changes_nothing(name, place, crowd):
    values = crowd[0].values
    more = Votes.of(np.insert(values, place, 0, axis=1), coding="pm1")
    plain, before = fit_quietly(make(name), values)
    silent, after = fit_quietly(make(name), more)
    assert any("never voted" in message for message in set(after) - set(before))
    assert silent.weights_[place] == 0
    assert np.delete(silent.weights_, place) == pytest.approx(plain.weights_, abs=1e-9)
    assert np.array_equal(silent.predict(more), plain.predict(values))


@ANY
def test_fitting_again_starts_afresh(name, crowd):
    votes, _ = crowd
    model, _ = fit_quietly(make(name), -votes.values[:200, :5])
    fit_quietly(model, votes)
    fresh, _ = fit_quietly(make(name), votes)
    assert np.array_equal(model.decision_function(votes), fresh.decision_function(votes))


@ANY
def test_a_method_takes_what_it_declares(name, crowd):
    """Classes, voters, gold labels and a prior; the rest is refused, or has no effect."""
    votes, truth = crowd
    cls, takes = AGGREGATORS[name], AGGREGATORS[name].takes
    three = [["a", "b", "c"], ["c", "a", "b"], ["b", "b", "a"], ["a", "b", "a"]]
    if takes.any_class:
        assert fit_quietly(make(name), three)[0].decision_function(three).shape == (4, 3)
    else:
        with pytest.raises(
            ModelError, match=f"takes two classes, found 3; use OneVsRest.{cls.__name__}"
        ):
            fit_quietly(make(name), three)
    if takes.any_class and "orient" in cls().get_params():
        with pytest.raises(ModelError, match="orient decides between two classes"):
            fit_quietly(make(name, orient="v0"), three)
    many = np.random.default_rng(0).choice([-1, 1], (20, (takes.voters or 30) + 1))
    if takes.voters is not None:
        with pytest.raises(ModelError, match=f"at most {takes.voters} voters who vary, found"):
            fit_quietly(make(name), many)
    known = np.where(np.arange(600) < 300, -truth, 0)
    told, _ = fit_quietly(make(name), votes, [label or None for label in known.tolist()])
    agrees = np.mean(told.predict(votes) == truth)
    assert (agrees > 0.8) == (takes.gold == "nothing")
    assert takes.prior == ("prior" in inspect.signature(cls.fit).parameters)


def test_the_reference_lists_what_methods_take():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    table = page.split("   * - method")[1].split("\n\n")[0].split("   * - ")[1:]
    rows = {
        name: row.split("\n     - ")[1:] for row in table for name in re.findall(r"``(\w+)``", row)
    }
    for cls in AGGREGATORS.values():
        classes, voters, gold, prior = (cell.strip() for cell in rows[cls.__name__])
        assert (classes == "any number") == cls.takes.any_class
        assert voters == (
            "any number" if cls.takes.voters is None else f"at most {cls.takes.voters}"
        )
        assert gold == cls.takes.gold
        assert (prior == "yes") == cls.takes.prior


@pytest.mark.parametrize("name", ORIENTED)
def test_gold_labels_turn_an_upside_down_crowd(name, crowd):
    votes, truth = crowd
    upside = Votes.of(-votes.values)
    wrong, _ = fit_quietly(make(name), upside)
    assert wrong.score(upside, truth) < 0.2
    gold = np.full(600, np.nan)
    gold[:12] = truth[:12]
    right, _ = fit_quietly(make(name), upside, gold)
    assert right.score(upside, truth) > 0.8
    # where gold is data, not only a side, it moves the weights a little
    near = 0.2 if name == "latent-ising" else 1e-9
    assert right.weights_ == pytest.approx(-wrong.weights_, abs=near)


@pytest.mark.parametrize("name", ORIENTED)
@pytest.mark.parametrize("anchor", ["v8", 8, -1])
def test_an_anchor_voter_settles_the_sides(name, anchor, crowd):
    votes, truth = crowd
    upside = Votes.of(-votes.values)  # voter 8 is now right on 85 % of the items
    model, _ = fit_quietly(make(name, orient=anchor), upside)
    assert model.score(upside, truth) > 0.8
    with pytest.raises(ModelError, match="not among the voters"):
        fit_quietly(make(name, orient="nobody"), upside)


@pytest.mark.parametrize("name", [name for name in ORIENTED if name in LARGE])
def test_the_side_is_set_by_those_who_know(name):
    """9 experts among 81 voters: a count over all signs would be left to the other 72."""
    simulated = simulate_votes(81, "sqrt", "high", n_items=1500, random_state=1)
    model, _ = fit_quietly(make(name), simulated.votes)
    assert model.score(simulated.votes, simulated.truth) > 0.9


@ANY
def test_missing_votes_and_one_voter_only(name, crowd):
    votes, truth = crowd
    seen = np.random.default_rng(0).random((600, 9)) < 0.6
    partial = Votes.of(np.where(seen, votes.values, np.nan))
    model, _ = fit_quietly(make(name), partial)
    assert_sound(model, partial, 600)
    assert model.score(partial, truth) > 0.7
    assert_sound(model, Votes.of(np.zeros((1, 9)), coding="pm1"), 1)
    values = np.array([[1], [-1], [1], [-1], [1]])
    model, told = fit_quietly(make(name), values)
    assert any("only one voter" in message for message in told)
    assert_sound(model, values, 5)
    assert model.predict(values).tolist() == [1, -1, 1, -1, 1]


@ANY
def test_voters_are_matched_by_name_and_their_number(name, crowd):
    frame = pd.DataFrame(crowd[0].values, columns=[f"judge {s}" for s in range(9)])
    model, _ = fit_quietly(make(name), frame)
    turned = frame[list(frame)[::-1]]
    assert np.array_equal(model.decision_function(turned), model.decision_function(frame))
    with pytest.warns(VotesWarning, match="unknown to the model"):
        model.predict(frame.assign(stranger=1))
    assert_sound(model, frame[["judge 0", "judge 3"]], 600)
    model, _ = fit_quietly(make(name), crowd[0].values)
    with pytest.raises(VotesError, match="X has 4 features"):
        model.predict(crowd[0].values[:, :4])


@ANY
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 3)), None, "0 items"),
        (np.full((3, 2), np.nan), None, "there are no votes"),
        (Votes.of(np.zeros((3, 2)), coding="pm1"), None, "there are no votes"),
        (np.eye(3) - np.eye(3)[::-1], None, "the codes -1, 0, 1 are ambiguous"),
        ([["yes", "no"], ["no", "no"]], ["yes"], "one label or a missing value"),
        ([["yes", "no"], ["no", "no"]], ["yes", "perhaps"], "row 2 of y"),
    ],
)
def test_errors_are_one_sentence(name, X, y, message):
    with warnings.catch_warnings(), pytest.raises(VotesError, match=message) as caught:
        warnings.simplefilter("ignore", UnelisaWarning)
        make(name).fit(X, y)
    assert ". " not in str(caught.value)
    assert "\n" not in str(caught.value)


@ANY
def test_every_setting_refuses_what_is_none_in_one_sentence(name, crowd):
    for setting in AGGREGATORS[name]().get_params():
        for wrong in (-0.5, float("nan"), {"a": 1}, object()):
            with pytest.raises(ModelError, match=f"{setting}|edge_rule|rule|solver") as caught:
                fit_quietly(make(name, **{setting: wrong}), crowd[0])
            assert ". " not in str(caught.value)


@ANY
@settings(max_examples=30)
@given(
    values=arrays(
        np.int8, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(-1, 1)
    )
)
def test_any_votes_give_finite_labels(name, values):
    votes = Votes.of(values, coding="pm1")
    if not values.any():
        with pytest.raises(VotesError, match="there are no votes"):
            make(name).fit(votes)
        return
    model, _ = fit_quietly(make(name), votes)
    assert_sound(model, votes, len(values))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "folder", "least"),
    [
        ("majority-vote", "bluebirds", 0.758),
        ("dawid-skene", "bluebirds", 0.878),
        ("spectral-meta-learner", "bluebirds", 0.84),
        ("stacked-rbm", "bluebirds", 0.82),
        ("latent-ising", "bluebirds", 0.75),
        ("latent-ising", "youtube_spam", 0.8),
        ("latent-ising", "llm_judges", 0.77),
    ],
)
def test_real_votes(name, folder, least, shared_data):
    votes = read_votes(min((shared_data / folder).glob("votes*")), coding="pm1")
    truth = read_truth(shared_data / folder / "truth.csv")
    signs = np.array([truth.get(str(item), 0) for item in votes.items], dtype=np.int8)
    model, _ = fit_quietly(make(name), votes)
    found = score_labels(signs, model.decision_function(votes))
    assert found.accuracy > least
