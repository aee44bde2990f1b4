import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from unelisa.aggregators import AGGREGATORS, MajorityVote
from unelisa.analysis.comparison import (
    ClassMethodScore,
    MethodScore,
    build_aggregator,
    compare_methods,
    list_methods,
    rate_scores,
)
from unelisa.errors import ModelError, UnelisaWarning, VotesError
from unelisa.simulation.designs import simulate_classes
from unelisa.votes import Votes


def test_every_method_has_a_row(crowd):
    votes, truth = crowd
    rows = list(compare_methods(votes, truth))
    assert [row.method for row in rows] == list(AGGREGATORS)
    json.dumps([row._asdict() for row in rows], allow_nan=False)
    assert all(0 <= row.accuracy <= 1 and row.seconds >= 0 for row in rows)


def test_experts_are_counted_only_where_a_method_selects_them(crowd):
    rows = {row.method: row for row in compare_methods(*crowd)}
    assert rows["majority-vote"].n_experts is None
    assert rows["unelisa"].n_experts >= 3


def test_a_tie_counts_half():
    votes = Votes.of(np.array([[1, 1], [1, -1], [-1, -1]], dtype=np.int8))
    model, truth = MajorityVote().fit(votes), np.array([1, 1, 0], dtype=np.int8)
    row = rate_scores("mv", model, model.decision_function(votes), truth, 2.5)
    assert row == MethodScore("mv", 0.75, None, None, None, 2.5, None)


def test_the_fit_does_not_see_what_is_only_scored(crowd):
    votes, truth = crowd
    part, rest = votes.take_items(np.arange(300)), votes.take_items(np.arange(300, 600))
    row = next(compare_methods(part, truth[300:], ["unelisa"], scored=rest))
    model = build_aggregator("unelisa", 0).fit(part)
    assert row.accuracy == np.mean(model.predict(rest) == truth[300:])


def test_the_votes_faults_are_not_repeated_by_every_method():
    votes = Votes.of(np.array([[1, 1, -1], [1, -1, 1], [1, -1, -1]], dtype=np.int8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(compare_methods(votes, np.array([1, 1, -1], dtype=np.int8), ["majority-vote"]))


class _Choosy(MajorityVote):
    def _fit(self, votes):
        raise ModelError("it takes no such votes")


def test_a_method_that_refuses_has_an_empty_row(crowd, monkeypatch):
    monkeypatch.setitem(AGGREGATORS, "choosy", _Choosy)
    with pytest.warns(UnelisaWarning, match="choosy was left out: it takes no such votes"):
        rows = list(compare_methods(*crowd, ["choosy", "majority-vote"]))
    assert rows[0] == MethodScore("choosy")
    assert rows[1].accuracy is not None


def test_votes_that_nobody_can_use_are_refused():
    votes = Votes.of(np.zeros((2, 2), dtype=np.int8), coding="pm1")
    with pytest.raises(VotesError, match="there are no votes"):
        list(compare_methods(votes, np.array([1, -1], dtype=np.int8)))


@pytest.mark.parametrize("name", AGGREGATORS)
def test_settings_reach_the_methods_that_have_them(name):
    settings = build_aggregator(name, random_state=3, n_jobs=2).get_params()
    assert settings.get("random_state", 3) == 3
    assert settings.get("n_jobs", 2) == 2


@pytest.fixture(scope="module")
def classes():
    return simulate_classes(4, 12, 400, ordered=True, missing=0.6, random_state=0)


def test_methods_that_take_the_classes_are_compared(classes):
    rows = list(compare_methods(classes.votes, classes.truth))
    assert [row.method for row in rows] == list_methods(classes.votes)
    assert "unelisa" not in list_methods(classes.votes)
    json.dumps([row._asdict() for row in rows], allow_nan=False)
    assert all(row.mean_absolute_error is not None for row in rows)
    plain = replace(classes.votes, ordered=False)
    row = next(compare_methods(plain, classes.truth, ["dawid-skene"]))
    assert row.mean_absolute_error is None
    assert row.log_loss is not None


def test_a_row_of_classes_has_the_figures_of_the_model(classes):
    row = next(compare_methods(classes.votes, classes.truth, ["dawid-skene"]))
    model = build_aggregator("dawid-skene", 0).fit(classes.votes)
    labels = classes.votes.name_codes(classes.truth)
    assert row.accuracy == np.mean(model.predict(classes.votes) == labels)
    chances = model.predict_proba(classes.votes)
    right = chances[np.arange(400), classes.truth - 1]
    assert row.log_loss == pytest.approx(-np.log(np.maximum(right, 1e-6)).mean())


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("name", [n for n, c in AGGREGATORS.items() if c.takes.any_class])
def test_scores_of_classes_are_log_probabilities_where_there_are_any(name, classes):
    model = build_aggregator(name, 0).fit(classes.votes)
    scores = model.decision_function(classes.votes)
    assert scores.shape == (400, 4)
    if hasattr(model, "predict_proba"):
        assert softmax(scores, axis=1) == pytest.approx(model.predict_proba(classes.votes))


def test_a_method_of_two_classes_that_was_asked_for_says_why_it_is_left_out(classes):
    with pytest.warns(UnelisaWarning, match="unelisa was left out: .*takes two classes, found 4"):
        rows = list(compare_methods(classes.votes, classes.truth, ["unelisa"]))
    assert rows == [ClassMethodScore("unelisa")]
