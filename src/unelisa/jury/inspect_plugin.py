"""Inside Inspect AI: a reducer that weighs a panel's grades, and a metric with an interval.

Inspect loads entry points only for names that begin with the package's: `unelisa/panel`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    ScoreReducer,
    metric,
    score_reducer,
    value_to_float,
)
from scipy.special import expit

from unelisa.analysis.scoring import bound_frequency

ToFloat = Callable[[Any], float]
MOST_SURE = 6.0  # of log-odds, so that no judge decides alone for ever


@score_reducer(name="unelisa/panel")
def reduce_panel(
    weights: list[float] | None = None,
    value_to_float: ToFloat = value_to_float(),  # noqa: B008 - Inspect's own default
) -> ScoreReducer:
    """Return a reducer: expit(sum_j w_j (2 x_j - 1)) with `weights`, otherwise the mean."""

    def reduce(scores: list[Score]) -> Score:
        about = {"panel": {"votes": [_list_vote(one) for one in scores], "size": len(scores)}}
        known = [k for k, one in enumerate(scores) if not _is_missing(one.value)]
        if not known:
            return Score(value=math.nan, metadata=about)
        grades = np.array([value_to_float(scores[k].value) for k in known])
        if weights is None:
            return Score(value=float(grades.mean()), metadata=about)
        if len(weights) != len(scores):
            raise ValueError(f"there are {len(weights)} weights for {len(scores)} judges")
        trust = np.clip(np.array(weights)[known], -MOST_SURE, MOST_SURE)
        return Score(value=float(expit(trust @ (2 * grades - 1))), metadata=about)

    return reduce


def _is_missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _list_vote(score: Score) -> Any:
    return None if _is_missing(score.value) else score.value


@metric(name="pass_rate")  # Inspect adds the package
def pass_rate(level: float = 0.95, value_to_float: ToFloat = value_to_float()) -> Metric:  # noqa: B008
    """Return a metric: the mean score with its interval, a sample being one cluster of epochs."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        groups: dict[Any, list[float]] = {}
        for k, one in enumerate(scores):
            if not _is_missing(one.score.value):
                key = k if one.sample_id is None else one.sample_id
                groups.setdefault(key, []).append(value_to_float(one.score.value))
        if not groups:
            return {"share": math.nan, "low": math.nan, "high": math.nan}
        means = np.array([np.mean(group) for group in groups.values()])
        share, n = float(means.mean()), len(means)
        spread = float(means.var())
        effect = spread / (share * (1 - share)) if 0 < share < 1 else 1.0
        low, high = bound_frequency(share, n / max(effect, 1e-3), level)
        return {"share": share, "low": low, "high": high}

    return compute
