"""Patients: who was observed and can have the disease, how cases differ, and flawed records."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.counts import PatientCounts
from unelisa.ehr.omop.database import OmopTables, explain_engine
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
    # concept of the sex, age on the index day or the first observed day, and year of birth; NaN if
    # unknown
    sex: Floats | None = None
    age: Floats | None = None
    born: Floats | None = None

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
    return Persons(observed, possible, sex, age, born)


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
    found = _fetch(first, "dating the anchors").reindex(persons)
    return np.asarray(found["first"].dt.year.to_numpy(float) - born, dtype=np.float64)


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
    flaws = []
    if UTILIZATIONS["visit_count"][0] in tables:
        absent = _count_without_visits(tables, request, counts.table.index)
        flaws.append(Flaw("patients without a visit", absent, len(counts.table)))
    for table, day in _list_dated(request):
        flaws += _check_dates(tables, table, day)
    for domain, (records, days) in counts.repeated.items():
        what = f"{domain} records that repeat patient, feature and day"
        flaws.append(Flaw(what, records - days, records))
    return flaws


def _list_dated(request: CountRequest) -> list[tuple[str, str]]:
    """Return the tables that were counted, and the column with the day; a mention has a note's."""
    used = [DOMAINS[one.domain] for one in request.features]
    places = [("note" if one.table == "note_nlp" else one.table, one.day) for one in used]
    if request.utilization is not None:
        places.append(UTILIZATIONS[request.utilization])
    return list(dict.fromkeys(places))


def _check_dates(tables: OmopTables, table: str, day: str) -> list[Flaw]:
    """Return how many records of a table are in the future, and how many have no date."""
    records = tables.take(table, day=day)
    records = records.select(day=as_day(records.day))
    sums = records.aggregate(
        n=records.count(),
        future=(records.day > _today()).sum(),
        undated=records.day.isnull().sum(),
    )
    with explain_engine(f"checking the dates of {table}"):
        (found,) = sums.to_pyarrow().to_pylist()
    return [
        Flaw(f"{table} records with a date in the future", int(found["future"] or 0), found["n"]),
        Flaw(f"{table} records without a date", int(found["undated"] or 0), found["n"]),
    ]


def _today() -> date:
    return datetime.now(UTC).date()


def _count_without_visits(
    tables: OmopTables, request: CountRequest, persons: "pd.Index[int]"
) -> int:
    """Return how many patients have no visit on the days that count."""
    visits: Any = list_contacts(tables, "visit_count", request.record_window)
    visits = keep_spans(visits, list_spans(tables, request))
    with explain_engine("looking for visits"):
        seen = visits.select("person").distinct().to_pyarrow()
    return int((~persons.isin(seen["person"].to_numpy())).sum())


FEWEST = 5  # patients behind a figure; fewer might be recognized
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
    """Return rows with a name, a kind, and a figure each of the cases and the others.

    `known` has ages in years by name, and `female`, which is 1, 0 or NaN. A figure of kind
    "quartiles" is a list of three numbers, one of kind "share" a share; None where it would single
    out fewer than five patients. The features are the anchors and those that most cases, or most of
    the others, have.
    """
    kinds = {"female": "share"}
    rows = [_compare(name, kinds.get(name, "quartiles"), one, cases) for name, one in known.items()]
    if utilization is not None:
        rows.append(_compare(utilization, "quartiles", counts[utilization].to_numpy(), cases))
    names = [str(name) for name in counts if name != utilization]
    present = {
        group: _share_present(counts, names, chosen) for group, chosen in _split(cases).items()
    }
    order = [np.argsort(-shares, kind="stable")[:TOP] for shares in present.values()]
    top = {
        names[place]: place for places in order for place in places if names[place] not in anchors
    }
    for name in (*anchors, *sorted(top, key=lambda name: -present["cases"][top[name]])):
        has = (counts[name].to_numpy() > 0).astype(np.float64)
        rows.append(_compare(name, "share", has, cases))
    return [row for row in rows if row["cases"] is not None or row["others"] is not None]


def _split(cases: Flags) -> dict[str, Flags]:
    return {"cases": cases, "others": ~cases}


def _share_present(counts: "pd.DataFrame", names: Sequence[str], chosen: Flags) -> Floats:
    """Return the share of some patients who have each feature, column by column."""
    n = max(int(chosen.sum()), 1)
    return np.array([(counts[name].to_numpy()[chosen] > 0).sum() / n for name in names])


def _compare(name: str, kind: str, values: Any, cases: Flags) -> Row:
    figure = _quartiles if kind == "quartiles" else _share
    row: Row = {"name": name, "kind": kind}
    for group, chosen in _split(cases).items():
        known = np.empty(0) if values is None else np.asarray(values, dtype=np.float64)[chosen]
        row[group] = figure(known[~np.isnan(known)])
    return row


def _quartiles(known: Floats) -> list[float] | None:
    return None if len(known) < FEWEST else [float(q) for q in np.quantile(known, QUARTILES)]


def _share(known: Floats) -> float | None:
    """Return the share of ones; None if so few have it, or do not, that they might be found."""
    ones = int(known.sum())
    few = any(0 < n < FEWEST for n in (ones, len(known) - ones)) or not len(known)
    return None if few else ones / len(known)
