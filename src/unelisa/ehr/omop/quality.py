"""What is wrong with the records that were counted: visits, dates and repeated rows."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from unelisa.ehr.omop.columns import as_day
from unelisa.ehr.omop.counts import PatientCounts
from unelisa.ehr.omop.database import OmopTables, explain_engine
from unelisa.ehr.omop.records import keep_spans, list_contacts, list_spans
from unelisa.ehr.omop.requests import DOMAINS, UTILIZATIONS, CountRequest

if TYPE_CHECKING:
    import pandas as pd


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
