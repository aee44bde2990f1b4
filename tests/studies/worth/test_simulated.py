import numpy as np
import pytest

from studies.worth.simulated import KINDS, draw_crowd


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
