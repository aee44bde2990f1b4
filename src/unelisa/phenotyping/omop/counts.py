"""Patient x feature counts from an OMOP database."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import RecordsError
from unelisa.phenotyping.omop.database import OmopTables, explain_engine, open_database
from unelisa.phenotyping.omop.records import (
    count_contacts,
    count_days,
    list_contents,
    list_days,
    list_patients,
)
from unelisa.phenotyping.omop.requests import DOMAINS, CountRequest, Day, Request

if TYPE_CHECKING:
    import pandas as pd

MOST_FEATURES = 20_000
_BATCH = 500_000

Integers = NDArray[np.int64]
Advance = Callable[[str], None]  # called with what is queried next


class Step(NamedTuple):
    """One query: what was counted, the number of rows it returned, and the time it took."""

    what: str
    rows: int
    seconds: float


class PatientCounts(NamedTuple):
    """One row per patient (index: person_id) with int32 counts, and the queries behind them."""

    table: "pd.DataFrame"
    steps: tuple[Step, ...]


def read_omop(
    database: "str | Path | Any",
    features: Sequence[str],
    *,
    utilization: str | None = "note_count",
    entry: Sequence[str] = (),
    window: tuple[Day, Day] = (None, None),
    schema: str | None = None,
) -> "pd.DataFrame":
    """Return patient x feature counts from a database in the OMOP common data model.

    The database does the counting; only one number per patient and feature leaves it. Each feature
    counts at most once a day. Requires `pip install "unelisa[omop]"`.

    Parameters
    ----------
    database
        Path of a DuckDB file; path of a folder with one Parquet or CSV file per table; address of
        a PostgreSQL server (postgresql://user@host/name); or an Ibis connection to any engine.
    features
        What to count, written as the columns will be named: "ICD:714.0" a source code of a
        condition, "ICD:714.%" every code that starts with 714., "ICD:714.+" those combined into
        one feature, "CONCEPT:80809" a standard concept of a condition, "CONCEPT:80809+" it and all
        its descendants, "NLP:joint swelling" affirmed mentions in notes, "NLP:%" all of them,
        "RX:..." drugs and "LAB:..." measurements by concept number or name.
    utilization
        Amount of care per patient: "note_count", "visit_count", or None for no such column.
    entry
        Features of which a patient must have at least one to be included; by default all patients
        are.
    window
        First and last day that count, as dates or "2001-12-31"; None leaves an end open.
    schema
        Schema of the OMOP tables on a server, such as "cdm".

    Returns
    -------
    pandas.DataFrame
        One row per patient (index: person_id, sorted), one int32 column per feature, then the
        utilization.

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
    """Return the requested counts, calling `advance` before each query."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    # all queries are built first: a missing table is reported before anything long runs
    cohort = list_patients(tables, request)
    counts, use = _list_counts(tables, request, cohort), request.utilization
    contacts = None if use is None else count_contacts(tables, use, request.window)
    steps = []

    def run(what: str, expression: Any) -> Any:
        if advance is not None:
            advance(what)
        start = time.perf_counter()
        with explain_engine(f"counting {what}"):
            table = _fetch(expression)
        steps.append(Step(what, table.num_rows, time.perf_counter() - start))
        return table

    index = pd.Index(_sort_persons(run("patients", cohort)), name="person_id")
    parts = []
    for domain, expression in counts.items():
        found = run(f"{domain} counts", expression)
        parts.append(_arrange(found, request.of_domain(domain), index))
    if contacts is not None:
        found = run(str(use), contacts)
        column = pd.Series(found["days"].to_numpy(), found["person"].to_numpy())
        parts.append(column.reindex(index, fill_value=0).to_frame(use))
    return PatientCounts(pd.concat(parts, axis=1), tuple(steps))


def find_related(
    tables: OmopTables, request: CountRequest, anchors: Sequence[Request]
) -> list[str]:
    """Return the features that count some of the records that an anchor counts.

    A concept shares them with its descendants, and with the source codes that are mapped to it.
    """
    related: list[str] = []
    for table in dict.fromkeys(DOMAINS[one.domain].table for one in anchors):
        kinds = [one for one in DOMAINS if DOMAINS[one].table == table and request.of_domain(one)]
        source = next((one for one in kinds if DOMAINS[one].code is not None), kinds[0])
        contents: dict[str, set[Any]] = {}
        for domain in kinds:
            with explain_engine(f"comparing the {domain} features with the anchors"):
                found = list_contents(tables, request.of_domain(domain), source).to_pyarrow()
            columns = (found[name].to_pylist() for name in ("concept", "code", "feature"))
            for concept, code, feature in zip(*columns, strict=True):
                contents.setdefault(f"{domain}:{feature}", set()).add((concept, code))
        names = [one.column for one in anchors]
        held = set().union(*(contents.get(name, set()) for name in names))
        related += [name for name in contents if name not in names and contents[name] & held]
    return related


def _list_counts(tables: OmopTables, request: CountRequest, cohort: Any) -> dict[str, Any]:
    """Return the query for the counts of each requested domain."""
    counts = {}
    for domain in DOMAINS:
        asked = request.of_domain(domain)
        if asked:
            days = list_days(tables, asked, request.window)
            counts[domain] = count_days(days.semi_join(cohort, "person") if request.entry else days)
    return counts


def _fetch(expression: Any) -> Any:
    """Return the result of a query as an Arrow table, features encoded as a dictionary."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    kinds = {
        "person": pa.int64(),
        "feature": pa.dictionary(pa.int32(), pa.string()),
        "days": pa.int32(),
    }
    schema = pa.schema([(name, kinds[name]) for name in expression.columns])
    batches = expression.to_pyarrow_batches(chunk_size=_BATCH)
    tables = [pa.Table.from_batches([batch]).cast(schema) for batch in batches]
    return pa.concat_tables([schema.empty_table(), *tables]).unify_dictionaries()


def _sort_persons(found: Any) -> Integers:
    """Return the patients in order; reject an empty table and repeated patients."""
    persons: Integers = np.sort(found["person"].to_numpy())
    if len(persons) == 0:
        raise RecordsError(
            "no patients are left: the table person is empty, or nobody meets the entry rule in "
            "the window"
        )
    repeated = int((np.diff(persons) == 0).sum())
    if repeated:
        raise RecordsError(f"the table person lists {repeated} patients more than once")
    return persons


def _arrange(found: Any, asked: Sequence[Request], persons: "pd.Index[int]") -> "pd.DataFrame":
    """Return one column per feature: first those requested by name, even if empty."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    domain, coded = asked[0].domain, found["feature"].combine_chunks()
    present = coded.dictionary.to_pylist()
    _reject_unmatched(present, asked)
    named = [one.label for one in asked if one.reach != "each"]
    names = list(dict.fromkeys([*named, *sorted(present)]))
    if len(names) > MOST_FEATURES:
        raise RecordsError(
            f"{len(names)} features of {domain} were found, more than {MOST_FEATURES}; "
            "request fewer"
        )
    place = {name: k for k, name in enumerate(names)}
    places = np.array([place[name] for name in present], dtype=np.intp)
    rows = persons.get_indexer(found["person"].to_numpy())
    known = rows >= 0  # records may name persons that the table person does not
    values = np.zeros((len(persons), len(names)), dtype=np.int32, order="F")
    values[rows[known], places[coded.indices.to_numpy()[known]]] = found["days"].to_numpy()[known]
    return pd.DataFrame(values, persons, [f"{domain}:{name}" for name in names])


def _reject_unmatched(names: Sequence[str], asked: Sequence[Request]) -> None:
    """Reject a pattern without a match: a typing error would silently lose features."""
    for one in asked:
        if one.reach == "each" and not any(name.startswith(one.code) for name in names):
            raise RecordsError(
                f"no patient has a record that matches {one.text[:60]!r}; compare it with the "
                f"codes in the table {DOMAINS[one.domain].table}"
            )
