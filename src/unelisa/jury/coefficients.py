"""Agreement of judges, and how many independent ones they are.

The package krippendorff is under the GPL, so that alpha is computed here; tests compare both.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, xlogy

from unelisa.jury.intervals import LEVEL, Estimate
from unelisa.latent.trust import match_factor
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
RAREST = 0.002  # of errors of a judge


class Agreement(NamedTuple):
    """Coefficients of agreement; NaN where nothing varies or nobody shares an item."""

    alpha: float  # Krippendorff's, nominal, or ordinal for ordered classes
    kappa: float  # Fleiss'
    cohen: float  # Cohen's, the mean over all pairs of judges


def measure_agreement(votes: Votes) -> Agreement:
    """Return how far judges agree beyond chance."""
    counts, codes = count_classes(votes), encode_classes(votes.n_classes)
    pairs = []
    for s, t in combinations(range(votes.n_voters), 2):
        one, other = votes.values[:, s], votes.values[:, t]
        both = (one != 0) & (other != 0)
        if both.any():
            pairs.append(compute_kappa(one[both], other[both], codes).value)
    known = [kappa for kappa in pairs if not np.isnan(kappa)]
    cohen = float(np.mean(known)) if known else float("nan")
    return Agreement(compute_alpha(counts, votes.ordered), compute_fleiss(counts), cohen)


def count_classes(votes: Votes) -> Floats:
    """Return how many judges say each class of each item."""
    codes = encode_classes(votes.n_classes)
    return np.stack([(votes.values == code).sum(axis=1) for code in codes], axis=1).astype(float)


def compute_alpha(counts: Floats, ordered: bool = False) -> float:
    """Return Krippendorff's alpha from the number of judges per item (row) and class (column).

    alpha = 1 - (n - 1) sum_i sum_{c,k} n_ic n_ik d_ck / (m_i - 1) / sum_{c,k} n_c n_k d_ck, over
    items with m_i > 1 votes; d is 1 for different classes, or (Krippendorff's ordinal metric) the
    squared number of votes between them.
    """
    counts = counts[counts.sum(axis=1) > 1]
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    apart = 1 - np.eye(len(totals))
    if ordered:
        middle = np.cumsum(totals) - totals / 2
        apart = (middle[:, None] - middle) ** 2
    expected = totals @ apart @ totals
    if not expected > 0:
        return float("nan")
    observed = np.einsum("ic,ck,ik,i->", counts, apart, counts, 1 / np.maximum(sizes - 1, 1))
    return float(1 - (totals.sum() - 1) * observed / expected)


def compute_fleiss(counts: Floats) -> float:
    """Return Fleiss' kappa, for any number of judges per item."""
    sizes = counts.sum(axis=1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    if not len(sizes):
        return float("nan")
    observed = float(np.mean((counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))))
    shares = counts.sum(axis=0) / sizes.sum()
    chance = float(shares @ shares)
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def compute_kappa(one: NDArray[np.int8], other: NDArray[np.int8], codes: Sequence[int]) -> Estimate:
    """Return Cohen's kappa of two raters of the same items.

    The variance is p (1 - p) / (n (1 - e)^2) for the share p of agreement and e expected by chance.
    """
    agreed = float(np.mean(one == other))
    chance = float(sum(np.mean(one == code) * np.mean(other == code) for code in codes))
    if chance >= 1:
        return Estimate(float("nan"), float("nan"), float("nan"))
    variance = agreed * (1 - agreed) / (len(one) * (1 - chance) ** 2)
    kappa, low, high = Estimate.of((agreed - chance) / (1 - chance), variance)
    return Estimate(kappa, max(low, -1.0), min(high, 1.0))


def compare_with_gold(votes: Votes, gold: NDArray[np.int8]) -> dict[str, dict[str, float]]:
    """Return Cohen's kappa of each judge with gold labels, as codes per item, 0 without."""
    codes, found = encode_classes(votes.n_classes), {}
    for s, name in enumerate(votes.voters):
        both = (votes.values[:, s] != 0) & (gold != 0)
        if both.any():
            kappa = compute_kappa(votes.values[both, s], gold[both], codes)
            ends = {"low": kappa.low, "high": kappa.high}
            found[str(name)] = {"kappa": kappa.value, **ends, "n": int(both.sum())}
    return found


def bound_effective(
    votes: Votes, chances: Floats, bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return a 90 % interval of Kish's n / (1 + (n - 1) rho); None where nothing is shared.

    rho is the mean correlation of two votes' errors on one item, sum_i a_i / sum_i b_i (see
    `count_independent`), with the variance sum_i (a_i - rho b_i)^2 / (sum_i b_i)^2. How often the
    judges err together depends on how right the labels are: the interval covers both ends of the
    `bounds` of their accuracy.
    """
    views = [chances]
    if bounds is not None:
        logs = np.log(np.clip(chances, 1e-9, 1))
        for end in bounds:
            powered = np.exp(match_factor(logs, end) * logs)
            views.append(powered / powered.sum(axis=1, keepdims=True))
    ends = [end for view in views for end in _bound_view(votes, view)]
    return (min(ends), max(ends)) if ends else None


def _bound_view(votes: Votes, chances: Floats) -> list[float]:
    """Return both ends of the interval for given probabilities of the truth."""
    shape = chances.shape
    total, squares, counts = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
    codes = encode_classes(votes.n_classes)
    for s in range(votes.n_voters):
        column = votes.values[:, s]
        voted = column != 0
        said = np.stack([column == code for code in codes], axis=1)
        right = float((chances * said).sum() / max(voted.sum(), 1))
        error = float(np.clip(1 - right, RAREST, 1 - RAREST))
        gap = (~said - error) / np.sqrt(error * (1 - error)) * voted[:, None]
        total += gap
        squares += gap**2
        counts += voted
    together = (chances * (total**2 - squares)).sum(axis=1)
    pairs = counts * (counts - 1)
    if not pairs.sum():
        return []
    rho = together.sum() / pairs.sum()
    spread = float(np.sqrt(np.sum((together - rho * pairs) ** 2)) / pairs.sum())
    depth = float(counts[counts > 0].mean())
    ends = np.clip(rho + ndtri((1 + LEVEL) / 2) * spread * np.array([1, -1]), 0, 1)
    return [float(end) for end in depth / (1 + (depth - 1) * ends)]


def exceeds_chance(votes: Votes) -> bool:
    """Return whether judges agree more than judges who toss a coin would, with 99 % certainty.

    The agreement of pairs on an item beyond that expected from the classes' shares is compared with
    its standard error over the items.
    """
    counts = count_classes(votes)
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return False
    sizes = counts.sum(axis=1)
    shares = counts.sum(axis=0) / sizes.sum()
    if xlogy(shares, shares).sum() == 0:
        return False
    agreed = (counts * (counts - 1)).sum(axis=1) - sizes * (sizes - 1) * float(shares @ shares)
    return bool(abs(agreed.sum()) > ndtri(0.99) * np.sqrt(np.sum(agreed**2)))
