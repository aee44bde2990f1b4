"""Intervals of voters' accuracies."""

import numpy as np
import pytest

from studies.worth.runs import Target, count_cases, judge_target, list_measures
from studies.worth.simulated import KINDS, draw_crowd
from unelisa.votes import Votes


def test_measures_are_shares_of_cases():
    tables = np.array([[[6.0, 2.0], [1.0, 3.0]]])  # class no: 6 no, 2 yes; class yes: 1 no, 3 yes
    found = {name: float(share[0]) for name, (share, _) in list_measures(tables).items()}
    assert found == pytest.approx(
        {"accuracy": 9 / 12, "sensitivity": 3 / 4, "specificity": 6 / 8, "ppv": 3 / 5, "npv": 6 / 7}
    )


def test_cases_are_counted_on_items_with_known_truth():
    votes = Votes.of([[1, -1], [1, 0], [-1, -1], [1, 1]], coding="pm1")
    tables = count_cases(votes, np.array([1, 1, -1, 0], dtype=np.int8))
    assert tables.tolist() == [[[1, 0], [0, 2]], [[1, 0], [1, 0]]]


def test_intervals_are_counted_where_they_are_told():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300).astype(np.int8)
    right = rng.random((300, 5)) < [0.9, 0.8, 0.7, 0.75, 0.6]
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    votes = Votes.of(values, coding="pm1")
    row = judge_target(Target(votes, count_cases(votes, truth), counted=True))
    assert row["told"]
    inside, asked, widths = row["held"]["accuracy"]
    assert asked == 5
    assert 4 <= inside <= 5
    assert 0 < widths / asked < 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_votes_follow_the_chances_that_are_told(kind):
    """Over many crowds a voter says each class as often as its table has it."""
    away = []
    for number in range(12):
        crowd = draw_crowd(kind, number)
        codes = (-1, 1) if kind != "classes" else range(1, crowd.tables.shape[1] + 1)
        voted = (crowd.values != 0).sum(axis=0)
        said = np.stack([(crowd.values == code).sum(axis=0) for code in codes], axis=1)
        away += list((said / voted[:, None] - crowd.tables.sum(axis=1)).ravel())
        assert crowd.tables.sum(axis=(1, 2)) == pytest.approx(1)
    assert abs(np.mean(away)) < 1e-9 + 0.01
    assert np.sqrt(np.mean(np.square(away))) < 0.05


def test_a_crowd_is_drawn_by_its_number():
    first, again, other = (draw_crowd("plain", number).values for number in (3, 3, 4))
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)
