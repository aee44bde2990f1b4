import json
import warnings

import numpy as np
import pytest

from studies.chances import share_of_yes
from studies.records import read_lines
from studies.worlds import runs
from studies.worlds.kinds import Place, draw_world
from studies.worlds.runs import (
    METHODS,
    find_world_methods,
    read_rows,
    results_path,
    run_places,
    score_answer,
    score_world,
)
from unelisa.aggregators import AGGREGATORS
from unelisa.comparison import build_aggregator
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
    assert row["figures"]["confidence"] == pytest.approx(chances.max(axis=1).mean(), abs=1e-6)
    assert row["reliable"] == model.reliable_


def test_ties_count_half_and_undefined_figures_are_left_out():
    truth = np.array([1, 1, 1, 1], dtype=np.int8)
    figures = score_answer(truth, np.array([1.0, 0.0, 0.0, -1.0]), None)
    assert figures == {"accuracy": 0.5}
    chances = np.array([0.9, 0.5, 0.5, 0.1])
    figures = score_answer(truth, chances - 0.5, chances)
    assert figures["confidence"] == pytest.approx(0.7)
    assert figures["ece"] == pytest.approx((0.1 + 2 * 0.5 + 0.9) / 4)
    assert figures["log_loss"] == pytest.approx(-np.log(chances).mean(), abs=1e-5)


def test_majority_vote_has_the_chances_of_the_share_of_yes():
    world = draw_world(PLACE)
    (row,) = score_world(PLACE, ["majority-vote"])
    chances = share_of_yes(world.votes)
    expected = score_answer(world.truth, chances - 0.5, chances)
    assert row["figures"] == pytest.approx(expected)


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
