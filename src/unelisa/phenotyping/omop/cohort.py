"""The OMOP table `cohort`: the dates between which patients belong to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import RecordsError
from unelisa.phenotyping.omop.database import OmopTables, explain_engine
from unelisa.phenotyping.omop.records import list_contacts, list_days
from unelisa.phenotyping.omop.requests import UTILIZATIONS, Request, Window

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
) -> "pd.DataFrame":
    """Return the cohort rows of some patients.

    A patient enters on the first day in the window with an anchor, or else on the first day of
    care, and stays until the last day of care. `definition` is the number of the cohort.
    """
    import pandas as pd  # noqa: PLC0415 - only tables need it

    utilization = next(
        (u for u, (name, _) in UTILIZATIONS.items() if name in tables), "visit_count"
    )
    contacts = list_contacts(tables, utilization, window)
    with explain_engine("dating the cohort"):
        care = _span(contacts).reindex(persons)
        seen = _span(list_days(tables, anchors, window)).reindex(persons)
    start = seen["first"].fillna(care["first"])
    end = care["last"].fillna(seen["last"]).where(lambda last: ~(last < start), start)
    columns = (
        np.full(len(persons), definition, dtype=np.int64),
        persons,
        start.dt.date.to_numpy(),
        end.dt.date.to_numpy(),
    )
    rows = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
    return rows.loc[start.notna().to_numpy()]


def write_cohort(connection: Any, rows: "pd.DataFrame", schema: str | None = None) -> None:
    """Insert cohort rows; reject a cohort number that is in use.

    The check and the rows are one transaction on DuckDB and PostgreSQL, and no other writer comes
    between them.
    """
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    if rows.empty:
        return
    tables = OmopTables.of(connection, schema)
    present = tables.take("cohort", **{name: name for name in COLUMNS})
    number = int(rows["cohort_definition_id"].iloc[0])
    content = pa.Table.from_pandas(rows, preserve_index=False)
    name = tables.names["cohort"]
    with explain_engine("writing the cohort"), _alone(connection, name, schema):
        here = present.filter(present.cohort_definition_id == number)
        taken = here.count().to_pyarrow().as_py()
        if taken:
            raise RecordsError(
                f"the cohort {number} already has {taken} rows; choose another number or delete "
                "them"
            )
        connection.insert(name, content, database=schema)


@contextmanager
def _alone(connection: Any, table: str, schema: str | None) -> Iterator[None]:
    """Give one transaction during which nobody else writes to a table."""
    with _WRITING:
        if connection.name == "postgres":
            from psycopg import sql  # noqa: PLC0415 - optional

            place = sql.Identifier(*(schema.split(".") if schema else ()), table)
            with connection.con.transaction():
                lock = sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(place)
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


def _span(days: Any) -> "pd.DataFrame":
    """Return the first and the last day per person."""
    import pandas as pd  # noqa: PLC0415

    spans = days.group_by("person").aggregate(first=days.day.min(), last=days.day.max())
    table = spans.to_pyarrow().to_pandas().set_index("person")
    return table.apply(pd.to_datetime)
