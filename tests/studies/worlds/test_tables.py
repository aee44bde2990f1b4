import numpy as np
import pytest

from studies.worlds import tables

ALL = {**tables.CHOOSING, **tables.REPORTING}


def test_no_table_is_in_both_parts():
    assert not set(tables.CHOOSING) & set(tables.REPORTING)
    assert not set(tables.CHOOSING.values()) & set(tables.REPORTING.values())


@pytest.mark.parametrize("name", ALL)
def test_a_table_has_two_classes_and_comes_again_from_its_seed(name):
    first, again, other = (ALL[name](np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first.features.shape[0] == len(first.truth) >= 100
    assert first.features.shape[1] >= 4
    assert set(first.truth) == {-1, 1}
    assert 0.2 < np.mean(first.truth > 0) < 0.8
    assert np.isfinite(first.features).all()
    assert np.array_equal(first.features, again.features)
    assert np.array_equal(first.truth, again.truth)
    fixed = {"breast_cancer", "wine", "digits_parity"}
    assert (first.features.shape == other.features.shape) or name == "one_digit_of_three"
    if name not in fixed | {"diabetes", "one_digit_of_three"}:
        assert not np.array_equal(first.features, other.features)
