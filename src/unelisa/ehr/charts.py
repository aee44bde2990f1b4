"""Reviewed charts: the truth of a few patients, and which ones are worth reviewing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.known import list_labels, put_in_order
from unelisa.analysis.certified_shares import certify_cohort
from unelisa.ehr.counts import Floats
from unelisa.errors import VotesError
from unelisa.votes.coding import CodingChoice, settle_coding

STRATA = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95)  # limits of P(case)
FLAGGED = 0.5  # from this P(case) on patients are labeled as cases
SHARE_OF_FLAGGED = 0.3  # of the charts, at least: PPV is that of the flagged patients
FEWEST_OF_STRATUM = 5
HALF = 0.5  # a chart: difference of numbers drawn that rounded shares in a file may make
DIGITS = 9


class ReviewedCharts(NamedTuple):
    """-1 / +1 per patient, 0 without a chart, the labels, and how many patients a chart weighs."""

    signs: NDArray[np.int8]
    classes: tuple[Any, Any]
    weights: Floats
    errors: Floats

    def doubt(self, seen: NDArray[np.bool_]) -> float:
        """Return the share of wrong labels to expect among some reviewed patients."""
        return float(np.average(self.errors[seen], weights=self.weights[seen])) if seen.any() else 0

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
    """Return the truth of the reviewed patients; of two words, the second in order is the case.

    A frame may have the columns drawn and error: chances of being drawn and of a wrong label.
    """
    weights, errors = np.ones(len(patients)), np.zeros(len(patients))
    if y is None:
        return ReviewedCharts(np.zeros(len(patients), dtype=np.int8), (0, 1), weights, errors)
    columns = set(getattr(y, "columns", ())) if "label" in getattr(y, "columns", ()) else set()
    if "drawn" in columns:
        weights = 1 / _read_shares(y["drawn"], "the shares that were drawn", patients, 1.0)
    if "error" in columns:
        errors = _read_shares(y["error"], "the errors of the charts", patients, 0.0)
    y = y["label"] if columns & {"drawn", "error"} else y
    named = put_in_order(y, "the reviewed charts (y)", patients, "patients")
    column, found = list_labels(named, len(patients), "patients")
    if not found:
        raise VotesError("the reviewed charts (y) contain no label; omit y if there are none")
    coding = settle_coding(found, _choose_coding(set(found)))
    if len(coding.classes) > 2:
        third = list(found.values())[2]
        raise VotesError(
            f"the reviewed charts (y) must hold two labels, found {len(coding.classes)}, the third "
            f"{third}"
        )
    negative, positive = coding.classes
    return ReviewedCharts(column.encode(coding.votes), (negative, positive), weights, errors)


class ChartSample(NamedTuple):
    """Patients whose charts are worth reviewing, and the share of their stratum that is drawn."""

    rows: NDArray[np.intp]
    drawn: NDArray[np.float64]


def draw_charts(chances: NDArray[np.float64], n: int, rng: np.random.Generator) -> ChartSample:
    """Return n patients, or all if there are fewer, drawn in strata of P(case).

    A stratum of N gets charts in proportion to N sqrt(P (1 - P)) (Neyman), but at least 30 % are of
    flagged patients, in proportion to N: how many of these are cases, P itself cannot say.
    """
    strata = np.digitize(chances, STRATA)
    sizes = np.bincount(strata, minlength=len(STRATA) + 1)
    means = np.bincount(strata, chances, len(sizes)) / np.maximum(sizes, 1)
    spread = sizes * np.sqrt(means * (1 - means)) + 1e-9
    flagged = np.arange(len(sizes)) > STRATA.index(FLAGGED)
    least = int(np.ceil(round(SHARE_OF_FLAGGED * n, DIGITS)))
    most = max(least, n - FEWEST_OF_STRATUM * int((sizes[~flagged] > 0).sum()))
    wanted = np.clip(round(n * spread[flagged].sum() / spread.sum()), least, most)
    ours = int(min(sizes[flagged].sum(), max(wanted, n - sizes[~flagged].sum())))
    taken, weights = np.zeros_like(sizes), np.where(flagged, sizes, spread)
    for side, part in ((flagged, ours), (~flagged, n - ours)):
        taken[side] = _allot(part, weights[side], sizes[side])
    return draw_strata(strata, taken, rng)


def draw_strata(
    strata: NDArray[np.intp], taken: NDArray[np.intp], rng: np.random.Generator
) -> ChartSample:
    """Return so many patients of each stratum, drawn at random."""
    pairs = [(np.flatnonzero(strata == k), taken[k]) for k in np.flatnonzero(taken)]
    rows = np.sort(np.concatenate([rng.choice(*pair, replace=False) for pair in pairs]))
    return ChartSample(rows, (taken[strata] / np.bincount(strata)[strata])[rows])


def _allot(n: int, weights: Floats, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many of n charts each stratum gets: five if possible, the rest by weight."""
    taken = np.minimum(sizes, min(FEWEST_OF_STRATUM, n // len(sizes)))
    for _ in range(min(n, int(sizes.sum())) - int(taken.sum())):
        taken[np.argmax(np.where(taken < sizes, weights / (taken + 1), -1.0))] += 1
    return taken


def _read_shares(column: Any, what: str, patients: NDArray[Any], absent: float) -> Floats:
    try:
        named = put_in_order(column, what, patients, "patients", absent)
        shares = np.asarray(named, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.array([np.nan])
    if not np.all((shares >= 0) & (shares <= 1) & (shares > absent - 1)):
        least = "above" if absent else "at least"
        raise VotesError(f"{what} must be {least} 0 and at most 1; keep the column")
    return shares


def _choose_coding(labels: set[Any]) -> CodingChoice:
    if labels <= {0, 1}:
        return (False, True) if all(isinstance(label, bool) for label in labels) else "01"
    if {-1, 0} <= labels:
        raise VotesError(
            "the reviewed charts (y) contain both -1 and 0; use 0 and 1 or -1 and 1, and None or "
            "NaN for patients whose charts were not reviewed"
        )
    return "pm1" if labels == {-1} else "auto"


def certify_flagged(
    persons: NDArray[Any],
    chances: Floats,
    flagged: NDArray[np.bool_],
    charts: Mapping[str, tuple[int | None, float]],
    error: float,
) -> tuple[dict[str, Any], list[Any]]:
    """Return the certificate of the flagged patients (`certify_cohort`), and who leaves them."""
    place = {str(person): row for row, person in enumerate(persons.tolist())}
    rows = np.array([place.get(person, -1) for person in charts], dtype=np.intp)
    strata = np.digitize(chances, STRATA)
    drawn = np.bincount(strata[rows], minlength=len(STRATA) + 1)
    sizes = np.bincount(strata, minlength=len(drawn))[strata[rows]]
    stated = np.array([share for _, share in charts.values()])
    # to the chart: one that is left out is missed in a stratum of any size
    if (rows < 0).any() or not (np.abs(stated * sizes - drawn[strata[rows]]) < HALF).all():
        raise VotesError(
            "the charts were drawn with another model or from other records; draw them again with "
            "--charts and this --model, and keep those without a label in the file"
        )
    labels = dict(zip(persons[rows].tolist(), (x or 0 for x, _ in charts.values()), strict=True))
    cases = dict(zip(persons[flagged].tolist(), strata[flagged].tolist(), strict=True))
    facts = certify_cohort(cases, labels, error)
    facts["n_unanswered"] = sum(label is None for label, _ in charts.values())
    return facts, [person for person in cases if labels.get(person) == 0]
