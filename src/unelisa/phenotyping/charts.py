"""Reviewed charts: the truth of a few patients."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.known import list_labels, put_in_order
from unelisa.coding import CodingChoice, settle_coding
from unelisa.errors import VotesError


class ReviewedCharts(NamedTuple):
    """-1 / +1 per patient, 0 if the chart was not reviewed, and the user's (negative, positive)."""

    signs: NDArray[np.int8]
    classes: tuple[Any, Any]

    def check_side(self, anchors: NDArray[Any]) -> None:
        """Reject two words whose first in sort order has more anchor records, hence is the case."""
        if self.classes in {(0, 1), (-1, 1)}:  # also (False, True)
            return
        other, case = (float(anchors[self.signs == sign].mean()) for sign in (-1, 1))
        if case < other:
            raise VotesError(
                "the charts with the label that sorts second, read as the case, have fewer anchor "
                "records than the others; label the charts 0 and 1, 1 for a case"
            )


def read_reviewed(y: Any, patients: NDArray[Any]) -> ReviewedCharts:
    """Return the truth of the reviewed patients.

    `y` is None; a dict or pandas Series from patient to label; or one label per patient in their
    order, missing (None, NaN) if the chart was not reviewed. Labels are 0 / 1, -1 / 1, booleans or
    two words, of which the second in sort order is the case.

    Examples
    --------
    >>> read_reviewed({"p2": 1, "p3": 0}, np.array(["p1", "p2", "p3"])).signs
    array([ 0,  1, -1], dtype=int8)
    """
    if y is None:
        return ReviewedCharts(np.zeros(len(patients), dtype=np.int8), (0, 1))
    named = put_in_order(y, "the reviewed charts (y)", patients, "patients")
    column, found = list_labels(named, len(patients), "patients")
    if not found:
        raise VotesError("the reviewed charts (y) contain no label; omit y if there are none")
    coding = settle_coding(found, _choose_coding(set(found)))
    return ReviewedCharts(column.encode(coding.votes), coding.classes)


def _choose_coding(labels: set[Any]) -> CodingChoice:
    """Return the coding: a few charts may all have the same label, and 0 is never missing."""
    if labels <= {0, 1}:
        return (False, True) if all(isinstance(label, bool) for label in labels) else "01"
    if {-1, 0} <= labels:
        raise VotesError(
            "the reviewed charts (y) contain both -1 and 0; use 0 and 1 or -1 and 1, and None or "
            "NaN for patients whose charts were not reviewed"
        )
    return "pm1" if labels == {-1} else "auto"
