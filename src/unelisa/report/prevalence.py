"""The share of positive items, with an interval."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from unelisa.em import bound_share


class Prevalence(TypedDict):
    """A share and its 95 % interval; None where the items at hand do not give one."""

    share: float
    low: float | None
    high: float | None


def bound_prevalence(share: float, posteriors: NDArray[np.float64] | None) -> Prevalence:
    """Return the share of positive items with a 95 % interval, the voters' quality taken as known.

    The interval is that of `em.bound_share`: it leaves out what is unknown about the voters, and is
    wider than a binomial one where posteriors are undecided.

    There is no interval where pi is not the mean of the posteriors: then these are not the items
    that pi was estimated from.

    Examples
    --------
    >>> {key: round(x, 2) for key, x in bound_prevalence(.5, np.repeat([0., 1.], 50)).items()}
    {'share': 0.5, 'low': 0.4, 'high': 0.6}
    """
    bare: Prevalence = {"share": share, "low": None, "high": None}
    if posteriors is None or not len(posteriors) or not 0 < share < 1:
        return bare
    information = float(((posteriors - share) ** 2).sum())
    # EM stops within a thousandth of its fixed point
    if abs(float(posteriors.mean()) - share) > 1e-3 or information <= 0:
        return bare
    low, high = bound_share(share, information)
    return {"share": share, "low": low, "high": high}
