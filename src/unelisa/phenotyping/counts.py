"""Patient x feature counts: checked once, before anything is learned from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from unelisa.errors import VotesError

Floats = NDArray[np.float64]
Counts = NDArray[np.float32]
PATIENT_NAMES = ("patient", "patient_id", "person", "person_id", "subject_id")


@dataclass(frozen=True)
class CountTable:
    """How often each patient's record holds each feature.

    Attributes
    ----------
    values
        Patients x features, not negative; float32 holds every count up to 2^24 exactly.
    features, patients
        Names of the columns and the rows.
    utilization
        How much care each patient had (visits, notes), or None where no column was named.
    """

    values: Counts
    features: NDArray[Any]
    patients: NDArray[Any]
    utilization: Floats | None

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return len(self.patients)

    @property
    def log_use(self) -> Floats:
        """Return log(1 + utilisation), 0 for everybody where it is not known."""
        if self.utilization is None:
            return np.zeros(self.n_patients)
        return np.log1p(self.utilization)

    def find(self, names: Sequence[str], what: str) -> NDArray[np.intp]:
        """Return the places of some features; `what` they are is told where one is missing."""
        places = {str(name): place for place, name in enumerate(self.features)}
        for name in names:
            if str(name) not in places:
                raise VotesError(
                    f"there is no feature {str(name)[:60]!r}, which is named as {what}; "
                    f"the features are {_listed(self.features)}"
                )
        return np.array([places[str(name)] for name in names], dtype=np.intp)

    def take_features(self, places: NDArray[np.intp]) -> "CountTable":
        """Return some features of all patients."""
        values = np.asfortranarray(self.values[:, places])
        return CountTable(values, self.features[places], self.patients, self.utilization)

    def take_patients(self, rows: NDArray[np.intp]) -> "CountTable":
        """Return all features of some patients."""
        use = None if self.utilization is None else self.utilization[rows]
        values = np.asfortranarray(self.values[rows])
        return CountTable(values, self.features, self.patients[rows], use)


def read_counts(table: Any, utilization: str | None = None) -> CountTable:
    """Return a checked table of counts.

    Parameters
    ----------
    table
        A pandas or polars frame (or any that narwhals knows): one row per patient, one column of
        counts per feature. Patients are named by a column patient, person_id or the like, else by
        the frame's index, else by their row.
    utilization
        The column that says how much care a patient had; it is no feature then.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ICD:714.0": [0, 3], "note_count": [4, 9]}, index=["p1", "p2"])
    >>> read_counts(frame, "note_count").features
    array(['ICD:714.0'], dtype=object)
    """
    if isinstance(table, CountTable):
        return table
    frame = _as_frame(table)
    patient = next((name for name in frame.columns if str(name).lower() in PATIENT_NAMES), None)
    if utilization is not None and utilization not in frame.columns:
        raise VotesError(
            f"there is no column {utilization[:60]!r} that tells the utilisation; "
            f"the columns are {_listed(frame.columns)}; pass utilization=None if none does"
        )
    features = [name for name in frame.columns if name not in (patient, utilization)]
    if not features or len(frame) == 0:
        raise VotesError(
            f"the table holds {len(frame)} patients and {len(features)} features; "
            "at least one of each is required"
        )
    patients = _name_patients(frame, patient)
    values = np.empty((len(frame), len(features)), dtype=np.float32, order="F")
    for place, name in enumerate(features):
        values[:, place] = _read_column(frame.get_column(name))
    use = None if utilization is None else _read_column(frame.get_column(utilization))
    return CountTable(values, np.array([str(x) for x in features], dtype=object), patients, use)


def _as_frame(table: Any) -> "nw.DataFrame[Any]":
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:
        raise VotesError("two columns have the same name; rename one") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise VotesError(
            "counts must be a pandas or polars frame whose columns are the features, "
            f"found {type(table).__name__}"
        )
    return frame


def _name_patients(frame: "nw.DataFrame[Any]", column: str | None) -> NDArray[Any]:
    index = nw.maybe_get_index(frame) if column is None else frame.get_column(column).to_numpy()
    patients = np.arange(len(frame)) if index is None else np.asarray(index)
    _, first, counts = np.unique(patients.astype(str), return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[counts > 1].min()) + 1
        raise VotesError(
            f"the patient of data row {row} stands in the table twice; keep one row per patient"
        )
    return patients


def _read_column(series: "nw.Series[Any]") -> Floats:
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise VotesError(
            f"column {str(series.name)[:60]!r} holds {series.dtype}, not counts; "
            "drop it, or name the patients' column 'patient'"
        )
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    for wrong, words in ((~np.isfinite(values), "no finite count"), (values < 0, "a count < 0")):
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            raise VotesError(
                f"column {str(series.name)[:60]!r} has {words} in data row {row}; "
                "a count is 0 or more, and 0 where the record holds none"
            )
    return values


def _listed(names: Sequence[Any] | NDArray[Any]) -> str:
    shown = ", ".join(repr(str(name)[:60]) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
