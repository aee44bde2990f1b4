"""Patient x feature counts, validated once, and the counts expected at a given utilization.

Raw counts mostly reflect how much care a patient gets, so they are compared with expected ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.schema import stored
from unelisa.votes import Votes
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
    """Return a validated table of counts, one row per patient, named by a column or the index."""
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


STEEPEST = 1.5  # growth beyond this power is not explained by utilization


@stored(scales="finite[features]", slopes="finite[features]")
@dataclass(frozen=True)
class ExpectedCounts:
    """Mean count of each feature given utilization u: m_j(u) = c_j (1 + u)^b_j."""

    # scales, slopes: c_j and b_j per feature
    scales: Floats
    slopes: Floats

    @classmethod
    def learn(cls, counts: CountTable) -> "ExpectedCounts":
        """Return the slopes of Poisson regressions on log(1 + u), consistent at any dispersion."""
        levels, codes = np.unique(counts.log_use, return_inverse=True)
        sizes = np.bincount(codes).astype(np.float64)
        scales, slopes = np.empty(len(counts.features)), np.empty(len(counts.features))
        for place in range(len(counts.features)):
            totals = np.bincount(codes, counts.values[:, place]).astype(np.float64)
            slopes[place] = _poisson_slope(totals, sizes, levels)
            scales[place] = totals.sum() / (sizes * np.exp(slopes[place] * levels)).sum()
        return cls(scales, slopes)

    def expect(self, counts: CountTable, feature: int) -> Floats:
        """Return m_j(u) for every patient."""
        return np.asarray(self.scales[feature] * np.exp(self.slopes[feature] * counts.log_use))

    def rates(self, counts: CountTable) -> Counts:
        """Return log((x + 1) / (m(u) + 1)): 0 for a count equal to its expectation."""
        rates = np.empty_like(counts.values)
        for feature in range(len(counts.features)):
            expected = self.expect(counts, feature)
            rates[:, feature] = np.log((counts.values[:, feature] + 1) / (expected + 1))
        return rates

    def votes(self, counts: CountTable) -> Votes:
        """Return one voter per feature: yes if the count exceeds m(u)."""
        values = np.empty(counts.values.shape, dtype=np.int8, order="F")
        for feature in range(len(counts.features)):
            above = counts.values[:, feature] > self.expect(counts, feature)
            values[:, feature] = np.where(above, 1, -1)
        return Votes.of_values(values, counts.patients, counts.features, (-1, 1))


def _poisson_slope(totals: Floats, sizes: Floats, levels: Floats) -> float:
    """Return b of E x = exp(a + b l); patients with equal l are one observation."""
    centered = levels - np.average(levels, weights=sizes)
    if not totals.any() or not centered.any():
        return 0.0
    level, slope = float(np.log(totals.sum() / sizes.sum())), 0.5
    for _ in range(25):
        mean = sizes * np.exp(np.clip(level + slope * centered, -20, 12))
        score = np.array([(totals - mean).sum(), ((totals - mean) * centered).sum()])
        mixed = (mean * centered).sum()
        curvature = np.array([[mean.sum(), mixed], [mixed, (mean * centered**2).sum()]])
        step = np.clip(np.linalg.solve(curvature + 1e-9 * np.eye(2), score), -1, 1)
        level, slope = level + float(step[0]), slope + float(step[1])
        if np.abs(step).max() < 1e-6:
            break
    return min(max(slope, 0.0), STEEPEST)
