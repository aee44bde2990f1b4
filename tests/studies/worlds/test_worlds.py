"""Methods on worlds: rows, summaries, the page and its figure."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from studies.chances import share_of_votes
from studies.records import find_commit
from studies.worlds import runs
from studies.worlds.kinds import Place, draw_world
from studies.worlds.summary import collect_worlds, summarize_kinds, summarize_part
from studies.worlds.voters import World
from unelisa.aggregators import AGGREGATORS
from unelisa.analysis.comparison import build_aggregator
from unelisa.errors import UnelisaWarning, warn_user
from unelisa.votes import Votes


def make_row(where, method, accuracy, **changed):
    part, kind, number = where
    figures = {
        "accuracy": accuracy,
        "log_loss": 1.3 - accuracy,
        "expected": 0.95,
        "expected_held": 1.0,
        "expected_width": 0.1,
        "voters_held": 0.5,
        "voters_width": 0.2,
    }
    return {
        "part": part,
        "kind": kind,
        "number": number,
        "items": 100,
        "voters": 9,
        "method": method,
        "figures": figures,
        "seconds": 0.25,
        "reliable": True,
        "warnings": [],
        "structure": "",
        "note": "",
        "commit": "0123abc",
        **changed,
    }


@pytest.fixture
def make_world():
    """A function that returns a world's rows with stated accuracies of ours, MV, DS and wawa."""

    def make(where, accuracies, **ours):
        names = (runs.OURS, runs.MAJORITY, runs.DAWID_SKENE, "wawa")
        rows = [make_row(where, name, x) for name, x in zip(names, accuracies, strict=True)]
        return [{**rows[0], **ours}, *rows[1:]]

    return make


@pytest.fixture
def rows(make_world):
    """Four worlds of rules and two of copies for choosing; one of copied_expert for reporting."""
    return [
        *make_world(("choosing", "rules", 0), (0.80, 0.90, 0.70, 0.85), warnings=["VotesWarning"]),
        *make_world(("choosing", "rules", 1), (0.80, 0.70, 0.90, 0.85), reliable=False),
        *make_world(("choosing", "rules", 2), (0.87, 0.90, 0.70, 0.95)),  # a loss of .03
        *make_world(
            ("choosing", "rules", 3), (0.97, 0.90, 0.70, 0.95), warnings=["ExpertsWarning"]
        ),
        *make_world(("choosing", "copies", 0), (0.9, 0.8, 0.7, 0.6)),
        *make_world(("choosing", "copies", 1), (0.9, 0.6, 0.8, 0.6)),
        *make_world(("reporting", "copied_expert", 0), (0.9, 0.8, 0.7, 0.6)),
    ]


PLACE = Place("choosing", "independent", 1)


def test_every_method_has_a_row_of_the_models_figures():
    rows = {row["method"]: row for row in runs.score_world(PLACE)}
    assert set(runs.METHODS) <= set(AGGREGATORS)
    assert tuple(rows) == runs.METHODS
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
    world = draw_world(PLACE)
    votes = Votes.of(world.votes, coding="pm1")
    model = build_aggregator("dawid-skene", random_state=0).fit(votes)
    (row,) = runs.score_world(PLACE, ["dawid-skene"])
    right = np.sign(model.decision_function(votes)) == world.truth
    chances = model.predict_proba(votes)
    assert row["figures"]["accuracy"] == pytest.approx(right.mean(), abs=1e-6)
    likely = np.where(world.truth > 0, chances[:, 1], chances[:, 0])
    loss = -np.log(np.maximum(likely, 0.001)).mean()
    assert row["figures"]["log_loss"] == pytest.approx(loss, abs=1e-6)
    assert row["reliable"] == model.reliable_


def test_three_classes_by_hand():
    votes = np.array([[1, 1, 3], [2, 3, 3], [1, 2, 0]], dtype=np.int8)
    world = World(votes, np.array([1, 2, 2], dtype=np.int8), 3)
    shares = share_of_votes(world.enter())
    figures = runs.score_answer(world, shares, shares)
    assert figures["accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert figures["log_loss"] == pytest.approx(-np.log([3 / 6, 2 / 6, 2 / 5]).mean())


def state(expected=0.7, accuracy=(0.6, 0.9), rate=(0.4, 0.5), low=(), high=()):
    """A fitted model that states these intervals."""
    voters = pd.DataFrame({"accuracy_low": low, "accuracy_high": high} if low else {"weight": []})
    return SimpleNamespace(
        expected_accuracy_=expected,
        expected_accuracy_interval_=accuracy,
        prevalence_interval_=rate,
        voters_full_=voters,
    )


def test_intervals_are_compared_with_the_truth_of_every_class():
    votes = np.array([[1, 1, 0], [-1, -1, 0], [1, -1, 0], [0, 0, 0]], dtype=np.int8)
    world = World(votes, np.array([1, -1, -1, 1], dtype=np.int8))
    model = state(low=(0.5, 0.7, np.nan), high=(0.6, 1.0, np.nan))  # 2/3 and 3/3 are right
    found = runs.score_intervals(model, world, 0.95)
    assert found["expected"] == 0.7
    assert (found["expected_held"], found["expected_width"]) == (0, pytest.approx(0.3))
    # a third of the items with votes is positive
    assert (found["rate_held"], found["rate_width"]) == (0, pytest.approx(0.1))
    assert (found["voters_held"], found["voters_width"]) == (0.5, pytest.approx(0.2))
    votes = np.array([[1, 1], [2, 2], [3, 3], [3, 1]], dtype=np.int8)
    world = World(votes, np.array([1, 2, 3, 3], dtype=np.int8), 3)
    found = runs.score_intervals(state(rate=([0.2, 0.3, 0.4], [0.3, 0.4, 0.6])), world, 0.7)
    assert found["rate_held"] == pytest.approx(2 / 3)
    assert "voters_held" not in found
    for nothing in (None, (None, None), (np.nan, np.nan)):
        assert runs.score_intervals(state(None, nothing, nothing), world, 0.7) == {}


def test_methods_that_warn_fail_or_take_two_classes_say_so(monkeypatch):
    ours, spectral = runs.score_world(Place("hard-choosing", "steps", 0), [runs.OURS, runs.REST[3]])
    assert "ModelError" in spectral["note"]
    assert spectral["figures"] == {}
    held = [name for name in ours["figures"] if name.endswith("_held")]
    assert set(held) == {"expected_held", "rate_held", "voters_held"}
    assert all(0 <= ours["figures"][name] <= 1 for name in held)
    answer = runs._answer

    def warn(name, votes):
        warn_user("something is off", UnelisaWarning)
        return answer(name, votes)

    monkeypatch.setattr(runs, "_answer", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = runs.score_world(PLACE, ["majority-vote"])
    assert row["warnings"] == ["UnelisaWarning"]
    monkeypatch.setattr(runs, "_answer", lambda *_: 1 / 0)
    (row,) = runs.score_world(PLACE, ["majority-vote"])
    assert (row["figures"], row["note"]) == ({}, "ZeroDivisionError: division by zero")


@pytest.fixture
def kinds(rows):
    return {row["kind"]: row for row in summarize_kinds(rows)}


def test_kinds_and_parts_by_hand(kinds, rows):
    found = kinds["rules"]
    assert (found["worlds"], found["unanswered"]) == (4, 0)
    # ours .86 in the mean, majority vote .85, Dawid-Skene .75
    assert found["difference"] == pytest.approx(0.86 - 0.85)
    differences = (-0.1, -0.1, -0.03, 0.07)
    assert found["by_world"][0] == pytest.approx(sum(differences) / 4)
    assert found["losing"] == 0.75
    assert (
        found["silent"] == 0.25
    )  # of the two large losses one is flagged, and one warns of the votes only
    assert found["reliable"] == 0.75
    assert found["too_sure"] == 0.25  # .95 and .80; the second such world is not called reliable
    # both sorts in every world; nothing is said of the shares of classes
    assert found["intervals"]["expected"] == pytest.approx([4, 4.0, 0.4])
    assert found["intervals"]["voters"] == pytest.approx([4, 2.0, 0.8])
    assert found["intervals"]["rate"] == [0, 0.0, 0.0]
    assert found["commits"] == ["0123abc"]
    assert found["methods"]["wawa"]["accuracy"] == pytest.approx(0.9)
    assert found["methods"]["latent-ising"]["seconds"] == 0.25
    part = summarize_part([kinds["rules"], kinds["copies"]])
    assert (part.kinds, part.worlds) == (2, 6)
    assert part.worst == ("rules", pytest.approx(0.01))
    assert part.worst_by_world == ("rules", pytest.approx(-0.04))
    expected = {"losing": 3 / 6, "silent": 1 / 6, "reliable": 5 / 6, "too_sure": 1 / 6}
    assert part.shares == pytest.approx(expected)  # over worlds
    assert part.intervals["expected"] == pytest.approx([6, 6.0, 0.6])
    assert part.means["latent-ising"]["accuracy"] == pytest.approx((0.86 + 0.9) / 2)
    assert part.best_of_the_rest == "wawa"
    assert part.worse_log_loss == []
    found = kinds["copies"]
    assert found["difference"] == pytest.approx(0.9 - 0.75)
    assert found["by_world"][0] == pytest.approx(0.9 - 0.8)
    rows[0]["figures"] = {}  # ours failed on the first world
    found = summarize_kinds(rows)[0]
    assert (found["worlds"], found["unanswered"]) == (3, 1)
    assert found["silent"] == 0


def test_the_archive_keeps_what_is_stored_and_takes_newer_kinds(tmp_path, rows):
    def write(mine):
        path = runs.results_path(tmp_path, "choosing", "mixed")
        path.write_text("".join(json.dumps(row) + "\n" for row in mine))

    write(rows)
    whole = collect_worlds(tmp_path)
    assert [(row["part"], row["kind"]) for row in whole["kinds"]] == [
        *(("choosing", "copies"), ("choosing", "rules"), ("reporting", "copied_expert"))
    ]
    write(rows[:4])
    added = collect_worlds(tmp_path, whole)
    assert [row["worlds"] for row in added["kinds"]] == [2, 1, 1]
    assert collect_worlds(tmp_path / "nowhere", whole) == whole
