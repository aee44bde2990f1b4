"""What the votes were read as, and the readings that they allow side by side."""

from typing import Any

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.aggregators.base import pick_classes
from unelisa.analysis.judged import Judged
from unelisa.outputs import make_plain

_MEANINGS = {
    "auto": "voters who repeat each other count for less, and some items are easier than others",
    "plain": "every voter counts once, all items are as easy",
    "ease": "every voter counts once, and some items are easier than others",
    "families": "voters who repeat each other count for less, all items are as easy",
    "repeaters apart": "voters who repeat each other count once each",
    "edges": "the truth is the hub of the voters' graph",
}


def describe_structure(model: Aggregator) -> dict[str, Any] | None:
    """Return the reading that was taken, in words, and its coherence; None for other methods.

    Examples
    --------
    >>> import unelisa as ue
    >>> describe_structure(ue.MajorityVote().fit([[1, -1], [-1, 1]])) is None
    True
    """
    fitted: Any = model
    if not hasattr(fitted, "readings_"):
        return None
    return {
        "reading": fitted.reading_,
        "meaning": explain_structure(fitted.readings_["structure"].iloc[0]),
        "coherence": make_plain(fitted.coherence_),
        "asked_for": bool(fitted.structure != "auto"),
        "two_readings": bool(fitted.two_readings_),
    }


def explain_structure(name: str) -> str:
    """Return what the name of a structure means.

    Examples
    --------
    >>> explain_structure("repeaters apart")
    'voters who repeat each other count once each'
    """
    return _MEANINGS.get(name, name)


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
            "differ": 0 if k == 0 and judged else _count_different(other, judged),
            **_place_voters(other, ranking),
        }
        for k, row in enumerate(table.to_dict("records"))
        for other in [fitted.read(k)]
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
