"""What the votes were read as: the structures that were tried, and the readings side by side."""

from typing import Any

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.aggregators.classes import pick_classes
from unelisa.report.judged import Judged
from unelisa.report.wording import make_plain

# key, title and kind of each column of the table of structures
STRUCTURE_COLUMNS = (
    ("structure", "Structure", "text"),
    ("gain", "Gain", "log"),
    ("branches", "Branches", "count"),
    ("agreement", "Agreement", "percent"),
    ("admissible", "Allowed", "flag"),
    ("gold_log_score", "Gold log score", "number"),
    ("weight", "Weight", "percent"),
    ("kept", "Kept", "flag"),
)
# what the names of structures mean; for a graph, where the search for the truth started
_MEANINGS = {
    "plain": "votes depend on the truth alone",
    "ease": "some items are harder than others for everybody",
    "tilt": "voters also share a misreading of some items",
    "families": "voters who repeat each other count as one",
    "silence filled in": "where a rule says nothing, that is its other answer",
    "residual scores up to 4": "search started from residuals of the edges, clipped at 4",
    "residual scores": "search started from residuals of the edges",
    "correlations": "search started from plain correlations",
    "fewer edges": "edges explained by the truth removed",
}


def describe_structure(model: Aggregator) -> dict[str, Any] | None:
    """Return the reading, its coherence and the candidates; None where a method chooses nothing.

    Examples
    --------
    >>> import unelisa as ue
    >>> describe_structure(ue.MajorityVote().fit([[1, -1], [-1, 1]])) is None
    True
    """
    fitted: Any = model
    table: Any = getattr(fitted, "structure_", None)
    if table is None:
        return None
    columns = [column for column in STRUCTURE_COLUMNS if column[0] in table]
    rows = [
        {key: _make_plain(row[key], kind) for key, _, kind in columns}
        | {"structure": explain_structure(row["structure"])}
        for row in table.to_dict("records")
    ]
    return {
        "reading": fitted.reading_,
        "coherence": make_plain(fitted.coherence_),
        "asked_for": bool(fitted.structure != "auto"),
        "two_readings": bool(fitted.two_readings_),
        "columns": [dict(zip(("key", "title", "kind"), one, strict=True)) for one in columns],
        "rows": rows,
    }


def _make_plain(value: Any, kind: str) -> Any:
    plain = make_plain(value)
    return int(plain) if kind == "count" and plain is not None else plain


def explain_structure(name: str) -> str:
    """Return the name of a structure with what it means.

    Examples
    --------
    >>> explain_structure("tilt")
    'tilt: voters also share a misreading of some items'
    >>> explain_structure("families, ease").split(": ")[0]
    'families, ease'
    >>> explain_structure("edges, start edges up to 0.3, fewer edges")
    'edges: search started from edges clipped at 0.3; edges explained by the truth removed'
    """
    head, *starts = name.split(", start ")
    parts = [*(part for part in head.split(", ") if part in _MEANINGS), *_split(starts)]
    words = [part.replace("edges up to", "search started from edges clipped at") for part in parts]
    told = [_MEANINGS.get(word, word) for word in words]
    return f"{head}: {'; '.join(told)}" if told else name


def _split(starts: list[str]) -> list[str]:
    return [part for start in starts for part in start.split(", ")]


def list_readings(
    model: Aggregator, ranking: list[int], judged: Judged | None
) -> list[dict[str, Any]]:
    """Return the readings that the votes allow, where there are several; the first was taken.

    Voters are given by their row in the ranking: those on their own, families, contrarians, and
    those who are not clearly tied to this reading's truth.

    Examples
    --------
    >>> import unelisa as ue
    >>> list_readings(ue.MajorityVote().fit([[1, -1], [-1, 1]]), [0, 1], None)
    []
    """
    fitted: Any = model
    table: Any = getattr(fitted, "readings_", ())
    if len(table) < 2:
        return []
    return [
        {
            **{key: make_plain(value) for key, value in row.items() if key != "voters"},
            "structure": explain_structure(row["structure"]),
            "differ": _count_different(fitted.read(k), judged),
            **_place_voters(fitted.read(k), ranking),
        }
        for k, row in enumerate(table.to_dict("records"))
    ]


def _count_different(reading: Any, judged: Judged | None) -> int | None:
    """Return the number of items that a reading labels otherwise."""
    if judged is None:
        return None
    scores = np.asarray(reading.decision_function(judged.votes))
    return int(np.count_nonzero(pick_classes(scores) != judged.picked))


def _place_voters(reading: Any, ranking: list[int]) -> dict[str, Any]:
    """Return who stands where in a reading, by row."""
    verdicts, row = list(reading.voters_["verdict"]), {s: k for k, s in enumerate(ranking)}
    voter = {str(name): s for s, name in enumerate(reading.voter_names_)}
    families = [sorted(row[voter[str(name)]] for name in kin) for kin in reading.families_]
    inside = {k for kin in families for k in kin}
    places: dict[str, list[int]] = {"alone": [], "contrarians": [], "uninformative": []}
    keys = {"contrarian": "contrarians", "uninformative": "uninformative"}
    for k, s in enumerate(ranking):
        if k not in inside:
            places[keys.get(verdicts[s], "alone")].append(k)
    return {**places, "families": families}
