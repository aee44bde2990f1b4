"""Scores on a scale: judges' use of it, and systems' means."""

import numpy as np
import pytest

from unelisa.errors import VotesError
from unelisa.jury.scores import Scores, fit_scores
from unelisa.jury.verdicts import Panel, Verdict

MEANS, LOCATION, SCALE, NOISE = (60.0, 70.0), (5.0, 0.0, -5.0), (1.2, 1.0, 0.8), (4.0, 8.0, 12.0)


def draw(n=200, seed=0, means=MEANS):
    rng = np.random.default_rng(seed)
    quality = np.repeat(means, n) + 10 * rng.standard_normal(2 * n)
    rows, columns = np.repeat(np.arange(2 * n), 3), np.tile(np.arange(3), 2 * n)
    noise = np.array(NOISE)[columns] * rng.standard_normal(len(rows))
    values = np.array(LOCATION)[columns] + np.array(SCALE)[columns] * quality[rows] + noise
    names = [f"q{i}" for i in range(2 * n)]
    system, question = np.repeat([0, 1], n), np.tile(np.arange(n), 2)
    return Scores(names, ["x", "y", "z"], ["a", "b"], system, question, rows, columns, values)


def test_judges_and_systems_are_found_with_intervals_that_hold():
    found = fit_scores(draw())
    assert [judge["noise"] for judge in found.judges] == pytest.approx(NOISE, rel=0.3)
    assert [judge["scale"] for judge in found.judges] == pytest.approx(SCALE, rel=0.1)
    assert found.judges[0]["reliability"] > found.judges[2]["reliability"]
    assert [(one.system, one.rank_low, one.rank_high) for one in found.systems] == [
        ("b", 1, 1),
        ("a", 2, 2),
    ]
    assert 1 < found.effective_judges < 3
    assert found.reason == ""
    held, gaps = [], []
    for seed in range(40):
        found = fit_scores(draw(60, seed, (65.0, 65.0)))
        held.append(found.systems[0].rank_high == 2)
        gaps.append(found.systems[0].estimate.high - found.systems[0].estimate.low)
    assert np.mean(held) >= 0.85
    assert np.mean(gaps) == pytest.approx(2 * 1.645 * 10.7 / np.sqrt(60), rel=0.25)


def add_judge(scores, values):
    """The scores with one more judge, of the first answers."""
    parts = np.arange(len(values)), np.full(len(values), len(scores.judges)), np.array(values)
    own = scores.rows, scores.columns, scores.values
    more = (np.concatenate(pair) for pair in zip(own, parts, strict=True))
    judges = [*scores.judges, "w"]
    return Scores(scores.items, judges, scores.systems, scores.system, scores.question, *more)


@pytest.mark.parametrize("n", [1, 400])
def test_a_judge_whose_scores_are_equal_is_left_out(n):
    plain, found = fit_scores(draw()), fit_scores(add_judge(draw(), [50.5] * n))
    assert found.left_out == ["w"]
    assert found.systems == plain.systems
    assert found.judges == plain.judges


def test_a_judge_of_few_scores_hardly_moves_the_scale():
    plain, found = fit_scores(draw()), fit_scores(add_judge(draw(), [60.0, 61.0]))
    gaps = [
        a.estimate.value - b.estimate.value
        for a, b in zip(plain.systems, found.systems, strict=True)
    ]
    assert np.abs(gaps).max() < 1


def test_equal_scores_of_all_judges_say_nothing():
    scores = draw()
    equal = Scores(*[*scores.__dict__.values()][:-1], np.full(1200, 7.0))
    with pytest.raises(VotesError, match="too few or too alike"):
        fit_scores(equal)


def test_pass_rates_at_a_cut_of_logs_of_scores():
    found = fit_scores(draw())
    rates = found.pass_rates(65.0)
    one, two = rates["a"], rates["b"]
    assert one.value < 0.5 < two.value
    assert one.low < one.value < one.high
    panel = Panel()
    for item in range(4):
        panel.add(Verdict(item, "x", 0.1 * item, "one"))
    panel.add(Verdict(0, "x", None, "never scored"))
    scores = Scores.of(panel)
    assert scores.systems == ["one"]
    assert scores.values.tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3])
    with pytest.raises(VotesError, match="scores of 1 judge on 4 answers are too few.*cut=0.5"):
        fit_scores(scores)
    panel.add(Verdict(9, "x", "good"))
    with pytest.raises(VotesError, match="no scores"):
        Scores.of(panel)
