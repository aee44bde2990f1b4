"""How labels change with the prevalence that is stated: the same votes, another threshold.

A stated prevalence adds an offset to the log-odds of all items, with which the mean P(positive) of
those with votes equals it, as `LatentIsing.fit(prevalence=...)` does.
Gold labels stay.
"""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged

Floats = NDArray[np.float64]

STEP = 0.01  # between the prevalences that are tried
ENOUGH = 20_000  # items, evenly spaced by their log-odds, that give the mean
FARTHEST = 50.0  # offset beyond which only gold labels resist


def trace_prevalence(
    model: Aggregator, judged: Judged | None, share: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return how many items are labeled positive at each prevalence; None where it is not asked.

    That is for methods whose `fit` takes a prevalence, with two classes. `share` is the estimated
    one. The prevalences reach to .5, or to .99 where the estimate may be larger.
    """
    if judged is None or share is None or not judged.two_classes or not takes_prevalence(model):
        return None
    heard = np.sort(judged.scores[judged.voted_on])
    if not len(heard):
        return None
    end = 0.5 if (share["high"] or share["share"]) <= 0.5 else 1.0
    grid = np.arange(1, round(min(end, 1 - STEP) / STEP) + 1) * STEP
    rows = []
    for prevalence in grid.tolist():
        offset = find_offset(heard, prevalence)
        if offset is not None:
            labeled = int(np.count_nonzero(judged.scores + offset >= 0))
            shares = {"prevalence": round(prevalence, 2), "share": labeled / len(judged.scores)}
            rows.append({**shares, "labeled": labeled})
    return {"end": end, "rows": rows}


def takes_prevalence(model: Aggregator) -> bool:
    """Return whether a method's `fit` takes a stated prevalence."""
    return "prevalence" in signature(type(model).fit).parameters


def find_offset(odds: Floats, prevalence: float) -> float | None:
    """Return what, added to sorted log-odds, makes the mean of P equal a prevalence.

    None where gold labels, whose log-odds are beyond reach, do not allow it.
    """
    from scipy.optimize import brentq  # noqa: PLC0415 - takes a tenth of a second

    places = np.linspace(0, len(odds) - 1, min(len(odds), ENOUGH)).astype(np.intp)
    some = odds[places]

    def miss(offset: float) -> float:
        return float(expit(some + offset).mean()) - prevalence

    if miss(-FARTHEST) > 0 or miss(FARTHEST) < 0:
        return None
    return float(brentq(miss, -FARTHEST, FARTHEST, xtol=1e-9))
