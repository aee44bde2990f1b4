"""Verdicts of judges on items, collected one by one into votes."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from unelisa.errors import VotesError
from unelisa.jury.grades import is_torn, name_grades, read_grade
from unelisa.jury.questions import Question
from unelisa.memory import refuse_beyond
from unelisa.votes import Votes
from unelisa.votes.assembly import LongVotes, assemble_long
from unelisa.votes.coding import MAX_CLASSES, CodingChoice
from unelisa.votes.columns import Label, Names, TextColumn

VERDICT_BYTES, NAME_BYTES = 80, 300  # of memory at the peak, roughly: per verdict, per name
CHECKED = 1 << 16  # verdicts between two checks of the memory


class Verdict(NamedTuple):
    """What a judge says of an item; without a judge it is the item's gold label."""

    item: Any
    judge: Any
    mark: Any
    system: Any = None  # what was judged, such as a model under test
    question: str | None = None  # what was asked, where annotators are asked several things


@dataclass(frozen=True, eq=False, repr=False)
class Jury(Votes):
    """The votes of a panel of judges, and what else their logs hold.

    Attributes
    ----------
    gold
        Item -> gold label, for the items that have one.
    systems
        Item -> the system under test, where it is known.
    source
        The names of the formats that were read, in alphabetical order, separated by commas.
    """

    gold: dict[str, Label] = field(default_factory=dict)
    systems: dict[str, str] = field(default_factory=dict)
    source: str = ""


class Panel:
    """Collects verdicts as numbers; names are held once."""

    def __init__(self, cut: float | None = None, question: str | None = None) -> None:
        self._cut, self._question = cut, Question(question)
        self._items: dict[tuple[str, str], int] = {}  # (system, item), "" where it is unknown
        self._judges: dict[str, int] = {}
        self._grades: dict[bool | str, int] = {}
        self._rows = array("i"), array("i"), array("h")
        self._gold: dict[int, int] = {}

    def add(self, verdict: Verdict) -> None:
        """Add a verdict, or raise `VotesError`; an abstention leaves the item without a vote."""
        if verdict.question is not None and not self._question.includes(verdict.question):
            return
        item = read_name(verdict.item, "an item")
        system = "" if verdict.system is None else read_name(verdict.system, "a system")
        grade = self._number(verdict)
        place = self._items.setdefault((system, item), len(self._items))
        if verdict.judge is None:
            self._add_gold(place, grade)
            return
        judge = read_name(verdict.judge, "a judge")
        number = self._judges.setdefault(judge, len(self._judges))
        for column, value in zip(self._rows, (place, number, grade), strict=True):
            column.append(value)
        if len(self._rows[0]) % CHECKED == 0:
            names = NAME_BYTES * (len(self._items) + len(self._judges))
            refuse_beyond(VERDICT_BYTES * len(self._rows[0]) + names, "a panel of this size")

    def _number(self, verdict: Verdict) -> int:
        """Return the number of a verdict's grade, -1 for an abstention."""
        try:
            grade = read_grade(verdict.mark, self._cut)
        except VotesError as error:
            judge = f"judge {str(verdict.judge)[:60]!r}"
            who = "the gold label" if verdict.judge is None else judge
            told = f"{who} cannot be read: {error.message}"
            raise VotesError(told, *error.hints) from None
        if grade is None:
            return -1
        if len(self._grades) >= MAX_CLASSES and grade not in self._grades:
            raise VotesError(
                f"the marks hold more than {MAX_CLASSES} labels, so they are free text; a verdict "
                "is one of a few labels"
            )
        # True equals 1 but no grade is a number, so the keys stay apart
        return self._grades.setdefault(grade, len(self._grades))

    def _add_gold(self, place: int, grade: int) -> None:
        if grade >= 0 and self._gold.setdefault(place, grade) != grade:
            raise VotesError("an item has two different gold labels; keep one of them")

    def finish(self, coding: CodingChoice, sources: Iterable[str]) -> Jury:
        """Return the votes, with gold labels and systems."""
        if not self._rows[0]:
            raise VotesError("there are no verdicts of any judge")
        names, coding = name_grades(self._grades, coding)
        labels = [names[grade] for grade in self._grades]
        distinct = list(dict.fromkeys(labels))
        lookup = np.array([*(distinct.index(label) for label in labels), -1], dtype=np.int16)
        rows, judges, grades = (np.asarray(column) for column in self._rows)
        said = lookup[grades]
        if coding == "auto" and len(set(said[said >= 0].tolist())) < len(distinct) > 1:
            coding = tuple(sorted(distinct))  # gold labels name classes that nobody voted
        items = self._name_items()
        judged = _sort_names(items, rows), _sort_names(list(self._judges), judges)
        table = LongVotes(*judged, TextColumn(distinct, said))
        try:
            found = assemble_long(table, coding, "'verdict'")
        except VotesError as error:  # logs have no rows to choose among
            hints = (hint for hint in error.hints if hint.parameter != "duplicates")
            raise VotesError(error.message, *hints, **error.about) from None
        systems = {items[k]: key[0] for key, k in self._items.items() if key[0]}
        voted = set(rows.tolist())
        gold = {items[k]: labels[grade] for k, grade in self._gold.items() if k in voted}
        votes = Votes.of_assembled(found)
        own: dict[str, Any] = {part.name: getattr(votes, part.name) for part in fields(votes)}
        return Jury(**own, gold=gold, systems=systems, source=", ".join(sorted(set(sources))))

    def _name_items(self) -> list[str]:
        """Return the items' names; with several systems, each begins with its system's."""
        several = len({system for system, _ in self._items}) > 1
        names = [f"{x} / {item}" if several and x else item for x, item in self._items]
        if len(set(names)) < len(names):
            raise VotesError("two items have the same name; rename one, or a system")
        return names


def _sort_names(names: list[str], codes: Any) -> Names:
    distinct = Names.of(np.array(names, dtype=object))
    return Names(distinct.names, distinct.codes.astype(np.int32)[codes])


def read_name(name: Any, whose: str) -> str:
    """Return the name of an item, a judge or a system as text, or raise `VotesError`.

    Examples
    --------
    >>> read_name(17, "an item"), read_name(" ann ", "a judge")
    ('17', 'ann')
    """
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    if isinstance(name, bool) or not isinstance(name, str | int | float) or name != name:  # noqa: PLR0124 - NaN
        raise VotesError(f"the name of {whose} is missing or is neither text nor a number")
    text = str(name).strip()
    if not text or "\0" in text or is_torn(text):
        raise VotesError(f"the name of {whose} is empty, or holds null bytes or half characters")
    return text
