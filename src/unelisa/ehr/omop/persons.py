"""Patients: who was observed and can have the disease, how cases differ, and flawed records."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.omop.counts import PatientCounts
from unelisa.ehr.omop.database import OmopTables, fetch
from unelisa.ehr.omop.records import (
    as_day,
    as_number,
    keep_spans,
    list_contacts,
    list_days,
    list_spans,
)
from unelisa.ehr.omop.requests import DOMAINS, UTILIZATIONS, CountRequest, Request, Window
from unelisa.errors import RecordsError

if TYPE_CHECKING:
    import pandas as pd


SEXES = {"male": 8507, "female": 8532}  # concepts of gender_concept_id
FEWEST_WRONG = 2  # patients, so that one wrong entry is not a reason
# of the share of the others: a quarter of the labels or more would then be as wrong as these
MOST_WRONG = 0.25
UNOBSERVED = "not observed in the window: no label"
NO_RECORDS = "no records in the window, and no observation periods to explain it"
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
    sex: Floats | None = None  # its concept; NaN if unknown, as in the others
    age: Floats | None = None  # in years, on the index day or the first observed day
    born: Floats | None = None  # year of birth

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
    """Return who was observed in the window, who can have the disease, and sex and age."""
    observed = None
    years: list[Any] = [float("nan") if day is None else float(day.year) for day in window]
    if "observation_period" in tables:
        periods = _observe(list_periods(tables), window, spans)
        days = _list_dates(periods, "reading the observation periods").dropna().reindex(persons)
        observed = days["first"].notna().to_numpy()
        years = [days[name].dt.year.to_numpy(float) for name in ("first", "last")]
    people = _list_people(tables, needed=limits != Limits())
    if people is None:
        return Persons(observed, np.ones(len(persons), dtype=bool))
    people = people.reindex(persons)
    if spans is not None:
        index = _list_dates(spans.select("person", "index"), "dating the index days").reindex(
            persons
        )
        years = [index["index"].dt.year.to_numpy(float)] * 2
    born = people["born"].to_numpy(dtype=np.float64)
    youngest, oldest = (np.asarray(year - born, dtype=np.float64) for year in years)
    possible = _allow(people, (youngest, oldest), limits)
    return Persons(observed, possible, people["sex"].to_numpy(np.float64), youngest, born)


def _observe(periods: Any, window: Window, spans: Any | None) -> Any:
    low, high = window
    if spans is not None:
        near = {f"near_{name}": name for name in spans.columns if name != "person"}
        periods = periods.inner_join(spans.rename(near), "person")
        low = periods.near_first if "near_first" in near else low
        high = periods.near_last if "near_last" in near else high
    if low is not None:
        first = (periods["first"] < low).ifelse(low, periods["first"])
        periods = periods.mutate(first=first).filter(periods["last"] >= low)
    if high is not None:
        last = (periods["last"] > high).ifelse(high, periods["last"])
        periods = periods.mutate(last=last).filter(periods["first"] <= high)
    return periods.group_by("person").aggregate(
        first=periods["first"].min(), last=periods["last"].max()
    )


def date_anchors(
    tables: OmopTables,
    request: CountRequest,
    anchors: Sequence[Request],
    persons: "pd.Index[int]",
    born: Floats | None,
) -> Floats | None:
    """Return the age in years on the first day with an anchor that counts; NaN if unknown."""
    if born is None:
        return None
    days = keep_spans(
        list_days(tables, anchors, request.record_window), list_spans(tables, request)
    )
    first = days.group_by("person").aggregate(first=days.day.min())
    found = _list_dates(first, "dating the anchors").reindex(persons)
    return np.asarray(found["first"].dt.year.to_numpy(float) - born, dtype=np.float64)


def _list_dates(expression: Any, doing: str) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415 - only tables need it

    table = fetch(expression, doing).to_pandas().set_index("person")
    return table.assign(**{name: pd.to_datetime(table[name]) for name in table})


def list_periods(tables: OmopTables) -> Any:
    """Return the observation periods: person, first, last."""
    names = ("person_id", "observation_period_start_date", "observation_period_end_date")
    periods = tables.take("observation_period", **dict(zip("pse", names, strict=True)))
    return periods.select(
        person=as_number(periods.p), first=as_day(periods.s), last=as_day(periods.e)
    )


def _list_people(tables: OmopTables, *, needed: bool) -> "pd.DataFrame | None":
    try:
        people = tables.take("person", p="person_id", s="gender_concept_id", y="year_of_birth")
    except RecordsError:
        if needed:
            raise
        return None
    people = people.select(
        person=as_number(people.p), sex=as_number(people.s), born=as_number(people.y)
    )
    found: pd.DataFrame = fetch(people, "reading sex and age").to_pandas().set_index("person")
    return found


def _allow(people: "pd.DataFrame", ages: tuple[Floats, Floats], limits: Limits) -> Flags:
    allowed = np.ones(len(people), dtype=bool)
    if limits.sex is not None:
        others = [number for name, number in SEXES.items() if name != limits.sex]
        allowed &= ~people["sex"].isin(others).to_numpy()
    if limits.age is not None:
        youngest, oldest = ages
        # NaN, unknown, compares as False; the year alone leaves the age open by one
        allowed &= ~((oldest < limits.age[0]) | (youngest - 1 > limits.age[1]))
    return allowed


class Flaw(NamedTuple):
    """A flaw of the records, and how many of them have it."""

    what: str
    number: int
    of: int

    @property
    def share(self) -> float:
        """Its share; 0 of nothing."""
        return self.number / self.of if self.of else 0.0


def list_flaws(tables: OmopTables, request: CountRequest, counts: PatientCounts) -> list[Flaw]:
    """Return the flaws that were looked for, also those that no record has."""
    flaws, persons = [], counts.table.index
    if UTILIZATIONS["visit_count"][0] in tables:
        visits: Any = list_contacts(tables, "visit_count", request.record_window)
        visits = keep_spans(visits, list_spans(tables, request))
        seen = fetch(visits.select("person").distinct(), "looking for visits")["person"]
        absent = int((~persons.isin(seen.to_numpy())).sum())
        flaws.append(Flaw("patients without a visit", absent, len(persons)))
    used = [DOMAINS[one.domain] for one in request.features]
    # a mention has the day of its note
    places = [("note" if one.table == "note_nlp" else one.table, one.day) for one in used]
    if request.utilization is not None:
        places.append(UTILIZATIONS[request.utilization])
    for table, day in dict.fromkeys(places):
        flaws += _check_dates(tables, table, day)
    for domain, (records, days) in counts.repeated.items():
        what = f"{domain} records that repeat patient, feature and day"
        flaws.append(Flaw(what, records - days, records))
    return flaws


def _check_dates(tables: OmopTables, table: str, day: str) -> Iterator[Flaw]:
    days = as_day(tables.take(table, day=day).day)
    wrong = {
        "with a date in the future": (days > _today()).sum(),
        "without a date": days.isnull().sum(),
    }
    sums = days.as_table().aggregate(days.count() + days.isnull().sum(), **wrong)
    rows = fetch(sums, f"checking the dates of {table}").to_pylist()
    ((of, *numbers),) = (row.values() for row in rows)
    for what, number in zip(wrong, numbers, strict=True):
        yield Flaw(f"{table} records {what}", int(number or 0), int(of or 0))


def _today() -> date:
    return datetime.now(UTC).date()


TOP = 8  # most frequent features of each group
QUARTILES = (0.25, 0.5, 0.75)
Row = dict[str, Any]


def describe_groups(
    counts: "pd.DataFrame",
    cases: Flags,
    known: Mapping[str, Floats | None],
    utilization: str | None = None,
    anchors: Sequence[str] = (),
) -> list[Row]:
    """Return rows with a name, a kind, and a figure (None for few patients) of cases and others."""
    groups = {"cases": cases, "others": ~cases}
    columns = [(name, name == "female", values) for name, values in known.items()]
    if utilization is not None:
        columns.append((utilization, False, counts[utilization].to_numpy()))
    names = [str(name) for name in counts if name != utilization]
    present = {  # the share of each group who have a feature, column by column
        group: np.array([(counts[name].to_numpy()[chosen] > 0).sum() for name in names])
        / max(int(chosen.sum()), 1)
        for group, chosen in groups.items()
    }
    order = [np.argsort(-shares, kind="stable")[:TOP] for shares in present.values()]
    top = dict.fromkeys(place for places in order for place in places.tolist())
    frequent = sorted(top, key=lambda place: -present["cases"][place])
    listed = (*anchors, *(names[k] for k in frequent if names[k] not in anchors))
    columns += [(name, True, counts[name].to_numpy() > 0) for name in listed]
    rows: list[Row] = []
    for name, shared, values in columns:
        row: Row = {"name": name, "kind": "share" if shared else "quartiles"}
        for group, chosen in groups.items():
            found = np.empty(0) if values is None else np.asarray(values, dtype=np.float64)[chosen]
            row[group] = _summarize(found[~np.isnan(found)], shared)
        rows.append(row)
    return [row for row in rows if row["cases"] is not None or row["others"] is not None]


def _summarize(known: Floats, shared: bool) -> list[float] | float | None:
    """Return the share of ones, or the quartiles; None where so few have it that it shows them."""
    if not shared:
        return np.quantile(known, QUARTILES).tolist() if len(known) >= FEWEST_SHOWN else None
    ones = int(known.sum())
    few = any(0 < n < FEWEST_SHOWN for n in (ones, len(known) - ones)) or not len(known)
    return None if few else ones / len(known)
