"""What each feature is worth, and why: the table `features_`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.phenotyping.anchors import AnchorModel
from unelisa.sources.counts import Floats


@dataclass(frozen=True)
class FeatureFacts:
    """What was found of the features.

    Attributes
    ----------
    features, anchors
        All names, and the places of the anchors.
    correlations
        Features x anchors, utilisation taken out.
    directions
        +1 or -1 for features that go along with or against every anchor.
    ties
        theta_0s of the anchored graph, NaN where a feature was not in it.
    selected
        Whether a feature is used.
    weights
        How far the feature moves the log odds: from the 5 % quantile of patients to the 95 %.
    """

    features: NDArray[Any]
    anchors: NDArray[np.intp]
    correlations: Floats
    directions: NDArray[np.int8]
    ties: Floats
    selected: NDArray[np.bool_]
    weights: Floats


def describe_features(facts: FeatureFacts, model: AnchorModel) -> Any:
    """Return a pandas table: feature, selected, weight, direction, reason; strongest first."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    reasons = [_reason(facts, model, place) for place in range(len(facts.features))]
    table = pd.DataFrame(
        {
            "feature": facts.features,
            "selected": facts.selected,
            "weight": facts.weights,
            "direction": np.where(facts.selected, facts.directions, 0).astype(np.int8),
            "reason": reasons,
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
    shown = " and ".join(f"{value:.2f}" for value in found)
    if not found.any():
        return "its count is the same for every patient"
    side = "along with" if facts.directions[place] > 0 else "against"
    if facts.selected[place]:
        tie = "" if np.isnan(facts.ties[place]) else f", tie to the truth {facts.ties[place]:.2f}"
        return f"goes {side} every anchor (correlation {shown}){tie}"
    if facts.directions[place]:
        return f"goes {side} every anchor ({shown}), but other features explain it"
    return f"does not go along with every anchor (correlation {shown})"
