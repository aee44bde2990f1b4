"""The OMOP table `cohort`: the dates between which patients belong to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.database import OmopTables, explain_engine, fetch
from unelisa.ehr.omop.persons import list_periods
from unelisa.ehr.omop.records import keep_spans, list_contacts, list_days
from unelisa.ehr.omop.requests import UTILIZATIONS, Request, Window
from unelisa.errors import RecordsError

if TYPE_CHECKING:
    import pandas as pd

_WRITING = threading.Lock()
COLUMNS = ("cohort_definition_id", "subject_id", "cohort_start_date", "cohort_end_date")


def list_cohort(
    tables: OmopTables,
    persons: NDArray[np.int64],
    definition: int,
    anchors: tuple[Request, ...],
    window: Window = (None, None),
    spans: Any | None = None,
) -> "pd.DataFrame":
    """Return cohort rows, from the first day with an anchor, or of care, to the last of care."""
    import pandas as pd  # noqa: PLC0415 - only tables need it

    utilization = next((u for u, (name, _) in UTILIZATIONS.items() if name in tables), None)
    signs = list_days(tables, anchors, window)
    contacts = signs if utilization is None else list_contacts(tables, utilization, window)
    with explain_engine("dating the cohort"):
        seen, care = (_span(keep_spans(days, spans), tables) for days in (signs, contacts))
    table = seen.merge(care, "outer", ["person", "until"], suffixes=("", "_of_care"))
    start = table["first"].fillna(table["first_of_care"])
    end = table["last_of_care"].fillna(table["last"])
    table = table.assign(start=start, end=end.where(~(end < start), start))
    # of the periods of a patient the first with an anchor, or else the first
    table = table.assign(unsigned=table["first"].isna()).sort_values(["unsigned", "start"])
    table = table.drop_duplicates("person").set_index("person").reindex(persons)
    columns = (
        np.full(len(persons), definition, dtype=np.int64),
        persons,
        table["start"].dt.date.to_numpy(),
        table["end"].dt.date.to_numpy(),
    )
    rows = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
    return rows.loc[table["start"].notna().to_numpy()]


def check_cohort(
    connection: Any, number: int, schema: str | None = None, table: str = "cohort"
) -> None:
    """Reject a cohort that could not be inserted, before anything is counted for it."""
    tables = OmopTables.of(connection, schema, cohort=table)
    _reject_taken(tables.take("cohort", **{name: name for name in COLUMNS}), number)
    if connection.name == "postgres":
        place = _name_table(tables.names["cohort"], schema).as_string(connection.con)
        asked = "SELECT has_table_privilege(%s, 'INSERT')"
        with explain_engine("checking the table cohort"):
            (allowed,) = connection.con.execute(asked, [place]).fetchone()
        if not allowed:
            raise RecordsError(
                f"rows may not be inserted into the table cohort{tables.where}; ask for the right "
                "to, name another schema under [results], or write a file with --cohort"
            )


def _reject_taken(cohorts: Any, number: int) -> None:
    here = cohorts.filter(cohorts.cohort_definition_id == number)
    taken = fetch(here.count(), "reading the cohorts").as_py()
    if taken:
        raise RecordsError(
            f"the cohort {number} already has {taken} rows; choose another number or delete them"
        )


def write_cohort(
    connection: Any, rows: "pd.DataFrame", schema: str | None = None, table: str = "cohort"
) -> None:
    """Insert cohort rows in one transaction; reject a cohort number that is in use."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    if rows.empty:
        return
    tables = OmopTables.of(connection, schema, cohort=table)
    present = tables.take("cohort", **{name: name for name in COLUMNS})
    number = int(rows["cohort_definition_id"].iloc[0])
    content = pa.Table.from_pandas(rows, preserve_index=False)
    name = tables.names["cohort"]
    with explain_engine("writing the cohort"), _alone(connection, name, schema):
        _reject_taken(present, number)
        connection.insert(name, content, database=schema)


@contextmanager
def _alone(connection: Any, table: str, schema: str | None) -> Iterator[None]:
    """Give one transaction during which nobody else writes to a table."""
    with _WRITING:
        if connection.name == "postgres":
            from psycopg import sql  # noqa: PLC0415 - optional

            with connection.con.transaction():
                lock = sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(
                    _name_table(table, schema)
                )
                connection.con.execute(lock)
                yield
        elif connection.name == "duckdb":  # its file is locked for other processes
            connection.con.begin()
            try:
                yield
                connection.con.commit()
            except BaseException:
                connection.con.rollback()
                raise
        else:
            yield


def _name_table(table: str, schema: str | None) -> Any:
    from psycopg import sql  # noqa: PLC0415 - optional

    return sql.Identifier(*(schema.split(".") if schema else ()), table)


def _span(days: Any, tables: OmopTables) -> "pd.DataFrame":
    """Return the first and last day per person and observation period, which ends on `until`."""
    import ibis  # noqa: PLC0415 - optional
    import pandas as pd  # noqa: PLC0415 - only tables need it

    if "observation_period" in tables:
        periods = list_periods(tables).rename(since="first", until="last")
        days = days.inner_join(periods, "person")
        days = days.filter((days.day >= days.since) & (days.day <= days.until))
        days = days.mutate(until=days.until.cast("string"))
    else:
        days = days.mutate(until=ibis.literal(""))
    spans = days.group_by("person", "until").aggregate(first=days.day.min(), last=days.day.max())
    # pandas 3 cannot merge two empty columns of text
    table = spans.to_pyarrow().to_pandas().astype({"until": object})
    dates = {name: pd.to_datetime(table[name]) for name in ("first", "last")}
    return table.assign(**dates)
