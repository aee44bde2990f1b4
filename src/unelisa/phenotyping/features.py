"""The table `features_`: how much each feature contributes, and why."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.phenotyping.anchors import AnchorModel
from unelisa.phenotyping.counts import Floats, Places


@dataclass(frozen=True)
class FeatureFacts:
    """What was found about the features."""

    # features, anchors: all names, and the indices of the anchors
    features: NDArray[Any]
    anchors: Places
    # correlations, directions, ties: as in `Screening`
    correlations: Floats
    directions: NDArray[np.int8]
    ties: Floats
    selected: NDArray[np.bool_]  # whether a feature is used
    # effect on the log-odds: difference between its 95 % and 5 % quantiles over patients
    weights: Floats


def describe_features(facts: FeatureFacts, model: AnchorModel) -> Any:
    """Return a pandas table: feature, selected, weight, direction, reason; strongest first."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    table = pd.DataFrame(
        {
            "feature": facts.features,
            "selected": facts.selected,
            "weight": facts.weights,
            "direction": np.where(facts.selected, facts.directions, 0).astype(np.int8),
            "reason": [_reason(facts, model, place) for place in range(len(facts.features))],
        }
    )
    return table.sort_values(
        "weight", key=np.abs, ascending=False, kind="stable", ignore_index=True
    )


def _reason(facts: FeatureFacts, model: AnchorModel, place: int) -> str:
    anchor = np.flatnonzero(facts.anchors == place)
    if len(anchor):
        levels = model.anchors[int(anchor[0])].levels
        return f"anchor: {np.exp(levels[1] - levels[0]):.3g} times as frequent among cases"
    found = facts.correlations[place]
    if not found.any():
        return "constant: the same count for every patient"
    shown = " and ".join(f"{value:.2f}" for value in found)
    if not facts.directions[place]:
        return f"not correlated with every anchor ({shown})"
    sign = "positively" if facts.directions[place] > 0 else "negatively"
    correlated = f"{sign} correlated with every anchor ({shown})"
    if not facts.selected[place]:
        return f"{correlated}, but explained by other features"
    tie = facts.ties[place]
    return correlated if np.isnan(tie) else f"{correlated}, coupling to the truth {tie:.2f}"
