"""How many of n items are wrong at most, from random draws without replacement.

Looked at once, the bound is hypergeometric and exact. Looked at after every draw, compare the
prediction of an error rate Beta(a, b) below E / n with that of E wrong items, after e of k draws::

    R_k(E) = B(a + e, b + k - e) I(a + e, b + k - e) / (B(a, b) I(a, b))
             / [(E)_e (n - E)_(k-e) / (n)_k],          (x)_j = x (x - 1) ... (x - j + 1)

with I the regularized incomplete beta function at E / n. If E items are wrong, R is a nonnegative
supermartingale from 1, so P(R_k(E) >= 1 / alpha at any k) <= alpha (Ville; Waudby-Smith and Ramdas
2020); the bound is the largest E with R_k(E) < 1 / alpha. Over strata, R is the product, at the
division of E between them that makes it smallest (Spertus and Stark 2022).

If items are drawn with replacement and with chances that are proportional to their weights, each
draw is wrong with a chance p that is the share of wrong items by weight. The square bracket is then
p^e (1 - p)^(k-e), and I is taken at p.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaln, logsumexp, xlog1py, xlogy

Floats = NDArray[np.float64]

STEPS = 64  # of the bisection: enough for any number of items
TINY = 1e-300
CASES = 2.0  # a: pseudo-count of wrong items in the prior of the error rate
CELLS = 400  # of the numbers of wrong items in a stratum, in bounds over strata


class Draws(NamedTuple):
    """Random draws from a set of items."""

    n: float  # items
    k: float  # drawn
    e: float  # of these wrong
    mean: float  # error rate where the bound should soon be small; it decides no guarantee


def bound_wrong(draws: Draws, alpha: float, *, once: bool) -> float:
    """Return the largest number of wrong items that the draws do not exclude."""
    n, k, e, _ = draws
    if k <= 0:
        return n
    low, high = min(np.ceil(n * e / k), n), max(n - np.floor(k - e), np.ceil(e))
    for _ in range(STEPS):
        if low >= high:
            break
        middle = float(np.ceil((low + high) / 2))
        tail = log_tail(draws, middle) if once else -log_ratio(draws, middle)
        low, high = (middle, high) if tail > np.log(alpha) else (low, middle - 1)
    return float(low)


def exclude(draws: Draws, wrong: float, alpha: float, *, once: bool) -> bool:
    """Return whether the draws exclude so many wrong items, and therefore all larger numbers."""
    n, k, e, _ = draws
    if n - wrong < k - e:
        return True  # more right ones were seen
    if k <= 0 or wrong * k <= n * e:
        return False
    tail = log_tail(draws, wrong) if once else -log_ratio(draws, wrong)
    return bool(tail <= np.log(alpha))


def log_tail(draws: Draws, wrong: float) -> float:
    """Return the log-probability of at most e wrong draws if so many items are wrong."""
    n, k = draws.n, draws.k
    e = np.arange(max(0.0, np.ceil(k - (n - wrong))), min(np.ceil(draws.e), wrong) + 1)
    if not len(e):
        return -np.inf
    chances = _choose(wrong, e) + _choose(n - wrong, k - e)
    return float(logsumexp(chances) - _choose(n, k))


def _choose(n: float, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def log_ratio(draws: Draws, wrong: float) -> float:
    """Return log R of a number of wrong items; infinite where the draws exclude it."""
    n, k, e, _ = draws
    right = k - e
    if wrong < e or n - wrong < right:
        return np.inf
    seen = gammaln(wrong + 1) - gammaln(wrong - e + 1)
    seen += gammaln(n - wrong + 1) - gammaln(n - wrong - right + 1)
    seen -= gammaln(n + 1) - gammaln(n - k + 1)
    return float(_predict(draws, wrong / n) - seen)


def _predict(draws: Draws, share: float) -> Any:
    """Return the log-probability of the draws by the prior of error rates below a share."""
    _, k, e, mean = draws
    a, b, right = CASES, CASES * (1 - mean) / mean, k - e
    after, before = np.log(np.maximum(betainc([a + e, a], [b + right, b], share), TINY))
    return betaln(a + e, b + right) - betaln(a, b) + (after - before)


def bound_share(draws: Draws, alpha: float) -> float:
    """Return the largest share of wrong draws that draws with replacement do not exclude."""
    _, k, e, _ = draws
    low, high = (e / k, 1.0) if k > 0 else (1.0, 1.0)
    for _ in range(STEPS):
        share = (low + high) / 2
        ratio = _predict(draws, share) - xlogy(e, share) - xlog1py(k - e, -share)
        low, high = (share, high) if ratio < -np.log(alpha) else (low, share)
    return high


def bound_strata(strata: Sequence[Draws], alpha: float) -> float:
    """Return the largest number of wrong items in several strata together, at all looks."""
    n, found = sum(one.n for one in strata), sum(one.e for one in strata)
    cell = max(np.ceil(n / CELLS), 1.0)
    least = np.zeros(1)  # log R of the likeliest division of up to so many cells
    for one in strata:
        # log R of so many cells of wrong items in this stratum or more
        wrong = np.arange(int(one.n // cell) + 1) * cell
        own = np.zeros(len(wrong))
        if one.k > 0:
            likeliest = np.ceil(one.n * one.e / one.k)
            tried = np.minimum(np.maximum(wrong, likeliest), one.n).tolist()
            ratios = np.array([log_ratio(one, x) for x in tried])
            own = np.minimum.accumulate(ratios[::-1])[::-1]
        sums = np.full(len(least) + len(own) - 1, np.inf)
        for k, ratio in enumerate(own):
            part = sums[k : k + len(least)]
            np.minimum(part, least + ratio, out=part)
        least = sums
    # a number in cell j is below (j + 1) cell: of S strata in cells that add up to j, below j + S
    cells = float(np.flatnonzero(least < -np.log(alpha)).max(initial=0))
    return float(min(max((cells + len(strata)) * cell - len(strata), found), n))
