import pytest

from studies.replay.summary import (
    compare_areas,
    compare_needs,
    estimate,
    measure_area,
    measure_need,
)


def row(policy, seed, heights, whole=0.9):
    curve = [[100 * (k + 1), height, 1 - height] for k, height in enumerate(heights)]
    at_end = {"items": 100, "voters": 5, "whole": [500, whole, 0.1]}
    return {"set": "toy", "policy": policy, "seed": seed, "curve": curve, **at_end}


ROWS = [
    row("random", 0, [0.6, 0.7, 0.8, 0.9]),
    row("random", 1, [0.6, 0.7, 0.8, 0.9]),
    row("ours", 0, [0.6, 0.9, 0.9, 0.9]),
    row("ours", 1, [0.6, 0.8, 0.9, 0.9]),
]


def test_the_area_is_the_mean_height_over_the_votes():
    assert measure_area(ROWS[0]) == pytest.approx(0.75)
    assert measure_area(ROWS[0], column=2) == pytest.approx(0.25)


def test_areas_are_compared_seed_by_seed():
    found = compare_areas(ROWS)
    assert found["toy", "random"].mean == 0
    assert found["toy", "ours"].mean == pytest.approx((0.1 + 0.2 / 3) / 2)
    assert found["toy", "ours"].low == pytest.approx(0.2 / 3)
    assert found["toy", "ours"].high == pytest.approx(0.1)


def test_the_need_is_where_the_curve_stays_above():
    assert measure_need(row("ours", 0, [0.6, 0.9, 0.6, 0.9])) > 300
    assert measure_need(row("ours", 0, [0.6, 0.7])) == 500
    assert measure_need(row("ours", 0, [0.95, 0.95])) == 100
    found = compare_needs(ROWS)
    assert found["toy", "random"] == 1
    assert 0.5 < found["toy", "ours"] < 0.75


def test_an_interval_holds_its_mean():
    found = estimate([0.1, 0.3, 0.2])
    assert found.low < found.mean == pytest.approx(0.2)
    assert found.high <= 0.3
