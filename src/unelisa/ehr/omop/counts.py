"""Patient x feature counts from an OMOP database, sparse until the features are known."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.database import OmopTables, explain_engine, fetch, open_database
from unelisa.ehr.omop.records import (
    count_contacts,
    count_days,
    find_base,
    keep_spans,
    list_contents,
    list_days,
    list_patients,
    list_spans,
)
from unelisa.ehr.omop.requests import DOMAINS, NO_SCREEN, CountRequest, Day, Request, parse_all
from unelisa.errors import RecordsError, UnelisaWarning, warn_user
from unelisa.memory import refuse_beyond

if TYPE_CHECKING:
    import pandas as pd


MOST_FEATURES = 20_000
FEWER = "request fewer, or leave rare ones out with least_share = 0.05"
_BYTES = 4  # of a count
Numbers = NDArray[np.int32]


class Tallies:
    """Counts of the patients `persons`: places of patient and feature, and the count."""

    def __init__(self, persons: "pd.Index[int]", propose: Callable[[Request], str] = str) -> None:
        self.persons, self._propose = persons, propose
        self._places: dict[str, int] = {}  # of columns, by name
        self._order: list[str] = []  # of columns
        self._parts: list[tuple[Numbers, Numbers, Numbers]] = []
        self.repeated: dict[str, tuple[int, int]] = {}  # records and counted days, by domain

    def add(self, asked: Sequence[Request], batches: Iterable[Any]) -> None:
        """Add the counts of one domain, first the features requested by name."""
        domain, records, days = asked[0].domain, 0, 0
        named = [one.column for one in asked if one.reach != "each"]
        for column in named:
            self._places.setdefault(column, len(self._places))
        found: set[str] = set()
        for batch in batches:
            coded = batch["feature"].combine_chunks().dictionary_encode()
            names = coded.dictionary.to_pylist()
            found.update(names)
            for one in names:
                self._places.setdefault(f"{domain}:{one}", len(self._places))
            places = np.array([self._places[f"{domain}:{one}"] for one in names], dtype=np.int32)
            who = self.persons.get_indexer(batch["person"].to_numpy())
            known = who >= 0  # records may name persons that the table person does not
            counts = batch["days"].to_numpy().astype(np.int32)
            features = places[coded.indices.to_numpy()]
            self._parts.append((who[known].astype(np.int32), features[known], counts[known]))
            records += int(batch["records"].to_numpy()[known].sum())
            days += int(counts[known].sum())
        reject_unmatched(found, asked, self._propose)
        listed = [*named, *(f"{domain}:{name}" for name in sorted(found))]
        self._order += dict.fromkeys(listed)
        self.repeated[domain] = (records, days)

    def arrange(self) -> "pd.DataFrame":
        """Return one column per feature, by domain; in a domain those requested by name first."""
        import pandas as pd  # noqa: PLC0415 - only tables need it

        n, p = len(self.persons), len(self._places)
        if p > MOST_FEATURES:
            raise RecordsError(f"{p} features were found, more than {MOST_FEATURES}; {FEWER}")
        try:
            what = f"a table of {n:,} patients and {p:,} features"
            refuse_beyond(_BYTES * n * p, what, RecordsError)
        except RecordsError as error:
            raise RecordsError(f"{error}; or {FEWER}") from None
        order = np.empty(p, dtype=np.int32)
        order[[self._places[column] for column in self._order]] = np.arange(p)
        values = np.zeros((n, p), dtype=np.int32, order="F")
        while self._parts:
            who, features, counts = self._parts.pop()
            values[who, order[features]] = counts
        return pd.DataFrame(values, self.persons, self._order)


def reject_unmatched(
    names: Iterable[str], asked: Sequence[Request], propose: Callable[[Request], str], who: str = ""
) -> None:
    """Reject a pattern without a match: a typing error would silently lose features."""
    for one in asked:
        if one.reach == "each" and not any(name.startswith(one.code) for name in names):
            raise RecordsError(
                f"no patient{who} has a record that matches {one.text[:60]!r}; {propose(one)}"
            )


_BATCH = 500_000

Integers = NDArray[np.int64]
Advance = Callable[[str], None]  # called with what is queried next, and how far it is


class Step(NamedTuple):
    """One query: what was counted, the number of rows it returned, and the time it took."""

    what: str
    rows: int
    seconds: float


class PatientCounts(NamedTuple):
    """One row per patient (index: person_id) with int32 counts, and the queries behind them."""

    table: "pd.DataFrame"
    steps: tuple[Step, ...]
    # screened: features of patterns by domain, kept and found; repeated: records and counted days
    screened: dict[str, tuple[int, int]]
    repeated: dict[str, tuple[int, int]]


def read_omop(  # noqa: PLR0913 - what to count takes many words
    database: "str | Path | Any",
    features: Sequence[str],
    *,
    utilization: str | None = "note_count",
    entry: Sequence[str] = (),
    window: tuple[Day, Day] = (None, None),
    index: Sequence[str] = (),
    before: int | None = None,
    after: int | None = None,
    least_share: float = 0.0,
    among: Sequence[str] = (),
    schema: str | None = None,
    vocabulary_schema: str | None = None,
) -> "pd.DataFrame":
    """Return patient x feature counts from a database in the OMOP common data model.

    A pandas frame with one row per patient (index: person_id, sorted), one int32 column per
    feature, then the utilization. The database does the counting; only one number per patient and
    feature leaves it. Each feature counts at most once a day. Requires `pip install
    "unelisa[omop]"`.

    Parameters
    ----------
    database
        Path of a DuckDB file; path of a folder with one Parquet or CSV file per table; address of a
        PostgreSQL server (postgresql://user@host/name); or an Ibis connection to any engine.
    features
        What to count, written as the columns will be named: "ICD:714.0" a source code of a
        condition, "ICD:714.%" every code that starts with 714., "ICD:714.+" those combined into one
        feature, "CONCEPT:80809" a standard concept of a condition, "CONCEPT:80809+" it and its
        descendants, "NLP:joint swelling" affirmed mentions in notes, "NLP:%" all of them, "RX:..."
        drugs, "LAB:..." measurements, "PROC:..." procedures and "OBS:..." observations by concept
        number or name. "LAB:3004410>6.5" counts measured values above a number, "RX.code:..."
        source codes, "RX.source:..." source concepts and "RX.era:..." eras.
    utilization
        Amount of care per patient: "note_count", "visit_count", or None for no such column.
    entry
        Features of which a patient must have at least one; by default all patients are included.
    window
        First and last day that count, as dates or "2001-12-31"; None leaves an end open.
    index, before, after
        Features whose first day in the window is a patient's index day, and the days before and
        after it that count; None leaves that end to the window. Others are left out.
    least_share, among
        Features that a pattern finds ("ICD:%") are left out unless at least this share of the
        patients with one of the features `among` (by default of all patients) have them.
    schema, vocabulary_schema
        Schema of the OMOP tables on a server, such as "cdm", and that of concept and
        concept_ancestor if it is another one.

    Examples
    --------
    >>> import pathlib, tempfile, unelisa as ue
    >>> from unelisa.ehr.omop.datamart import write_datamart
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ra.duckdb"
    >>> drawn = ue.simulate_ehr(50, random_state=0)
    >>> write_datamart(drawn, file)
    >>> counts = ue.read_omop(file, ["ICD:714.0", "NLP:morning stiffness"])
    >>> bool((counts == drawn.counts[counts.columns]).all(axis=None))
    True
    """
    request = CountRequest.of(features, utilization, entry, window).around(index, before, after)
    request = request.without_rare(least_share, parse_all(among))
    with open_database(database) as connection:
        tables = OmopTables.of(connection, schema, vocabulary_schema)
        return count_patients(tables, request).table


def count_patients(
    tables: OmopTables, request: CountRequest, advance: Advance | None = None
) -> PatientCounts:
    """Return the requested counts, calling `advance` before each query."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    counter = _Counter(tables, request, advance)
    # all queries are built first: a missing table is reported before anything long runs
    counter.list_counts(request)
    use = request.utilization
    contacts = None if use is None else counter.list_contacts()
    people = list(counter.run("patients", counter.cohort))
    persons = pd.Index(_sort_persons([one["person"].to_numpy() for one in people]))
    request, screened = counter.leave_out_rare()
    tallies = Tallies(persons.rename("person_id"), counter.propose)
    for domain, expression in counter.list_counts(request).items():
        tallies.add(request.of_domain(domain), counter.run(f"{domain} counts", expression))
    table = tallies.arrange()
    counter.warn_of_dots(request, table)
    if use is not None:
        amount = np.zeros(len(persons), dtype=np.int32)
        for batch in counter.run(use, contacts):
            who = persons.get_indexer(batch["person"].to_numpy())
            amount[who[who >= 0]] = batch["days"].to_numpy()[who >= 0]
        table[use] = amount
    return PatientCounts(table, tuple(counter.steps), screened, tallies.repeated)


class _Counter:
    """The queries of one request, and how long each took."""

    def __init__(self, tables: OmopTables, request: CountRequest, advance: Advance | None) -> None:
        self.tables, self.request = tables, request
        self.cohort = list_patients(tables, request)
        self.spans = list_spans(tables, request)
        self.steps: list[Step] = []
        self._advance = advance or (lambda _: None)

    def list_days(self, asked: Sequence[Request]) -> Any:
        days = list_days(self.tables, asked, self.request.record_window)
        if self.request.entry:  # an index day is asked for by the spans
            days = days.semi_join(self.cohort, "person")
        return keep_spans(days, self.spans)

    def list_counts(self, request: CountRequest) -> dict[str, Any]:
        return {
            domain: count_days(self.list_days(asked))
            for domain in DOMAINS
            if (asked := request.of_domain(domain))
        }

    def list_contacts(self) -> Any:
        use, window = str(self.request.utilization), self.request.record_window
        return count_contacts(self.tables, use, window, self.spans)

    def leave_out_rare(self) -> tuple[CountRequest, dict[str, tuple[int, int]]]:
        """Return the request with the frequent features of patterns, and how many there are."""
        request, (share, among, fewest) = self.request, self.request.screen
        patterns = [one for one in request.features if one.reach == "each"]
        if (share == 0 and fewest == 1) or not patterns:
            return request, {}
        base, who = self.cohort, ""
        if among:
            base = base.semi_join(self.list_days(among).select("person"), "person")
            who = " with one of the features that others must be frequent among"
        (counted,) = self.run(
            "patients that features must be frequent among", base.aggregate(n=base.count())
        )
        size = int(counted["n"][0].as_py())
        self.steps[-1] = self.steps[-1]._replace(rows=size)
        if size == 0:
            named = " or ".join(one.column for one in among)[:120]
            raise RecordsError(
                f"no patient has a record of {named}, so that no feature can be frequent among "
                "them; compare the codes with those in the database"
            )
        kept = [one for one in request.features if one.reach != "each"]
        found: dict[str, tuple[int, int]] = {}
        for domain in dict.fromkeys(one.domain for one in patterns):
            asked = [one for one in patterns if one.domain == domain]
            days = self.list_days(asked).semi_join(base, "person")
            query = days.group_by("feature").aggregate(n=days.person.nunique())
            tables = list(self.run(f"{domain} features", query))
            having = {row["feature"]: row["n"] for table in tables for row in table.to_pylist()}
            reject_unmatched(having, asked, self.propose, who)
            names = sorted(x for x, n in having.items() if n >= max(share * size, fewest))
            kept += [Request(f"{domain}:{name}", domain, name, "name") for name in names]
            found[domain] = (len(names), len(having))
        return replace(request, features=tuple(kept), screen=NO_SCREEN), found

    def propose(self, one: Request) -> str:
        """Return what to write instead of a code that never occurs."""
        bare = one.without_dots()
        if bare is not None:
            days = list_days(self.tables, [bare], self.request.record_window)
            if fetch(days.limit(1), "looking for codes without dots").num_rows:
                return f"this database writes codes without dots: write {bare.text[:60]}"
        return f"compare it with the codes in the table {DOMAINS[one.domain].table}"

    def warn_of_dots(self, request: CountRequest, table: "pd.DataFrame") -> None:
        """Warn of codes that never occur, but do without their dots."""
        for one in request.features:
            written = one.reach in {"one", "together"}  # by the user, not found by a pattern
            if written and one.without_dots() and not table[one.column].any():
                found = self.propose(one)
                if "without dots" in found:
                    warn_user(f"no patient has the code {one.column[:60]}; {found}", UnelisaWarning)

    def run(self, what: str, expression: Any) -> Iterator[Any]:
        """Yield the result of a query as Arrow tables, and report progress."""
        self._advance(what)
        start, rows = time.perf_counter(), 0
        with explain_engine(f"counting {what}"):
            for table in _fetch(expression):
                rows += table.num_rows
                self._advance(f"{what}: {rows:,} rows")
                yield table
        self.steps.append(Step(what, rows, time.perf_counter() - start))


def find_related(
    tables: OmopTables, request: CountRequest, anchors: Sequence[Request]
) -> list[str]:
    """Return the features that share records with an anchor, such as its descendants."""
    related: list[str] = []
    names = [one.column for one in anchors]
    for table in dict.fromkeys(find_base(tables, one.domain).table for one in anchors):
        kinds = {
            kind: base
            for kind in DOMAINS
            if request.of_domain(kind) and (base := find_base(tables, kind)).table == table
        }
        columns = list(dict.fromkeys(name for base in kinds.values() for name in base.naming))
        contents: dict[str, set[str]] = {}
        for domain, base in kinds.items():
            contained = list_contents(tables, request.of_domain(domain), base, columns)
            found = fetch(contained, f"comparing the {domain} features with the anchors")
            for content, feature in zip(*(one.to_pylist() for one in found.columns), strict=True):
                contents.setdefault(f"{domain}:{feature}", set()).add(content)
        held = set().union(*(contents.get(name, set()) for name in names))
        related += [name for name in contents if name not in names and contents[name] & held]
    return related


def _fetch(expression: Any) -> Iterator[Any]:
    """Yield the result of a query as Arrow tables with integers of 64 bits and texts."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    kinds = {"feature": pa.string()}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in expression.columns])
    for batch in expression.to_pyarrow_batches(chunk_size=_BATCH):
        yield pa.Table.from_batches([batch]).cast(schema)


def _sort_persons(found: Sequence[Integers]) -> Integers:
    persons: Integers = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *found]))
    if len(persons) == 0:
        raise RecordsError(
            "no patients are left: the table person is empty, or nobody meets the entry rule or "
            "has an index day in the window"
        )
    repeated = int((np.diff(persons) == 0).sum())
    if repeated:
        raise RecordsError(f"the table person lists {repeated} patients more than once")
    return persons
