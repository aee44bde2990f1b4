"""Who can have a disease, and who was observed: person and observation_period."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.phenotyping.omop.database import OmopTables, as_day, as_number, explain_engine
from unelisa.phenotyping.omop.requests import Window

if TYPE_CHECKING:
    import pandas as pd

SEXES = {"male": 8507, "female": 8532}  # concepts of gender_concept_id
FEWEST_WRONG = 2  # patients, so that one wrong entry is not a reason
# of the share of the others: a quarter of the labels or more would then be as wrong as these
MOST_WRONG = 0.25
UNOBSERVED = "not observed in the window: no label"
NO_RECORDS = "no records in the window, and no observation periods to tell why"
IMPOSSIBLE = "excluded by sex or age"
Flags = NDArray[np.bool_]


class Limits(NamedTuple):
    """Who can have the disease: a key of `SEXES`, and the ages in years; None: everybody."""

    sex: str | None = None
    age: tuple[int, int] | None = None


class Persons(NamedTuple):
    """What is known of the patients, in their order."""

    observed: Flags | None  # whether in the window; None: there is no table observation_period
    possible: Flags  # whether sex and age allow the disease; unknown ones do

    @property
    def eligible(self) -> Flags:
        """Whether a patient takes part: observed, as far as known, and able to have the disease."""
        return self.possible if self.observed is None else self.possible & self.observed

    def note(self, active: Flags) -> list[str]:
        """Return what the label of each patient must be read with; `active` have records."""
        seen = active if self.observed is None else self.observed
        absent = UNOBSERVED if self.observed is not None else NO_RECORDS
        notes = np.where(seen, "", absent)
        return np.where(self.possible, notes, IMPOSSIBLE).tolist()  # type: ignore[no-any-return]

    def doubt(self, flagged: Flags) -> str | None:
        """Return why labels are doubtful that would be given to patients who cannot be cases."""
        wrong, right = flagged[~self.possible], flagged[self.eligible]
        if wrong.sum() < FEWEST_WRONG or wrong.mean() <= MOST_WRONG * right.mean():
            return None
        return (
            f"{wrong.sum()} of the {len(wrong)} patients whose sex or age excludes the disease "
            f"would be labeled as cases ({wrong.mean():.0%}, of the others {right.mean():.0%}): "
            "the anchors do not mean the disease; choose others"
        )


def describe_persons(
    tables: OmopTables, persons: "pd.Index[int]", limits: Limits, window: Window
) -> Persons:
    """Return who was observed in the window, and who can have the disease."""
    observed, periods = None, None
    if "observation_period" in tables:
        periods = _list_periods(tables, window).reindex(persons)
        observed = periods["first"].notna().to_numpy()
    possible = np.ones(len(persons), dtype=bool)
    if limits != Limits():
        people = _list_people(tables).reindex(persons)
        possible = _allow(people, periods, limits, window)
    return Persons(observed, possible)


def _list_periods(tables: OmopTables, window: Window) -> "pd.DataFrame":
    """Return the first and last observed day in the window, per person."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    names = ("person_id", "observation_period_start_date", "observation_period_end_date")
    periods = tables.take("observation_period", **dict(zip("pse", names, strict=True)))
    periods = periods.select(
        person=as_number(periods.p), first=as_day(periods.s), last=as_day(periods.e)
    )
    if window[0] is not None:
        periods = periods.filter(periods["last"] >= window[0])
    if window[1] is not None:
        periods = periods.filter(periods["first"] <= window[1])
    spans = periods.group_by("person").aggregate(
        first=periods["first"].min(), last=periods["last"].max()
    )
    with explain_engine("reading the observation periods"):
        table = spans.to_pyarrow().to_pandas().dropna().set_index("person")
    return table.apply(pd.to_datetime).clip(
        lower=None if window[0] is None else pd.Timestamp(window[0]),
        upper=None if window[1] is None else pd.Timestamp(window[1]),
    )


def _list_people(tables: OmopTables) -> "pd.DataFrame":
    """Return sex and year of birth per person."""
    people = tables.take("person", p="person_id", s="gender_concept_id", y="year_of_birth")
    people = people.select(
        person=as_number(people.p), sex=as_number(people.s), born=as_number(people.y)
    )
    with explain_engine("reading sex and age"):
        found: pd.DataFrame = people.to_pyarrow().to_pandas().set_index("person")
    return found


def _allow(
    people: "pd.DataFrame", periods: "pd.DataFrame | None", limits: Limits, window: Window
) -> Flags:
    """Return whether sex, and age at some time in the window, allow the disease."""
    allowed = np.ones(len(people), dtype=bool)
    if limits.sex is not None:
        others = [number for name, number in SEXES.items() if name != limits.sex]
        allowed &= ~people["sex"].isin(others).to_numpy()
    if limits.age is not None:
        first, last = _years(periods, window)
        born = people["born"].to_numpy(dtype=np.float64)
        # NaN, unknown, compares as False; the year alone leaves the age open by one
        allowed &= ~((last - born < limits.age[0]) | (first - born - 1 > limits.age[1]))
    return allowed


def _years(periods: "pd.DataFrame | None", window: Window) -> tuple[Any, Any]:
    """Return the first and last year of each person, or of the window; NaN if unknown."""
    if periods is not None:
        return periods["first"].dt.year.to_numpy(float), periods["last"].dt.year.to_numpy(float)
    first, last = (float("nan") if day is None else float(day.year) for day in window)
    return first, last
