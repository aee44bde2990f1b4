"""How the votes were read: the structures that were tried, and the criterion that chose."""

import re
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
    StructureColumn("gain", "Gain", "log"),
    StructureColumn("standard_error", "Standard error", "log"),
    StructureColumn("agreement", "Agreement", "percent"),
    StructureColumn("admissible", "Allowed", "flag"),
    StructureColumn("gold_log_score", "Gold log score", "number"),
    StructureColumn("kept", "Kept", "flag"),
)
# what the names of structures stand for; of a graph, where the search for the truth began
_MEANINGS = {
    "plain": "voters depend on the truth alone",
    "tilt": "voters share a misreading of the items too",
    "discount": "voters who repeat each other count less",
    "duplicates once": "those who say nearly the same count once",
    "residual scores up to 4": "the search began with what the links leave open, outliers cut",
    "residual scores": "the search began with what the links leave open",
    "correlations": "the search began with plain correlations",
    "fewer edges": "links that a truth explains left out",
}
_LINKS = re.compile(r"edges up to (\S+)")


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
        {column.key: _plain(row[column.key]) for column in columns}
        | {"structure": explain(row["structure"])}
        for _, row in table.iterrows()
    ]
    return {
        "reading": told.reading_,
        "coherence": float(told.coherence_),
        "asked_for": bool(told.structure != "auto"),
        "two_readings": bool(told.two_readings_),
        "columns": [column._asdict() for column in columns],
        "rows": rows,
    }


def explain(name: str) -> str:
    """Return the name of a structure with what it means.

    Examples
    --------
    >>> explain("tilt")
    'tilt: voters share a misreading of the items too'
    >>> explain("edges, start edges up to 0.3, fewer edges")
    'edges: the search began with links cut at 0.3; links that a truth explains left out'
    """
    kind, *parts = name.replace(", start ", ", ").split(", ")
    told = [_MEANINGS[kind]] if kind in _MEANINGS else []
    for part in parts:
        links = _LINKS.fullmatch(part)
        told.append(
            f"the search began with links cut at {links[1]}" if links else _MEANINGS.get(part, part)
        )
    return f"{kind}: {'; '.join(told)}" if told else name


def _plain(value: Any) -> Any:
    """Return a cell of a pandas table as JSON holds it; None where it is missing."""
    return None if value != value else make_plain(value)  # noqa: PLR0124 - NaN is not itself
