import numpy as np
import pytest

import naive_spectral
from unelisa.kernels.minors import sum_minors


@pytest.mark.parametrize("witnesses", [range(7), (1, 2, 5, 6), (3,)])
def test_the_kernel_is_its_slow_twin(witnesses):
    rng = np.random.default_rng(0)
    r = rng.normal(size=(7, 7))
    r = r + r.T
    found = sum_minors(r, np.array(witnesses))
    assert found == pytest.approx(naive_spectral.minors(r, list(witnesses)), abs=1e-9)


def test_a_rank_one_covariance_has_no_minors_whatever_its_diagonal():
    v = np.array([0.9, -0.5, 0.3, 0.7, 0.2])
    r = np.outer(v, v) + np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    assert sum_minors(r, np.arange(5)) == pytest.approx(np.zeros((5, 5)), abs=1e-12)


def test_a_dependent_pair_stands_out():
    r = np.full((6, 6), 0.1)
    r[0, 1] = r[1, 0] = 0.5
    scores = sum_minors(r, np.arange(6))
    assert scores[0, 1] == scores.max()
    # 12 ordered pairs of witnesses, each minor is .5 * .1 - .1 * .1
    assert scores[0, 1] == pytest.approx(12 * 0.04)
