"""Pass rates of systems, and which differences hold."""

from itertools import combinations

import numpy as np
import pytest

from unelisa import LatentIsing, MajorityVote, Votes
from unelisa.analysis.judged import Judged
from unelisa.jury.intervals import bound_ranks, find_reach, rank_all
from unelisa.jury.systems import compare_systems, describe_systems, rate_system


def make_system(name, chances, first=0, views=()):
    chances = np.asarray(chances, dtype=float)
    questions = [f"q{i}" for i in range(first, first + len(chances))]
    return rate_system(name, questions, [chances, *views], np.arange(len(chances)))


def test_certain_labels_and_the_same_questions():
    rng = np.random.default_rng(0)
    one, two = (rng.random(400) < rate for rate in (0.7, 0.5))
    apart = make_system("one", one), make_system("two", two, first=1000)
    (row,) = compare_systems(list(apart))
    rates = one.mean(), two.mean()
    error = np.sqrt(sum(rate * (1 - rate) / 400 for rate in rates))
    assert row["difference"] == pytest.approx(rates[0] - rates[1])
    assert row["high"] - row["difference"] == pytest.approx(1.96 * error, rel=0.03)
    assert (row["better"], row["worse"], row["paired"], row["holds"]) == ("one", "two", 0, True)
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
    shifted = sure._replace(shares=sure.shares + np.array([0.0, 0.1]))
    (row,) = compare_systems([other, shifted])
    assert row["high"] - row["low"] == pytest.approx(widths[0] + 0.1)


def test_intervals_of_all_pairs_hold_together_as_tukeys():
    rng, held = np.random.default_rng(1), []
    for _ in range(200):
        labels = rng.random((5, 100)) < 0.5
        rows = compare_systems([make_system(str(k), row) for k, row in enumerate(labels)])
        held.append(all(row["low"] <= 0 <= row["high"] for row in rows))
    assert len(rows) == 10
    assert 0.9 < np.mean(held) < 0.99
    assert find_reach(np.eye(2), [(0, 1)], np.array([2.0])) == pytest.approx(1.96, abs=0.05)
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert find_reach(np.eye(3), pairs, np.full(3, 2.0)) == pytest.approx(2.34, abs=0.06)


def test_ranks_are_those_that_the_differences_allow():
    labels = np.arange(600) < np.array([480, 470, 300])[:, None]
    pairs = compare_systems(
        [
            make_system(x, row, 1000 * k)
            for k, (x, row) in enumerate(zip("abc", labels, strict=True))
        ]
    )
    assert [pair["holds"] for pair in pairs] == [True, True, False]
    wins = [("abc".index(x["better"]), "abc".index(x["worse"])) for x in pairs if x["holds"]]
    assert bound_ranks(3, wins) == [(1, 2), (1, 2), (3, 3)]
    ranked = rank_all("abc", np.array([2.0, 0.0, 0.1]), np.eye(3) * 0.01, np.ones(3))
    assert [(x.system, x.rank_low, x.rank_high) for x in ranked] == [
        ("a", 1, 1), ("c", 2, 3), ("b", 2, 3)
    ]  # fmt: skip
    assert [x.rank_high for x in rank_all("ab", np.zeros(2), np.eye(2), np.ones(2))] == [2, 2]


def test_a_systems_own_rate_is_not_pulled_toward_that_of_all():
    rng = np.random.default_rng(0)
    good = rng.random(20_000) < np.repeat([0.9, 0.1], 10_000)
    right = rng.random(20_000) < 0.8
    chances = np.where(good == right, 0.8, 0.2)
    questions = [str(i) for i in range(10_000)]
    for rate, own in ((0.9, np.arange(10_000)), (0.1, np.arange(10_000, 20_000))):
        found = rate_system("x", questions, [chances], own)
        assert found.shares[0] == pytest.approx(0.8 * rate + 0.2 * (1 - rate), abs=0.15)
        assert found.shares[1] == pytest.approx(rate, abs=0.02)
        assert found.interval[0] < rate < found.interval[1]


@pytest.mark.parametrize("chances", [np.zeros(5), np.ones(5), np.array([1.0])])
def test_rates_of_nothing_and_of_everything_stay(chances):
    assert make_system("a", chances).share == pytest.approx(chances.mean())
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


def test_answers_that_nobody_judged_are_left_out_of_their_systems_rate(panel):
    votes, systems, _ = panel
    values = votes.values.copy()
    values[150:270] = 0  # 30 of 150 answers are left
    model = MajorityVote().fit(votes)
    some = Votes.of_values(values, votes.items, votes.voters, votes.classes)
    judged = Judged.of(model, some)
    found = describe_systems(judged, Judged.of(model, votes).as_shares(), systems, (None, None))
    rows = {row["system"]: row for row in found["systems"]}
    assert (rows["one"]["items"], rows[systems[votes.items[150]]]["items"]) == (150, 30)


def test_without_probabilities_there_are_no_intervals(panel):
    votes, systems, _ = panel
    model = MajorityVote().fit(votes)
    judged = Judged.of(model, votes)
    found = describe_systems(judged, judged.as_shares(), systems, (None, None))
    assert found["differences"] == []
    assert {row["low"] for row in found["systems"]} == {None}
    assert {row["rank"] for row in found["systems"]} == {None}


def make_lenient(n=800, by=0.15):
    """Two equal systems; four of seven judges pass bad answers of the first."""
    rng = np.random.default_rng(1)
    good = rng.random(2 * n) < 0.65
    right = rng.random((2 * n, 7)) < np.array([0.85, 0.8, 0.8, 0.75, 0.75, 0.7, 0.65])
    said = np.where(right, good[:, None], ~good[:, None])
    said[:n, -4:] |= rng.random((n, 4)) < by
    items = np.array([f"{name} / q{i}" for name in "xy" for i in range(n)], dtype=object)
    voters = np.array([f"v{s}" for s in range(7)], dtype=object)
    values = np.asfortranarray(np.where(said, 1, -1).astype(np.int8))
    return Votes.of_values(values, items, voters, ("fail", "pass")), {i: i[0] for i in items}


@pytest.mark.parametrize(("by", "favors"), [(0.0, 0), (0.3, 1)])
def test_an_interaction_of_judges_and_systems_is_flagged_and_nothing_is_called(by, favors):
    votes, systems = make_lenient(by=by)
    model = LatentIsing().fit(votes)
    judged = Judged.of(model, votes)
    found = describe_systems(judged, judged.as_shares(), systems, model.prevalence_interval_)
    assert len(found["favors"]) == favors
    assert not any(pair["holds"] for pair in found["differences"])
    for favor in found["favors"]:
        assert favor["p_value"] < 0.01
        assert favor["judge"] in ("v3", "v4", "v5", "v6")
        assert favor["strictest"] in ("v0", "v1", "v2")
