import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from studies.chances import share_of_votes
from studies.records import find_commit, read_lines
from studies.worlds import runs
from studies.worlds.kinds import Place, draw_world
from studies.worlds.runs import (
    METHODS,
    OURS,
    REST,
    find_world_methods,
    read_rows,
    results_path,
    run_places,
    score_answer,
    score_intervals,
    score_world,
)
from studies.worlds.voters import World
from unelisa.aggregators import AGGREGATORS
from unelisa.analysis.comparison import build_aggregator
from unelisa.errors import ModelError, UnelisaWarning, warn_user
from unelisa.votes import Votes

PLACE = Place("choosing", "independent", 1)
CHEAP = ("majority-vote", "dawid-skene")


def test_every_method_has_a_row_on_a_small_world():
    rows = {row["method"]: row for row in score_world(PLACE)}
    assert set(METHODS) <= set(AGGREGATORS)
    assert tuple(rows) == METHODS
    json.dumps(list(rows.values()), allow_nan=False)
    for row in rows.values():
        assert (row["part"], row["kind"], row["number"]) == PLACE
        assert row["note"] == ""
        assert row["commit"] == find_commit()
        assert 0.5 < row["figures"]["accuracy"] <= 1
        assert row["seconds"] >= 0
    assert rows["latent-ising"]["structure"] != ""
    assert rows["wawa"]["structure"] == ""
    assert "log_loss" not in rows["wawa"]["figures"]


def test_figures_are_those_of_the_fitted_model():
    world = draw_world(PLACE)
    votes = Votes.of(world.votes, coding="pm1")
    model = build_aggregator("dawid-skene", random_state=0).fit(votes)
    (row,) = score_world(PLACE, ["dawid-skene"])
    right = np.sign(model.decision_function(votes)) == world.truth
    chances = model.predict_proba(votes)
    assert row["figures"]["accuracy"] == pytest.approx(right.mean(), abs=1e-6)
    likely = np.where(world.truth > 0, chances[:, 1], chances[:, 0])
    loss = -np.log(np.maximum(likely, 0.001)).mean()
    assert row["figures"]["log_loss"] == pytest.approx(loss, abs=1e-6)
    assert row["reliable"] == model.reliable_


def test_ties_count_half_and_undefined_figures_are_left_out():
    world = World(np.ones((4, 3), dtype=np.int8), np.ones(4, dtype=np.int8))
    figures = score_answer(world, np.array([1.0, 0.0, 0.0, -1.0]), None)
    assert figures == {"accuracy": 0.5}
    yes = np.array([0.9, 0.5, 0.5, 0.0])
    figures = score_answer(world, yes - 0.5, np.stack([1 - yes, yes], axis=1))
    expected = -np.log([0.9, 0.5, 0.5, 0.001]).mean()  # a P of 0 counts as .001
    assert figures == pytest.approx({"accuracy": 0.5, "log_loss": expected})


def test_three_classes_by_hand():
    votes = np.array([[1, 1, 3], [2, 3, 3], [1, 2, 0]], dtype=np.int8)
    world = World(votes, np.array([1, 2, 2], dtype=np.int8), 3)
    shares = share_of_votes(world.enter())
    figures = score_answer(world, shares, shares)
    assert figures["accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert figures["log_loss"] == pytest.approx(-np.log([3 / 6, 2 / 6, 2 / 5]).mean())


def test_majority_vote_has_the_chances_of_the_share_of_votes():
    world = draw_world(PLACE)
    (row,) = score_world(PLACE, ["majority-vote"])
    chances = share_of_votes(world.enter())
    expected = score_answer(world, chances[:, 1] - 0.5, chances)
    assert row["figures"] == pytest.approx(expected, abs=1e-6)


def state(expected=0.7, accuracy=(0.6, 0.9), rate=(0.4, 0.5), low=(), high=()):
    """A fitted model that states these intervals."""
    voters = pd.DataFrame({"accuracy_low": low, "accuracy_high": high} if low else {"weight": []})
    return SimpleNamespace(
        expected_accuracy_=expected,
        expected_accuracy_interval_=accuracy,
        prevalence_interval_=rate,
        voters_full_=voters,
    )


def test_intervals_are_compared_with_the_truth():
    votes = np.array([[1, 1, 0], [-1, -1, 0], [1, -1, 0], [0, 0, 0]], dtype=np.int8)
    world = World(votes, np.array([1, -1, -1, 1], dtype=np.int8))
    model = state(low=(0.5, 0.7, np.nan), high=(0.6, 1.0, np.nan))  # 2/3 and 3/3 are right
    found = score_intervals(model, world, 0.95)
    assert found["expected"] == 0.7
    assert (found["expected_held"], found["expected_width"]) == (0, pytest.approx(0.3))
    # a third of the items with votes is positive
    assert (found["rate_held"], found["rate_width"]) == (0, pytest.approx(0.1))
    assert (found["voters_held"], found["voters_width"]) == (0.5, pytest.approx(0.2))


def test_intervals_of_every_class_and_none_where_nothing_is_said():
    votes = np.array([[1, 1], [2, 2], [3, 3], [3, 1]], dtype=np.int8)
    world = World(votes, np.array([1, 2, 3, 3], dtype=np.int8), 3)
    found = score_intervals(state(rate=([0.2, 0.3, 0.4], [0.3, 0.4, 0.6])), world, 0.7)
    assert found["rate_held"] == pytest.approx(2 / 3)
    assert "voters_held" not in found
    for nothing in (None, (None, None), (np.nan, np.nan)):
        assert score_intervals(state(None, nothing, nothing), world, 0.7) == {}


def test_a_method_that_takes_two_classes_only_says_so_on_more():
    ours, spectral = score_world(Place("hard-choosing", "steps", 0), [OURS, REST[3]])
    assert "ModelError" in spectral["note"]
    assert spectral["figures"] == {}
    held = [name for name in ours["figures"] if name.endswith("_held")]
    assert set(held) == {"expected_held", "rate_held", "voters_held"}
    assert all(0 <= ours["figures"][name] <= 1 for name in held)


def test_warnings_are_named_and_stay_inside(monkeypatch):
    answer = runs._answer

    def warn(name, votes):
        warn_user("something is off", UnelisaWarning)
        return answer(name, votes)

    monkeypatch.setattr(runs, "_answer", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = score_world(PLACE, ["majority-vote"])
    assert row["warnings"] == ["UnelisaWarning"]


def test_a_failure_is_a_row_with_the_reason(monkeypatch):
    monkeypatch.setattr(runs, "_answer", lambda *_: 1 / 0)
    (row,) = score_world(PLACE, ["majority-vote"])
    assert row["figures"] == {}
    assert row["note"] == "ZeroDivisionError: division by zero"


def test_a_run_goes_on_where_it_was(tmp_path):
    places, steps = [PLACE, PLACE._replace(number=2)], []
    run_places(places[:1], tmp_path, CHEAP)
    run_places(places, tmp_path, CHEAP, done=lambda kind, count: steps.append((kind, count)))
    assert steps == [("", 1), ("independent", 1)]
    path = results_path(tmp_path, "choosing", "dawid-skene")
    assert [line["number"] for line in read_lines(path)] == [1, 2]
    path.unlink()  # a method that has changed
    run_places(places, tmp_path, CHEAP)
    assert len(read_lines(path)) == 2
    assert len(read_lines(results_path(tmp_path, "choosing", "majority-vote"))) == 2
    assert [(row["number"], row["method"]) for row in read_rows(tmp_path)] == [
        *((1, "dawid-skene"), (1, "majority-vote"), (2, "dawid-skene"), (2, "majority-vote"))
    ]


def test_methods_are_found_by_name():
    assert find_world_methods(None) == METHODS
    with pytest.raises(ModelError, match="the study has no method 'oracle'"):
        find_world_methods("oracle")
