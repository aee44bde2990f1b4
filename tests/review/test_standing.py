from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from report.judging import divided_model, fit_quietly
from review.reviewing import small_crowd
from unelisa.aggregators import DawidSkene, LatentIsing
from unelisa.analysis.scoring import bound_frequency
from unelisa.review.pools import (
    Known,
    bound_mean,
    compare_readings,
    expect_accuracy,
    fix_known,
    list_rates,
    look_ahead,
    look_at_width,
    measure_accuracy,
)
from unelisa.votes import Votes


def known(*labels):
    return Known(np.array(labels), np.zeros(len(labels), dtype=bool))


def test_gold_labels_are_certain():
    chances = np.array([[0.6, 0.4], [0.2, 0.8]])
    assert fix_known(chances, known(1, -1)).tolist() == [[0.0, 1.0], [0.2, 0.8]]
    told = expect_accuracy(DawidSkene(), fix_known(chances, known(1, -1)))
    assert told == pytest.approx({"share": 0.9, "low": None, "high": None})


def test_the_expected_accuracy_is_that_of_the_model():
    model, chances = small_crowd()[2], np.full((2, 2), 0.5)
    told = expect_accuracy(model, chances)
    assert told["share"] is not None
    assert told["share"] == model.expected_accuracy_
    assert (told["low"], told["high"]) == model.expected_accuracy_interval_
    rng = np.random.default_rng(0)
    votes = Votes.of(rng.choice(np.array([-1, 1], dtype=np.int8), (200, 5)))
    guessed = [fit_quietly(method(), votes) for method in (LatentIsing, DawidSkene)]
    for unreliable in (divided_model(), *guessed):
        untold = expect_accuracy(unreliable, chances)
        assert untold == {"share": None, "low": None, "high": None}


def test_accuracy_is_measured_on_the_labels():
    chances = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    told = measure_accuracy(chances, known(1, 1, -1))
    assert (told["share"], told["labels"]) == (0.5, 2)
    assert measure_accuracy(chances, known(-1, -1, -1)) is None
    weighted = bound_mean(np.array([True, False, False]), np.array([2.0, 1.0, 1.0]))
    assert weighted["share"] == 0.5
    assert (weighted["low"], weighted["high"]) == bound_frequency(0.5, 16 / 6, 0.9)


def test_only_items_that_were_drawn_are_a_sample():
    told = Known(np.array([0, 1]), np.array([True, False]))
    assert told.only_sample().labels.tolist() == [0, -1]
    assert told.name(np.array(["no", "yes"])).tolist() == ["no", "yes"]
    assert told.only_sample().name(np.array(["no", "yes"])).tolist() == ["no", None]


def test_more_answers_are_worth_it_while_labels_are_uncertain():
    unsure, sure = np.full((200, 2), 0.5), np.tile([0.001, 0.999], (200, 1))
    answered = np.where(np.arange(200) < 30, 1, -1)
    ahead = look_ahead(fix_known(unsure, known(*answered)), known(*answered))
    assert (ahead["enough"], ahead["more"]) == (False, 30)
    assert "30 more answers are expected to raise accuracy by 7.5 points" in ahead["words"]
    told = look_ahead(sure, known(*answered))
    assert told["enough"]
    assert told["words"].startswith("Enough: 30 more would change little")
    assert not look_ahead(sure, known(*answered[20:], *answered[:0]))["enough"]  # ten labels
    halted = look_ahead(sure, known(*answered), "the votes still allow another reading")
    assert not halted["enough"]
    assert halted["words"].startswith("The votes still allow another reading.")


def test_a_narrow_interval_is_enough():
    labels = known(*np.where(np.arange(200) < 100, 1, -1))
    wide, narrow = ([{"low": 0.5 - h, "high": 0.5 + h}] for h in (0.1, 0.01))
    assert not look_at_width(wide, labels)["enough"]
    assert look_at_width(narrow, labels)["words"].startswith("Enough: 100 more")
    assert not look_at_width([{"low": None, "high": None}], labels)["enough"]


def test_rates_become_plain_rows():
    table = pd.DataFrame({"share": [0.5], "low": [np.nan]}, index=pd.Index(["x"], name="class"))
    assert list_rates(table) == [{"class": "x", "share": 0.5, "low": None}]


def test_a_reading_that_the_labels_rule_out_is_named():
    first = divided_model()
    assert [row["state"] for row in compare_readings(first, first)] == ["taken", "possible"]
    chosen = first.read(1)
    swapped = [row["state"] for row in compare_readings(first, chosen)]
    assert swapped == ["possible", "taken"]
    learned = SimpleNamespace(readings_=first.readings_.head(1))
    rows = compare_readings(first, learned)
    assert [row["state"] for row in rows] == ["taken", "ruled out"]
    assert rows[1]["structure"] == "voters who repeat each other count once each"
    assert compare_readings(object(), object()) == []
