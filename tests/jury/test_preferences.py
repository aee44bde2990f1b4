"""Leaderboards from simulated preferences with known strengths."""

import numpy as np
import pytest

from unelisa.errors import VotesError
from unelisa.jury.preferences import Preferences, agree, rank_systems
from unelisa.jury.verdicts import Panel, Preference

STRENGTHS = np.array([1.0, 0.4, -0.4, -1.0])
TRUST = (1.6, 1.2, 1.0, 0.2)
FIRST, TIE = 0.4, -0.7


def draw(n=300, copies=0, seed=0, views=None):
    """Judges of different reliability, who all prefer what is shown first; some repeat the last.

    `views` are what single judges add to systems.
    """
    rng = np.random.default_rng(seed)
    views = np.zeros((len(TRUST), 4)) if views is None else views
    rows = []
    for q in range(n):
        pair = rng.choice(4, 2, replace=False)
        for j, trust in enumerate(TRUST):
            a, b = pair if rng.random() < 0.5 else pair[::-1]
            own = STRENGTHS + views[j]
            z = trust * (own[a] - own[b]) + FIRST
            chances = np.exp([z / 2, -z / 2, TIE])
            rows.append((q, j, a, b, rng.choice(3, p=chances / chances.sum())))
        rows += [(q, len(TRUST) + k, *rows[-1][2:]) for k in range(copies)]
    table = np.array(rows)
    judges = [f"j{j}" for j in range(len(TRUST) + copies)]
    unknown = np.full(len(table), np.nan)
    return Preferences(["a", "b", "c", "d"], judges, *table.T, unknown)


def test_systems_are_ranked_judges_weighed_and_the_first_place_measured():
    board = rank_systems(draw())
    assert [row.system for row in board.systems] == ["a", "b", "c", "d"]
    assert [(row.rank_low, row.rank_high) for row in board.systems] == [
        (k, k) for k in (1, 2, 3, 4)
    ]
    trust = {judge["name"]: judge["reliability"].value for judge in board.judges}
    assert trust["j0"] > trust["j2"] > trust["j3"]
    assert board.first.low < FIRST < board.first.high
    assert board.longer is None
    assert board.families == []
    assert board.reason == ""
    rates = [*board.win_rates.values()]
    assert np.mean(rates) == pytest.approx(0.5)


def test_intervals_hold_and_judges_who_repeat_others_count_for_less():
    held = []
    for seed in range(15):
        board = rank_systems(draw(150, copies=2, seed=seed))
        rows = sorted(board.systems)
        scale = np.mean([*TRUST, TRUST[-1], TRUST[-1]])  # that of the average judge
        held += [
            row.estimate.low <= scale * true <= row.estimate.high
            for row, true in zip(rows, STRENGTHS, strict=True)
        ]
    assert ["j3", "j4", "j5"] in board.families
    weights = {judge["name"]: judge["weight"] for judge in board.judges}
    assert max(weights[f"j{k}"] for k in (3, 4, 5)) < 0.6 < weights["j0"]
    assert np.mean(held) > 0.7


def test_many_judges_of_few_comparisons_do_not_inflate_strengths():
    slopes, truth = [], STRENGTHS
    for seed in range(3):
        rng = np.random.default_rng(seed)
        judge = np.repeat(np.arange(100), 40)
        first = rng.integers(0, 4, len(judge))
        second = (first + rng.integers(1, 4, len(judge))) % 4
        trust = rng.normal(1, 0.4, 100)
        trust /= trust.mean()
        z = trust[judge] * (truth[first] - truth[second])
        winner = np.where(rng.random(len(z)) < 1 / (1 + np.exp(-z)), 0, 1)
        names, unknown = [f"j{j}" for j in range(100)], np.full(len(z), np.nan)
        rows = np.arange(len(z)), judge, first, second, winner
        board = rank_systems(Preferences(["a", "b", "c", "d"], names, *rows, unknown))
        found = np.array([row.estimate.value for row in sorted(board.systems)])
        slopes.append(found @ truth / (truth @ truth))
    assert np.mean(slopes) == pytest.approx(1, abs=0.05)


def test_one_judge_with_strong_views_of_its_own_does_not_decide():
    views = np.zeros((len(TRUST), 4))
    views[0] = -4 * STRENGTHS + [0, 4, -4, 0]
    board = rank_systems(draw(views=views))
    assert board.systems[0].rank_low == 1
    assert board.systems[0].rank_high > 1  # wide: nobody knows what another judge would add
    assert {row.system for row in board.systems[:2]} == {"a", "b"}


def test_equal_systems_share_their_ranks_and_those_never_compared_are_said():
    votes = draw()
    rng = np.random.default_rng(0)
    coins = Preferences(
        *[*votes.__dict__.values()][:6], rng.integers(0, 3, len(votes.winner)), votes.longer
    )
    board = rank_systems(coins)
    assert board.systems[0].rank_high > 1
    assert board.systems[-1].rank_low < 4
    panel = Panel()
    for item in range(20):
        for one, other in (("a", "b"), ("c", "d")):
            panel.add(Preference(item, "x", one, other, "first" if item % 3 else "second"))
    assert "never compared" in rank_systems(Preferences.of(panel)).reason
    with pytest.raises(VotesError, match="no preferences"):
        Preferences.of(Panel())


def test_a_preference_for_length_is_told_apart_from_strength():
    rng, n = np.random.default_rng(0), 2000
    longer = rng.normal(0, 1, n) + 1.0  # the first system writes more
    won = rng.random(n) < 1 / (1 + np.exp(-longer))
    zeros = np.zeros(n, dtype=np.intp)
    turned = np.arange(n) % 2
    winner = np.where(won == (turned == 0), 0, 1)
    votes = Preferences(
        ["a", "b"], ["x"], np.arange(n), zeros, turned, 1 - turned, winner,
        np.where(turned == 0, longer, -longer),
    )  # fmt: skip
    board = rank_systems(votes)
    assert board.longer.value == pytest.approx(1, abs=0.2)
    assert board.longer.low > 0.5
    assert board.systems[0].rank_high == 2
    plain = rank_systems(Preferences(*[*votes.__dict__.values()][:-1], np.full(n, np.nan)))
    assert plain.systems[0].system == "a"
    assert plain.systems[0].rank_high == 1
    assert agree(plain, plain) == pytest.approx(1)


def board_of(*rows):
    panel = Panel()
    for row in rows:
        panel.add(Preference(*row))
    return rank_systems(Preferences.of(panel))


@pytest.mark.parametrize("n", [2, 20])
def test_who_wins_or_loses_everything_has_a_wide_interval(n):
    pairs = (("a", "b"), ("a", "c"), ("b", "c"))
    board = board_of(*((i, "x", *pair, "first") for i in range(n) for pair in pairs))
    ends = board.systems[0].estimate
    assert ends.high - ends.low > 2
    assert [row.system for row in board.systems] == ["a", "b", "c"]


def test_ties_alone_and_equal_lengths_say_nothing():
    (one, other) = board_of(*((i, "x", "a", "b", "tie") for i in range(30))).systems
    assert one.estimate.low < -1 < 1 < other.estimate.high
    rows = ((i, "x", "a", "b", "first" if i % 3 else "second", (10, 5)) for i in range(30))
    assert board_of(*rows).systems[0].estimate.low < -1  # strength or length


def test_preferences_within_one_system_are_refused():
    with pytest.raises(VotesError, match="no preferences between answers of two systems"):
        board_of(*((i, "x", "a", "a", "first") for i in range(30)))
