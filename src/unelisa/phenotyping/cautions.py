"""What is rejected before a phenotype is fitted, and what is warned of afterward."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ConvergenceWarning, ModelError, UnelisaWarning, VotesError, warn_user
from unelisa.phenotyping.anchors import AnchorModel
from unelisa.phenotyping.counts import CountTable, Floats, Places
from unelisa.phenotyping.screening import correlate, remove_utilization

FEWEST_PATIENTS = 20


def check_settings(anchors: Sequence[str], prevalence: float | None) -> list[str]:
    """Return the names of the anchors; reject settings that no fit can use."""
    if isinstance(anchors, str):
        raise ModelError("anchors must be a list of feature names, found a single string")
    names = [str(name) for name in anchors]
    if not names or len(set(names)) < len(names):
        raise ModelError("anchors must name at least one feature, and each feature only once")
    if prevalence is not None and not 0 < prevalence < 1:
        raise ModelError(f"prevalence must be strictly between 0 and 1, found {prevalence}")
    return names


def find_anchors(table: CountTable, names: Sequence[str]) -> Places:
    """Return the indices of the anchors; reject tables and anchors that nothing follows from."""
    if table.n_patients < FEWEST_PATIENTS:
        raise VotesError(
            f"the table has {table.n_patients} patients; at least {FEWEST_PATIENTS} are required"
        )
    places = table.find(names, "an anchor")
    for name, place in zip(names, places, strict=True):
        column = table.values[:, place]
        if column.min() == column.max():
            what = "has the same count for every patient" if column.any() else "never occurs"
            raise VotesError(f"the anchor {name[:60]!r} {what}; choose another one")
    return places


def warn_of_anchors(model: AnchorModel, names: NDArray[np.object_]) -> None:
    """Warn if EM did not converge, and if an anchor is not more frequent among cases."""
    if not model.converged:
        warn_user("EM for the anchor model reached its iteration limit", ConvergenceWarning)
    for name, found in zip(names, model.anchors, strict=True):
        if found.levels[1] <= found.levels[0]:
            warn_user(
                f"the anchor {str(name)[:60]!r} is not more frequent among cases: the anchors "
                "contradict each other; choose others",
                UnelisaWarning,
            )


def warn_of_utilization(table: CountTable, anchors: Places, chances: Floats) -> None:
    """Warn if P(case) is correlated with utilization more than with the rest of an anchor.

    Without a utilization column, the sum of the other features' counts stands in for it.
    """
    use, what = table.log_use, "utilization"
    if table.utilization is None:
        others = np.delete(table.values, anchors, axis=1)
        use = np.log1p(others.sum(axis=1, dtype=np.float64))
        what = "the sum of all other counts"
    free = remove_utilization(np.log1p(table.values[:, anchors]), use)
    found = correlate(np.column_stack([use, free]), chances[:, None])[:, 0]
    follows = abs(found[0])
    if follows > found[1:].min():
        warn_user(
            f"the estimated truth follows {what} (correlation {follows:.2f}) more than the "
            "anchors: choose anchors that are specific to the disease, and name the utilization "
            "column",
            UnelisaWarning,
        )
