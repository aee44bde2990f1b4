"""The columns of the voters' table, in the words of the user's own labels."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from unelisa.report.wording import quote, show_name


class Column(NamedTuple):
    """One column of the voters' table: the row's key, its title, how values are written."""

    key: str
    title: str
    kind: str
    hint: str = ""
    detail: bool = False  # whether only a voter's card shows it


_FIRST = (
    Column("voter", "Voter", "name"),
    Column("verdict", "Verdict", "verdict"),
    Column("family", "Family", "family", "voters who repeat each other, named after the heaviest"),
    Column("accuracy", "Accuracy", "interval", "probability that a vote is right, 90% interval"),
)
_LAST = (
    Column("stability", "Stability", "percent", "share of the resamples with the same verdict"),
    Column("agreement", "Agreement", "percent", "share of the votes that equal the label"),
    Column("votes", "Votes", "count", "", True),
    Column("coverage", "Coverage", "percent", "share of items with a vote"),
    Column("overlaps", "Overlaps", "percent", "items that another voter also voted on", True),
    Column("conflicts", "Conflicts", "percent", "items on which another voter disagrees", True),
)
_END = (Column("depends_on", "Depends on", "links"), Column("reason", "Reason", "text"))
_RECALL = "recall_"  # of one of more than two classes
_NOT_SHOWN = {"links"}


def choose_columns(voters: Sequence[Mapping[str, Any]], classes: Sequence[Any]) -> list[Column]:
    """Return the columns that hold anything, including a method's own further figures.

    Examples
    --------
    >>> voter = {"voter": "ann", "accuracy": 0.8, "skill": 1.0, "skill_low": 0.9, "reason": ""}
    >>> [column.title for column in choose_columns([voter], ("no", "yes"))]
    ['Voter', 'Accuracy', 'Skill']
    """
    usual = (*_FIRST, *(_name_sides(*classes) if len(classes) == 2 else _name_classes(voters)))
    usual = (*usual, *_LAST)
    known = {column.key for column in (*usual, *_END)} | _NOT_SHOWN
    bounds = {f"{key}_{end}" for key in voters[0] for end in ("low", "high")}
    own = [
        Column(key, key.capitalize(), "number", detail=True)
        for key in voters[0]
        if key not in known | bounds
    ]
    wanted = (*usual, *own, *_END)
    if any(voter.get("family") for voter in voters):
        # voters then depend on their relatives, whom the family's column shows
        wanted = tuple(column for column in wanted if column.key != "depends_on")
    return [c for c in wanted if any(voter.get(c.key) not in (None, [], "") for voter in voters)]


def _name_sides(no: Any, yes: Any) -> tuple[Column, ...]:
    """Return the columns of two classes."""
    no, yes = quote(no), quote(yes)
    return (
        Column("sensitivity", "Sensitivity", "percent", f"says {yes} where the label is {yes}"),
        Column("specificity", "Specificity", "percent", f"says {no} where the label is {no}"),
        Column("ppv", "PPV", "percent", f"right when it says {yes}", True),
        Column("npv", "NPV", "percent", f"right when it says {no}", True),
        Column("lean", f"Says {yes}", "lean", f"how much too often it says {yes}", True),
        Column("weight", "Weight", "number", f"how much a vote for {yes} raises the score"),
        Column("standard_error", "Std. error", "number", "standard error of the weight", True),
    )


def _name_classes(voters: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of more than two classes."""
    recalls = [
        Column(key, f"Recall of {show_name(key.removeprefix(_RECALL), 24)}", "percent", "", True)
        for key in voters[0]
        if key.startswith(_RECALL) and not key.endswith(("_low", "_high"))
    ]
    return (
        *recalls,
        Column("weight", "Weight", "number", "how much a vote counts"),
        Column("standard_error", "Std. error", "number", "standard error of the weight", True),
    )
