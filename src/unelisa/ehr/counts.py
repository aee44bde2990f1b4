"""Patient x feature counts, validated once before anything is learned from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.votes.frames import as_frame, list_names, read_row_names

FEWEST_SHOWN = 10  # patients: a smaller number, or what only they have, may single them out
Floats = NDArray[np.float64]
Counts = NDArray[np.float32]
Places = NDArray[np.intp]
PATIENT_NAMES = ("patient", "patient_id", "person", "person_id", "subject_id")


@dataclass(frozen=True)
class CountTable:
    """How often each feature occurs in each patient's record."""

    # patients x features, nonnegative; float32 represents every count up to 2^24 exactly
    values: Counts
    # features, patients: names of the columns and of the rows
    features: NDArray[Any]
    patients: NDArray[Any]
    # amount of care per patient (visits, notes), or None if no column was named
    utilization: Floats | None

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return len(self.patients)

    @property
    def log_use(self) -> Floats:
        """Return log(1 + utilization), 0 for every patient if it is unknown."""
        if self.utilization is None:
            return np.zeros(self.n_patients)
        return np.log1p(self.utilization)

    def find(self, names: Sequence[str], role: str) -> Places:
        """Return the column indices of some features; `role` completes the error message."""
        places = {str(name): place for place, name in enumerate(self.features)}
        for name in names:
            if str(name) not in places:
                raise VotesError(
                    f"the table has no feature {str(name)[:60]!r}, needed as {role}; "
                    f"its features are {list_names(self.features.tolist())}"
                )
        return np.array([places[str(name)] for name in names], dtype=np.intp)

    def take_features(self, places: Places) -> "CountTable":
        """Return some features of all patients."""
        values = np.asfortranarray(self.values[:, places])
        return CountTable(values, self.features[places], self.patients, self.utilization)


class Roles(NamedTuple):
    """Which features define the truth, and which share records with them."""

    anchors: Places
    related: Places  # not used: what they say, an anchor has said already
    copies: Mapping[int, int] = MappingProxyType({})  # anchors that repeat another one: its place


def read_counts(table: Any, utilization: str | None = None) -> CountTable:
    """Return a validated table of counts.

    `table` is a frame of pandas, polars or any other library that narwhals supports: one row per
    patient, one column of counts per feature. Patients are named by a column patient, person_id or
    the like, else by the frame's index, else by row number. `utilization` names the column with
    the amount of care per patient, which is not a feature.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ICD:714.0": [0, 3], "note_count": [4, 9]}, index=["p1", "p2"])
    >>> read_counts(frame, "note_count").features
    array(['ICD:714.0'], dtype=object)
    """
    if isinstance(table, CountTable):
        return table
    frame = as_frame(table)
    if frame is None:
        raise VotesError(
            "counts must be a pandas or polars frame with one column per feature, "
            f"found {type(table).__name__}"
        )
    patient = next((name for name in frame.columns if str(name).lower() in PATIENT_NAMES), None)
    if utilization is not None and utilization not in frame.columns:
        raise VotesError(
            f"there is no utilization column {utilization[:60]!r} among the columns "
            f"{list_names(frame.columns)}; pass utilization=None if the table has none"
        )
    features = [name for name in frame.columns if name not in (patient, utilization)]
    if not features or len(frame) == 0:
        raise VotesError(
            f"the table has {len(frame)} patients and {len(features)} features; "
            "at least one of each is required"
        )
    patients = _name_patients(frame, patient)
    values = np.empty((len(frame), len(features)), dtype=np.float32, order="F")
    for place, name in enumerate(features):
        values[:, place] = _read_column(frame.get_column(name))
    use = None if utilization is None else _read_column(frame.get_column(utilization))
    return CountTable(values, np.array([str(x) for x in features], dtype=object), patients, use)


def _name_patients(frame: "nw.DataFrame[Any]", column: str | None) -> NDArray[Any]:
    patients = read_row_names(frame) if column is None else frame.get_column(column).to_numpy()
    _, first, counts = np.unique(patients.astype(str), return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[counts > 1].min()) + 1
        raise VotesError(
            f"the patient in data row {row} appears more than once; keep one row per patient"
        )
    return patients


def _read_column(series: "nw.Series[Any]") -> Floats:
    name = str(series.name)[:60]
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise VotesError(
            f"column {name!r} holds {series.dtype}, not counts; "
            "drop it, or name the column of patients 'patient'"
        )
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    for wrong, what in ((~np.isfinite(values), "missing or infinite"), (values < 0, "negative")):
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            raise VotesError(
                f"column {name!r} has a {what} count in data row {row}; "
                "use 0 where a record does not contain the feature"
            )
    return values
