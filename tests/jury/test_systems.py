"""Pass rates of systems, and which differences hold."""

from itertools import combinations

import numpy as np
import pytest

from unelisa import LatentIsing, MajorityVote, Votes
from unelisa.analysis.judged import Judged
from unelisa.jury import systems as rated
from unelisa.jury.systems import System, compare_systems, describe_systems, shift_chances


def make_system(name, chances, first=0, shares=None):
    questions = [f"q{i}" for i in range(first, first + len(chances))]
    mean = float(np.mean(chances))
    every = np.array([mean, *(shares or ())])
    return System(name, questions, np.asarray(chances, dtype=float), every)


def test_certain_labels_of_two_systems_give_the_usual_interval():
    rng = np.random.default_rng(0)
    one, two = (rng.random(400) < rate for rate in (0.7, 0.5))
    apart = make_system("one", one), make_system("two", two, first=1000)
    (row,) = compare_systems(list(apart))
    rates = one.mean(), two.mean()
    error = np.sqrt(sum(rate * (1 - rate) / 400 for rate in rates))
    assert row["difference"] == pytest.approx(rates[0] - rates[1])
    assert row["high"] - row["difference"] == pytest.approx(1.96 * error, rel=0.03)
    assert (row["better"], row["worse"], row["paired"], row["holds"]) == ("one", "two", 0, True)


def test_the_same_questions_are_compared_question_by_question():
    rng = np.random.default_rng(0)
    hard = rng.random(400) < 0.5
    one, two = (hard == (rng.random(400) < 0.95) for _ in range(2))
    (alike,) = compare_systems([make_system("a", one), make_system("b", two)])
    (apart,) = compare_systems([make_system("a", one), make_system("b", two, first=1000)])
    assert (alike["paired"], apart["paired"]) == (400, 0)
    error = (one.astype(float) - two).std() / 20
    assert alike["high"] - alike["difference"] == pytest.approx(1.96 * error, rel=0.05)
    assert alike["high"] - alike["low"] < 0.5 * (apart["high"] - apart["low"])


def test_uncertain_labels_and_models_that_differ_widen_the_interval():
    labels = np.random.default_rng(0).random(300) < 0.5
    sure, unsure = make_system("b", labels, 500), make_system("b", np.where(labels, 0.7, 0.3), 500)
    other = make_system("a", ~labels)
    widths = [
        row["high"] - row["low"]
        for row in (compare_systems([other, one])[0] for one in (sure, unsure))
    ]
    assert widths[1] > 1.3 * widths[0]
    shifted = sure._replace(shares=sure.shares[0] + np.array([0.0, 0.1]))
    (row,) = compare_systems([other._replace(shares=np.repeat(other.shares, 2)), shifted])
    assert row["high"] - row["low"] == pytest.approx(widths[0] + 0.1)


def test_intervals_of_all_pairs_hold_together():
    rng, held = np.random.default_rng(1), []
    for _ in range(200):
        labels = rng.random((5, 100)) < 0.5
        rows = compare_systems([make_system(str(k), row) for k, row in enumerate(labels)])
        held.append(all(row["low"] <= 0 <= row["high"] for row in rows))
    assert len(rows) == 10
    assert 0.9 < np.mean(held) < 0.99


def test_ranks_are_those_that_the_differences_allow():
    labels = np.arange(600) < np.array([480, 470, 300])[:, None]
    pairs = compare_systems(
        [
            make_system(x, row, 1000 * k)
            for k, (x, row) in enumerate(zip("abc", labels, strict=True))
        ]
    )
    assert [pair["holds"] for pair in pairs] == [True, True, False]
    ranks = {x: rated.rank_system(x, pairs, 3) for x in "abc"}
    assert ranks == {"a": [1, 2], "b": [1, 2], "c": [3, 3]}


def test_a_systems_own_rate_is_not_pulled_toward_that_of_all():
    rng = np.random.default_rng(0)
    good = rng.random(20_000) < np.repeat([0.9, 0.1], 10_000)
    right = rng.random(20_000) < 0.8
    chances = np.where(good == right, 0.8, 0.2)
    assert chances[:10_000].mean() == pytest.approx(0.64, abs=0.02)
    assert shift_chances(chances[:10_000], 0.5).mean() == pytest.approx(0.9, abs=0.02)
    assert shift_chances(chances[10_000:], 0.5).mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("chances", [np.zeros(5), np.ones(5), np.array([1.0])])
def test_rates_of_nothing_and_of_everything_stay(chances):
    assert shift_chances(chances, 0.5).mean() == pytest.approx(chances.mean())
    (row,) = compare_systems([make_system("a", chances), make_system("b", 1 - chances, 100)])
    assert np.isfinite([row["low"], row["high"]]).all()


@pytest.fixture(scope="module")
def panel():
    """Five judges on three systems that answered the same questions."""
    rng = np.random.default_rng(0)
    rates = {"one": 0.8, "two": 0.5, "three": 0.5}
    good = np.concatenate([rng.random(150) < rate for rate in rates.values()])
    right = rng.random((450, 5)) < np.array([0.9, 0.85, 0.8, 0.8, 0.75])
    values = np.where(right == good[:, None], 1, -1).astype(np.int8)
    items = np.array([f"{name} / q{i}" for name in rates for i in range(150)], dtype=object)
    voters = np.array(list("abcde"), dtype=object)
    votes = Votes.of_values(np.asfortranarray(values), items, voters, ("fail", "pass"))
    return votes, {item: item.split(" / ")[0] for item in items}, good


def test_systems_of_a_panel(panel):
    votes, systems, good = panel
    model = LatentIsing().fit(votes)
    judged = Judged.of(model, votes)
    found = describe_systems(judged, judged.as_shares(), systems, model.prevalence_interval_)
    assert found["systems"][0]["system"] == "one"
    assert found["systems"][0]["share"] == pytest.approx(good[:150].mean(), abs=0.06)
    assert [row["rank"][0] for row in found["systems"]] == [1, 2, 2]
    assert len(found["differences"]) == len(list(combinations(range(3), 2)))
    assert [row["paired"] for row in found["differences"]] == [150] * 3
    assert [row["holds"] for row in found["differences"]] == [True, True, False]


def test_without_probabilities_there_are_no_intervals(panel):
    votes, systems, _ = panel
    model = MajorityVote().fit(votes)
    judged = Judged.of(model, votes)
    found = describe_systems(judged, judged.as_shares(), systems, (None, None))
    assert found["differences"] == []
    assert {row["low"] for row in found["systems"]} == {None}
    assert {row["rank"] for row in found["systems"]} == {None}
