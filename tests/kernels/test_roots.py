import numpy as np
import pytest
from scipy.optimize import brentq

from unelisa.kernels.roots import find_root


@pytest.mark.parametrize("seed", range(40))
def test_it_has_the_bits_of_scipys(seed):
    rng = np.random.default_rng(seed)
    places, slope = rng.normal(0, 3, 5), rng.choice([0.01, 0.1, 3])

    def miss(x):
        return float(np.tanh(9 * (x - places)).sum() + slope * x)

    for tol in (1e-3, 1e-9, 2e-12):
        assert find_root(miss, -20.0, 25.0, tol) == brentq(miss, -20.0, 25.0, xtol=tol)


def test_an_end_may_be_the_root():
    assert find_root(lambda x: x, 0.0, 1.0) == 0
    assert find_root(lambda x: x - 1, 0.0, 1.0) == 1
