"""The tables and columns of an OMOP database, checked before anything is counted."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from unelisa.errors import RecordsError, UnelisaError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")
_LISTED = 12


class OmopTables:
    """Tables by their OMOP names, whatever case the engine gives them.

    Parameters
    ----------
    names
        The tables that are there.
    open_table
        Name -> Ibis table.
    """

    def __init__(self, names: Sequence[str], open_table: Callable[[str], Any]) -> None:
        self.names = {name.lower(): name for name in names}
        self._open = open_table

    @classmethod
    def of(cls, connection: Any, schema: str | None = None) -> "OmopTables":
        """Return the tables of a connection, in a schema of it where one is named."""
        if schema is not None and not _IDENTIFIER.fullmatch(schema):
            raise RecordsError(
                "the schema must be a plain name of letters, digits and underscores, such as cdm"
            )
        place = tuple(schema.split(".")) if schema is not None and "." in schema else schema
        with explain_engine("listing the tables"):
            names = connection.list_tables(database=place)
        return cls(names, lambda name: connection.table(name, database=place))

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def take(self, name: str, **columns: str) -> Any:
        """Return an Ibis table of some columns, under new names; or one sentence on what lacks.

        `take("person", patient="person_id")` has the one column `patient`.
        """
        if name not in self:
            raise RecordsError(f"there is no table {name}; found {_listed(self.names)}")
        with explain_engine(f"opening {name}"):
            table = self._open(self.names[name])
        present = {column.lower(): column for column in table.columns}
        missing = [column for column in columns.values() if column not in present]
        if missing:
            # where nothing is right, the first record of a text file may stand for its header
            sure = len(missing) < len(columns)
            found = [one for one in present if sure or one.endswith(("_id", "_date"))]
            raise RecordsError(
                f"the table {name} has no column {' and no '.join(missing)}; found {_listed(found)}"
            )
        return table.select(**{new: table[present[old]] for new, old in columns.items()})


def as_number(column: Any) -> Any:
    """Return a column of identifiers as 64-bit integers."""
    return column if column.type().is_int64() else column.cast("int64")


def as_day(column: Any) -> Any:
    """Return a column of dates or times as dates."""
    kind = column.type()
    if kind.is_date():
        return column
    return column.date() if kind.is_timestamp() else column.cast("date")


def as_text(column: Any) -> Any:
    """Return a column of codes as text."""
    return column if column.type().is_string() else column.cast("string")


@contextmanager
def explain_engine(doing: str) -> Iterator[None]:
    """Turn an engine's failure into one sentence without its message, which may quote records."""
    try:
        yield
    except (UnelisaError, AttributeError, NameError, ImportError):
        raise  # ours, or a fault of a program and not of the records
    except Exception as error:
        raise RecordsError(
            f"the database failed while {doing} ({type(error).__name__}); its own message is left "
            "out because it may quote records"
        ) from None


def _listed(names: Any) -> str:
    """Return names for a sentence, the first dozen of many."""
    shown = sorted(names)
    if not shown:
        return "none"
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ", ".join(name[:40] for name in shown[:_LISTED]) + more
