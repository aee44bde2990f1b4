"""Reviewed charts: the truth for a few patients."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.coding import CodingChoice, NumberColumn, TextColumn, settle_coding
from unelisa.errors import VotesError

Signs = NDArray[np.int8]
_KNOWN_SIDES = ((0, 1), (-1, 1))  # also False and True


class ReviewedCharts(NamedTuple):
    """-1 / +1 per patient, 0 where no chart was reviewed, and the user's (negative, positive)."""

    signs: Signs
    classes: tuple[Any, Any]

    @property
    def n_charts(self) -> int:
        """Number of reviewed charts."""
        return int(np.count_nonzero(self.signs))

    def check_side(self, anchors: NDArray[Any]) -> None:
        """Refuse two words of which the first in sort order has more of the anchors: the case.

        Parameters
        ----------
        anchors
            Number of anchor records per patient.
        """
        if self.classes in _KNOWN_SIDES:
            return
        other, case = (float(anchors[self.signs == sign].mean()) for sign in (-1, 1))
        if case < other:
            raise VotesError(
                "the charts with the label that comes second in sort order, which is taken for the "
                "case, have fewer anchors than the others; label the charts 0 and 1, 1 for a case"
            )


def read_reviewed(y: Any, patients: NDArray[Any]) -> ReviewedCharts:
    """Return the truth of the reviewed patients.

    Parameters
    ----------
    y
        None; a dict or pandas Series from patient to label; or one label per patient in their
        order, missing (None, NaN) where no chart was reviewed. Labels are 0 / 1, -1 / 1, booleans
        or two words, the second in sort order being the case.
    patients
        Names of the patients.

    Examples
    --------
    >>> read_reviewed({"p2": 1, "p3": 0}, np.array(["p1", "p2", "p3"])).signs
    array([ 0,  1, -1], dtype=int8)
    """
    if y is None:
        return ReviewedCharts(np.zeros(len(patients), dtype=np.int8), (0, 1))
    named = _by_patient(y)
    if named is not None:
        y = [named.get(str(patient)) for patient in patients]
    labels = y if isinstance(y, np.ndarray) else np.array(list(y), dtype=object)
    if labels.shape != (len(patients),):
        raise VotesError(
            f"y must hold one label or a missing value for each of the {len(patients)} patients, "
            f"found shape {labels.shape}"
        )
    column = NumberColumn(labels) if labels.dtype.kind in "biuf" else TextColumn.of(labels)
    rows = {label: column.first_row(label) for label in column.distinct()}
    if not rows:
        raise VotesError(
            "the reviewed charts (y) name no patient of the table; check how patients are named in "
            "both"
        )
    found = {
        label: f"in row {rows[label] + 1} of the patients"
        for label in sorted(rows, key=rows.__getitem__)
    }
    coding = settle_coding(found, _choose_coding(set(found)))
    return ReviewedCharts(column.encode(coding.votes), coding.classes)


def _choose_coding(labels: set[Any]) -> CodingChoice:
    """Return the coding: a few charts may all say the same, and 0 is no missing chart."""
    if labels <= {0, 1}:
        return (False, True) if all(isinstance(label, bool) for label in labels) else "01"
    if {-1, 0} <= labels:
        raise VotesError(
            "the reviewed charts (y) hold both -1 and 0; label them 0 and 1 or -1 and 1, and leave "
            "out (None, NaN) the patients whose chart was not reviewed"
        )
    return "pm1" if labels == {-1} else "auto"


def _by_patient(y: Any) -> dict[str, Any] | None:
    """Return patient -> label where y names the patients, else None."""
    if isinstance(y, Mapping):
        return {str(patient): label for patient, label in y.items()}
    index = getattr(y, "index", None)
    if index is None or callable(index) or np.array_equal(index, np.arange(len(y))):
        return None
    return {str(patient): label for patient, label in zip(index, y, strict=True)}
