"""How the votes were read: the structures that were tried, and the criterion that chose."""

from typing import Any, NamedTuple

from unelisa.aggregators import Aggregator
from unelisa.report.plain import make_plain


class StructureColumn(NamedTuple):
    """One column of the table of structures: the row's key, its heading, how values are written."""

    key: str
    title: str
    kind: str


COLUMNS = (
    StructureColumn("structure", "Structure", "text"),
    StructureColumn("gain", "Gain", "number"),
    StructureColumn("standard_error", "Standard error", "number"),
    StructureColumn("agreement", "Agreement", "percent"),
    StructureColumn("admissible", "Admissible", "flag"),
    StructureColumn("cost", "Cost", "number"),
    StructureColumn("gold_log_score", "Gold log score", "number"),
    StructureColumn("kept", "Kept", "flag"),
)


def describe_structure(model: Aggregator) -> dict[str, Any] | None:
    """Return the reading, its coherence and the candidates; None where a method chooses nothing.

    Examples
    --------
    >>> import unelisa as ue
    >>> describe_structure(ue.MajorityVote().fit([[1, -1], [-1, 1]])) is None
    True
    """
    table: Any = getattr(model, "structure_", None)
    if table is None:
        return None
    told: Any = model
    columns = [column for column in COLUMNS if column.key in table]
    rows = [
        {column.key: _plain(row[column.key]) for column in columns} for _, row in table.iterrows()
    ]
    return {
        "reading": told.reading_,
        "coherence": float(told.coherence_),
        "two_readings": bool(told.two_readings_),
        "columns": [column._asdict() for column in columns],
        "rows": rows,
    }


def _plain(value: Any) -> Any:
    """Return a cell of a pandas table as JSON holds it; None where it is missing."""
    return None if value != value else make_plain(value)  # noqa: PLR0124 - NaN is not itself
