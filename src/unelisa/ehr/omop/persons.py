"""Who can have a disease, and who was observed: person and observation_period."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.columns import as_day, as_number
from unelisa.ehr.omop.database import OmopTables, explain_engine
from unelisa.ehr.omop.requests import Window
from unelisa.errors import RecordsError

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
Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """Who can have the disease: a key of `SEXES`, and the ages in years; None: everybody."""

    sex: str | None = None
    age: tuple[int, int] | None = None


class Persons(NamedTuple):
    """What is known of the patients, in their order."""

    observed: Flags | None  # whether in the window; None: there is no table observation_period
    possible: Flags  # whether sex and age allow the disease; unknown ones do
    # concept of the sex, and age on the index day or the first observed day; NaN if unknown
    sex: Floats | None = None
    age: Floats | None = None

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
    tables: OmopTables,
    persons: "pd.Index[int]",
    limits: Limits,
    window: Window,
    spans: Any | None = None,
) -> Persons:
    """Return who was observed in the window, who can have the disease, and sex and age.

    `spans` are the days around an index day that count, as in `records.list_spans`.
    """
    observed, periods = None, None
    ends = None if spans is None else _fetch(spans, "dating the index days").reindex(persons)
    if "observation_period" in tables:
        periods = _list_periods(tables, window, spans).reindex(persons)
        periods = _clip(periods, ends)
        observed = periods["first"].notna().to_numpy()
    people = _list_people(tables, needed=limits != Limits())
    if people is None:
        return Persons(observed, np.ones(len(persons), dtype=bool))
    people = people.reindex(persons)
    first, last = _years(periods, window)
    if ends is not None:
        first = last = ends["index"].dt.year.to_numpy(float)
    born = people["born"].to_numpy(dtype=np.float64)
    possible = _allow(people, (first - born, last - born), limits)
    sex, age = people["sex"].to_numpy(dtype=np.float64), np.asarray(first - born, dtype=np.float64)
    return Persons(observed, possible, sex, age)


def _fetch(expression: Any, doing: str) -> "pd.DataFrame":
    """Return dates per person."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    with explain_engine(doing):
        table = expression.to_pyarrow().to_pandas().set_index("person")
    return table.assign(**{name: pd.to_datetime(table[name]) for name in table})


def list_periods(tables: OmopTables) -> Any:
    """Return the observation periods: person, first, last."""
    names = ("person_id", "observation_period_start_date", "observation_period_end_date")
    periods = tables.take("observation_period", **dict(zip("pse", names, strict=True)))
    return periods.select(
        person=as_number(periods.p), first=as_day(periods.s), last=as_day(periods.e)
    )


def _list_periods(tables: OmopTables, window: Window, spans: Any | None) -> "pd.DataFrame":
    """Return the first and last observed day in the window, per person."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    periods = list_periods(tables)
    if window[0] is not None:
        periods = periods.filter(periods["last"] >= window[0])
    if window[1] is not None:
        periods = periods.filter(periods["first"] <= window[1])
    if spans is not None:
        ends = {name: spans[name] for name in ("first", "last") if name in spans.columns}
        near = spans.select("person", **{f"near_{name}": end for name, end in ends.items()})
        periods = periods.inner_join(near, "person")
        if "first" in ends:
            periods = periods.filter(periods["last"] >= periods.near_first)
        if "last" in ends:
            periods = periods.filter(periods["first"] <= periods.near_last)
    reach = periods.group_by("person").aggregate(
        first=periods["first"].min(), last=periods["last"].max()
    )
    table = _fetch(reach, "reading the observation periods").dropna()
    return table.clip(
        lower=None if window[0] is None else pd.Timestamp(window[0]),
        upper=None if window[1] is None else pd.Timestamp(window[1]),
    )


def _clip(periods: "pd.DataFrame", ends: "pd.DataFrame | None") -> "pd.DataFrame":
    """Return the observed days of each person on the days around the index day."""
    for name in () if ends is None else ({"first", "last"} & {*ends}):
        end = ends[name]  # type: ignore[index]
        for day in ("first", "last"):
            outside = periods[day] < end if name == "first" else periods[day] > end
            periods = periods.assign(**{day: periods[day].where(~outside, end)})
    return periods


def _list_people(tables: OmopTables, *, needed: bool) -> "pd.DataFrame | None":
    """Return sex and year of birth per person; None if the table lacks them and need not."""
    try:
        people = tables.take("person", p="person_id", s="gender_concept_id", y="year_of_birth")
    except RecordsError:
        if needed:
            raise
        return None
    people = people.select(
        person=as_number(people.p), sex=as_number(people.s), born=as_number(people.y)
    )
    with explain_engine("reading sex and age"):
        found: pd.DataFrame = people.to_pyarrow().to_pandas().set_index("person")
    return found


def _allow(people: "pd.DataFrame", ages: tuple[Floats, Floats], limits: Limits) -> Flags:
    """Return whether sex, and age at some time in the window, allow the disease."""
    allowed = np.ones(len(people), dtype=bool)
    if limits.sex is not None:
        others = [number for name, number in SEXES.items() if name != limits.sex]
        allowed &= ~people["sex"].isin(others).to_numpy()
    if limits.age is not None:
        youngest, oldest = ages
        # NaN, unknown, compares as False; the year alone leaves the age open by one
        allowed &= ~((oldest < limits.age[0]) | (youngest - 1 > limits.age[1]))
    return allowed


def _years(periods: "pd.DataFrame | None", window: Window) -> tuple[Any, Any]:
    """Return the first and last year of each person, or of the window; NaN if unknown."""
    if periods is not None:
        return periods["first"].dt.year.to_numpy(float), periods["last"].dt.year.to_numpy(float)
    first, last = (float("nan") if day is None else float(day.year) for day in window)
    return first, last
