"""Counts from a database of health records in the OMOP common data model, 5.3 or 5.4."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import RecordsError
from unelisa.sources.omop_connection import open_database
from unelisa.sources.omop_features import (
    DOMAINS,
    Request,
    Window,
    count_contacts,
    count_days,
    find_contacts,
    list_days,
    parse_request,
)
from unelisa.sources.omop_tables import OmopTables, as_number, explain_engine

if TYPE_CHECKING:
    import pandas as pd

MOST_FEATURES = 20_000
_BATCH = 500_000

Integers = NDArray[np.int64]
Advance = Callable[[str], None]  # what is done next


class Step(NamedTuple):
    """One question to the database: what was counted, in how many rows it came, and how long."""

    what: str
    rows: int
    seconds: float


@dataclass(frozen=True, eq=False)
class PatientCounts:
    """Patient x feature counts, and how they came about.

    Attributes
    ----------
    table
        One row per patient (index: person_id), one int32 column per feature.
    steps
        The questions that the database answered.
    """

    table: "pd.DataFrame"
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class CountRequest:
    """What to count.

    Attributes
    ----------
    features, utilization, entry, window
        As in `read_omop`.
    """

    features: tuple[Request, ...]
    utilization: str | None = "note_count"
    entry: tuple[Request, ...] = ()
    window: Window = (None, None)

    @classmethod
    def of(
        cls,
        features: Sequence[str],
        utilization: str | None = "note_count",
        entry: Sequence[str] = (),
        window: tuple[date | str | None, date | str | None] = (None, None),
    ) -> "CountRequest":
        """Return the request, or raise `RecordsError` where it cannot be understood."""
        if not features:
            raise RecordsError("no feature was asked for; name some, such as ICD:714.%")
        if utilization is not None:
            find_contacts(utilization)
        first, last = (_parse_day(day) for day in window)
        if first is not None and last is not None and first > last:
            raise RecordsError(f"the window ends ({last}) before it starts ({first})")
        asked = tuple(dict.fromkeys(parse_request(text) for text in features))
        rule = tuple(dict.fromkeys(parse_request(text) for text in entry))
        return cls(asked, utilization, rule, (first, last))

    def of_domain(self, domain: str) -> list[Request]:
        """Return the features of one kind."""
        return [one for one in self.features if one.domain == domain]

    def narrow(self, columns: Sequence[str]) -> "CountRequest":
        """Return the request for these columns only, each of them there even if it is empty."""
        by_name = {one.column: one for one in self.features if one.reach != "each"}
        return replace(self, features=tuple(by_name.get(c) or self._pick(c) for c in columns))

    def _pick(self, column: str) -> Request:
        """Return one feature of a pattern."""
        if not any(one.covers(column) for one in self.features):
            raise RecordsError(f"the feature {column[:60]!r} is needed, but not asked for")
        domain, _, code = column.partition(":")
        return Request(column, domain, code, "name")


def read_omop(
    database: "str | Path | Any",
    features: Sequence[str],
    *,
    utilization: str | None = "note_count",
    entry: Sequence[str] = (),
    window: tuple[date | str | None, date | str | None] = (None, None),
    schema: str | None = None,
) -> "pd.DataFrame":
    """Return patient x feature counts from a database in the OMOP common data model.

    The database counts; only one number per patient and feature leaves it. Each feature counts at
    most once a day. Needs `pip install "unelisa[omop]"`.

    Parameters
    ----------
    database
        Path of a DuckDB file; path of a folder with one Parquet or CSV file per table; address of
        a PostgreSQL server (postgresql://user@host/name); or an Ibis connection to any engine.
    features
        What to count, as the columns shall be named: "ICD:714.0" a source code of a condition,
        "ICD:714.%" every code that starts so, "ICD:714.+" those together as one feature,
        "CONCEPT:80809" a standard concept of a condition, "CONCEPT:80809+" it and all below it,
        "NLP:joint swelling" affirmed mentions in notes, "NLP:%" all of them, "RX:..." drugs and
        "LAB:..." measurements by concept number or name.
    utilization
        How much care a patient gets: "note_count", "visit_count" or None for no such column.
    entry
        Features of which a patient must have at least one to be included; all patients without.
    window
        First and last day that count, as dates or "2001-12-31"; None leaves an end open.
    schema
        Schema of the OMOP tables on a server, such as "cdm".

    Returns
    -------
    pandas.DataFrame
        One row per patient (index: person_id, sorted), one int32 column per feature, then the
        utilisation.

    Examples
    --------
    >>> import pathlib, tempfile, unelisa as ue
    >>> from unelisa.datamart import write_datamart
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ra.duckdb"
    >>> drawn = ue.simulate_ehr(50, random_state=0)
    >>> write_datamart(drawn, file)
    >>> counts = ue.read_omop(file, ["ICD:714.0", "NLP:morning stiffness"])
    >>> bool((counts == drawn.counts[counts.columns]).all(axis=None))
    True
    """
    request = CountRequest.of(features, utilization, entry, window)
    with open_database(database) as connection:
        return count_patients(OmopTables.of(connection, schema), request).table


def count_patients(
    tables: OmopTables, request: CountRequest, advance: Advance | None = None
) -> PatientCounts:
    """Return the counts that are asked for, calling `advance` before each question."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    # every question is put together first: what lacks is told before anything long runs
    cohort = list_patients(tables, request)
    counts, use = _list_counts(tables, request, cohort), request.utilization
    contacts = None if use is None else count_contacts(tables, use, request.window)
    questions = _Questions(advance)
    persons = questions.ask_persons(cohort)
    index = pd.Index(persons, name="person_id")
    blocks = []
    for domain, expression in counts.items():
        found = questions.ask_counts(domain, expression, persons)
        block = _arrange(found, request.of_domain(domain), len(persons))
        blocks.append(pd.DataFrame(block.values, index, block.names))
    table = pd.concat(blocks, axis=1)
    if use is not None:
        table[use] = questions.ask_contacts(use, contacts, persons)
    return PatientCounts(table, tuple(questions.steps))


def _list_counts(tables: OmopTables, request: CountRequest, cohort: Any) -> dict[str, Any]:
    """Return the counts of each domain that is asked for, as expressions."""
    counts = {}
    for domain in DOMAINS:
        asked = request.of_domain(domain)
        if asked:
            days = list_days(tables, asked, request.window)
            counts[domain] = count_days(days.semi_join(cohort, "person") if request.entry else days)
    return counts


def list_patients(tables: OmopTables, request: CountRequest) -> Any:
    """Return the persons of the database that the entry rule lets in, as an expression."""
    people = tables.take("person", person="person_id")
    people = people.filter(people.person.notnull()).select(person=as_number(people.person))
    if not request.entry:
        return people
    let_in = list_days(tables, request.entry, request.window)
    return people.semi_join(let_in.select("person"), "person")


class _Counts(NamedTuple):
    """Counts in long form: patient (row), feature (place in `names`), number of days."""

    rows: Integers
    places: Integers
    days: NDArray[np.int32]
    names: list[str]


class _Block(NamedTuple):
    """Counts in wide form."""

    values: NDArray[np.int32]
    names: list[str]


class _Questions:
    """Asks the database one question after another, and notes rows and seconds."""

    def __init__(self, advance: Advance | None) -> None:
        self._advance = advance
        self.steps: list[Step] = []

    def ask_persons(self, expression: Any) -> Integers:
        """Return the patients, sorted; nobody may be there twice."""
        columns = self._ask("patients", expression)
        persons = np.sort(columns["person"])
        if len(persons) == 0:
            raise RecordsError(
                "no patient is left: the table person is empty, or nobody meets the entry rule in "
                "the window"
            )
        twice = int((np.diff(persons) == 0).sum())
        if twice:
            raise RecordsError(f"the table person names {twice} patients more than once")
        return persons

    def ask_counts(self, domain: str, expression: Any, persons: Integers) -> _Counts:
        """Return the counts of one domain for the patients."""
        columns = self._ask(f"{domain} counts", expression)
        rows, known = _find(columns["person"], persons)
        names, places = columns["feature"]
        return _Counts(rows[known], places[known], columns["days"][known], names)

    def ask_contacts(self, what: str, expression: Any, persons: Integers) -> NDArray[np.int32]:
        """Return the number of contacts of every patient."""
        columns = self._ask(what, expression)
        rows, known = _find(columns["person"], persons)
        contacts = np.zeros(len(persons), dtype=np.int32)
        contacts[rows[known]] = columns["days"][known]
        return contacts

    def _ask(self, what: str, expression: Any) -> dict[str, Any]:
        if self._advance is not None:
            self._advance(what)
        start = time.perf_counter()
        with explain_engine(f"counting {what}"):
            columns = _fetch(expression)
        self.steps.append(Step(what, len(columns["person"]), time.perf_counter() - start))
        return columns


def _fetch(expression: Any) -> dict[str, Any]:
    """Return the columns of an answer: numbers as arrays, texts as (names, places)."""
    parts: dict[str, list[Any]] = {name: [] for name in expression.columns}
    places: dict[str, int] = {}
    for batch in expression.to_pyarrow_batches(chunk_size=_BATCH):
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            if name == "feature":
                coded = cells.dictionary_encode()
                here = [places.setdefault(t, len(places)) for t in coded.dictionary.to_pylist()]
                parts[name].append(np.asarray(here, np.int32)[coded.indices.to_numpy()])
            else:
                kind = np.int64 if name == "person" else np.int32
                parts[name].append(cells.to_numpy(zero_copy_only=False).astype(kind))
    columns: dict[str, Any] = {
        name: np.concatenate(some) if some else np.empty(0, np.int64)
        for name, some in parts.items()
    }
    if "feature" in columns:
        columns["feature"] = list(places), columns["feature"]
    return columns


def _find(persons: Integers, among: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the rows of persons, and who is there at all: records may name strangers."""
    rows = np.minimum(np.searchsorted(among, persons), len(among) - 1)
    return rows, among[rows] == persons


def _arrange(found: _Counts, asked: Sequence[Request], n: int) -> _Block:
    """Return the wide form: what was asked for by name comes first and is there even if empty."""
    domain = asked[0].domain
    _refuse_vain(found.names, asked)
    named = [one.label for one in asked if one.reach != "each"]
    others = sorted(set(found.names) - set(named))
    names = list(dict.fromkeys([*named, *others]))
    if len(names) > MOST_FEATURES:
        raise RecordsError(
            f"{len(names)} features of {domain} were found, over {MOST_FEATURES}; ask for fewer"
        )
    place = {name: k for k, name in enumerate(names)}
    values = np.zeros((n, len(names)), dtype=np.int32, order="F")
    where = np.array([place[name] for name in found.names], dtype=np.int64)
    if len(where):
        values[found.rows, where[found.places]] = found.days
    return _Block(values, [f"{domain}:{name}" for name in names])


def _refuse_vain(names: Sequence[str], asked: Sequence[Request]) -> None:
    """Refuse a pattern that nothing matches: a typing error would silently lose features."""
    for one in asked:
        if one.reach == "each" and not any(name.startswith(one.code) for name in names):
            raise RecordsError(
                f"no patient has a record that matches {one.text[:60]!r}; compare it with the "
                f"codes in the table {DOMAINS[one.domain].table}"
            )


def _parse_day(day: date | str | None) -> date | None:
    if isinstance(day, datetime):
        return day.date()
    if day is None or isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise RecordsError(f"{day[:40]!r} is no date; write it as 2001-12-31") from None
