"""Bounds on the number of wrong items, from draws without replacement.

The independent check at one look is SciPy's hypergeometric distribution. confseq, which has bounds
at all looks, cannot be a dependency of tests: its release (0.0.11) is source that needs a C++
compiler and NumPy 1. With its names patched, its betting bounds were 9 % larger to 13 % smaller
than these in four cases, and both held in all of 60 draws.
"""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from unelisa.analysis.error_bounds import Draws, bound_wrong, log_ratio


@pytest.mark.parametrize(("n", "k", "e"), [(50, 20, 0), (50, 20, 3), (200, 60, 5), (10, 10, 4)])
def test_one_look_gives_the_exact_bound(n, k, e):
    possible = [wrong for wrong in range(e, n - k + e + 1) if hypergeom.cdf(e, n, wrong, k) > 0.05]
    assert bound_wrong(Draws(n, k, e, 0.05), 0.05, once=True) == max(possible)


@pytest.mark.parametrize(("n", "k", "e"), [(50, 20, 0), (50, 20, 3), (200, 60, 5), (10, 10, 4)])
def test_many_looks_give_the_largest_number_that_is_not_excluded(n, k, e):
    draws = Draws(n, k, e, 0.05)
    possible = [w for w in range(e, n - k + e + 1) if log_ratio(draws, w) < np.log(20)]
    assert bound_wrong(draws, 0.05, once=False) == max(possible)
    assert max(possible) >= bound_wrong(draws, 0.05, once=True)


@pytest.mark.parametrize("wrong", [2, 15, 40])
def test_the_ratio_is_a_supermartingale_that_begins_at_one(wrong):
    """Its mean is the chance that the prior gives to draws which so many wrong items allow."""
    n, mean = 100, 0.05
    total = 0.0
    for e in range(wrong + 1):
        chance = hypergeom.pmf(e, n, wrong, 30)
        if chance > 0:
            total += chance * np.exp(log_ratio(Draws(n, 30, e, mean), wrong))
    assert 0.98 < total <= 1 + 1e-9


def test_bounds_hold_at_all_looks_together():
    rng = np.random.default_rng(5)
    n, wrong, runs, failed = 300, 15, 400, 0
    for _ in range(runs):
        found = np.cumsum(rng.permutation(np.arange(n) < wrong))[:150]
        ratios = [log_ratio(Draws(n, k, e, 0.03), wrong) for k, e in enumerate(found, 1)]
        failed += max(ratios) >= np.log(1 / 0.1)
    assert binom.sf(failed - 1, runs, 0.1) > 0.001
    assert failed > 0  # the bound is not idle


def test_without_draws_all_items_may_be_wrong():
    assert bound_wrong(Draws(30, 0, 0, 0.05), 0.05, once=True) == 30
    assert bound_wrong(Draws(30, 0, 0, 0.05), 0.05, once=False) == 30


def test_all_items_drawn_leave_no_doubt():
    for once in (True, False):
        assert bound_wrong(Draws(30, 30, 4, 0.05), 0.05, once=once) == 4
