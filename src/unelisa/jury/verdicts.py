"""Verdicts of judges on items, collected one by one into votes, scores or preferences."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from unelisa.errors import Hint, VotesError, VotesWarning, warn_user
from unelisa.jury.grades import (
    HIGHEST,
    Choices,
    Failed,
    Named,
    Range,
    is_torn,
    name_grades,
    read_grade,
)
from unelisa.memory import refuse_beyond
from unelisa.votes import Votes
from unelisa.votes.assembly import LongVotes, assemble_long
from unelisa.votes.coding import CodingChoice
from unelisa.votes.columns import Column, Label, Names, spell_name
from unelisa.votes.frames import find_similar_names, list_names

VERDICT_BYTES, NAME_BYTES = 80, 300  # of memory at the peak, roughly: per verdict, per name
CHECKED = 1 << 16  # verdicts between two checks of the memory
MOST_SIGNS = 3  # other scores beside which -1 or 99 may be none
SIGNS = (-1.0, -9.0, -99.0, -999.0, 99.0, 999.0, 9999.0)
MOST_FREE = 1 << 16  # distinct marks that are held; more are free text or cannot be grouped


class Verdict(NamedTuple):
    """What a judge says of an answer to an item; without a judge it is the gold label."""

    item: Any
    judge: Any
    mark: Any
    system: Any = None  # what was judged, such as a model under test
    question: str | None = None  # what was asked, where annotators are asked several things
    task: Any = None  # the task, suite or data set: equal ids in two of them are two items
    repeat: Any = None  # distinguishes the answers of one system to one item, such as epochs
    content: str = ""  # a digest of the item, where ids alone may be equal by chance
    corrected: Any = None  # of a gold label, the judge whose mark it replaces


class Preference(NamedTuple):
    """Which of two systems' answers a judge prefers."""

    item: Any
    judge: Any
    first: Any
    second: Any
    winner: Any  # "first", "second", "tie", a `Failed`, or None
    lengths: tuple[int, int] | None = None  # of the two answers
    human: bool = False  # whether a person judged
    task: Any = None  # the suite or data set: equal items in two of them are two questions


class Ranking(tuple[tuple[Any, float], ...]):
    """Options, which are systems, with their ranks, 1 the best: a mark that is preferences."""

    __slots__ = ()


class Check(NamedTuple):
    """The result of a deterministic test, such as a limit of latency; it is not a judge."""

    name: str
    passed: Any


Entry = Verdict | Preference | Check


@dataclass(frozen=True, eq=False, repr=False)
class Jury(Votes):
    """The votes of a panel of judges, and what else their logs hold.

    Attributes
    ----------
    gold
        Item -> gold label, for the items that have one.
    systems
        Item -> the system under test, where it is known.
    questions
        Item -> what was asked: several systems, and several epochs of one, answer one question.
    source
        The names of the formats that were read, in alphabetical order, separated by commas.
    failures
        Judge -> how many of its judgments failed; they count as abstentions.
    checks
        Deterministic test -> how many answers passed, and how many were tested.
    notes
        How scores or letters were read.
    """

    gold: dict[str, Label] = field(default_factory=dict)
    systems: dict[str, str] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    source: str = ""
    failures: dict[str, int] = field(default_factory=dict)
    checks: dict[str, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Key(NamedTuple):
    """What identifies an answer."""

    system: str
    task: str
    content: str
    item: str
    repeat: int

    @property
    def question(self) -> tuple[str, str, str]:
        """What was asked, whoever answered, and how often."""
        return self.task, self.content, self.item


class Panel:
    """Collects what logs hold as numbers; names are held once."""

    def __init__(
        self,
        cut: float | None = None,
        question: str | None = None,
        judges: Iterable[str] | None = None,
    ) -> None:
        self._cut, self._declared, self._met = cut, question, question
        self._missing = question is not None  # whether nothing was asked, or no option chosen, so
        self._wanted, self._others = None if judges is None else set(judges), set[str]()
        self._answers: dict[Key, int] = {}
        self._repeats: dict[Key, dict[Any, int]] = {}
        self._judges: dict[str, int] = {}
        self._grades: dict[tuple[type, Any], int] = {}
        self._rows = array("i"), array("i"), array("i")
        self._ranges: dict[str, Range] = {}
        self._gold: dict[int, int] = {}
        self.preferences: list[Preference] = []
        self.failures: Counter[tuple[str, str]] = Counter()  # (judge, why)
        self.checks: dict[str, tuple[int, int]] = {}
        self._files, self._origins = [""], array("i")  # names, and which one an answer is first in
        self._shared: dict[tuple[int, int], None] = {}  # files whose answers have equal names

    def open_file(self, name: str) -> None:
        """Say which file the next entries are from; nothing if its names are those of no other."""
        self._files.append(name)

    @property
    def grades(self) -> list[bool | float | str]:
        """All marks that occur."""
        return [value for _, value in self._grades]

    def add(self, entry: Entry) -> None:
        """Add what a log says, or raise `VotesError`; an item may have no vote."""
        if isinstance(entry, Check):
            passed, n = self.checks.get(entry.name, (0, 0))
            self.checks[entry.name] = passed + _is_passed(entry.passed), n + 1
        elif isinstance(entry, Preference):
            self._add_preference(entry)
        elif not self._leaves_out(entry.corrected):
            self._add_verdict(entry)

    def _name_judge(self, judge: Any) -> str | None:
        name = read_name(judge, "a judge")
        if self._wanted is None or name in self._wanted:
            return name
        self._others.add(name)
        return None

    def _leaves_out(self, judge: Any) -> bool:
        """Return whether neither a judge nor a member of its panel is to be read."""
        names = self._wanted or () if judge is not None else ()
        return bool(names) and not any(x == judge or x.startswith(f"{judge}/") for x in names)

    def _add_preference(self, entry: Preference) -> None:
        judge = self._name_judge(entry.judge)
        if judge is None or entry.winner is None:
            return
        if isinstance(entry.winner, Failed):
            self.failures[judge, str(entry.winner)] += 1
            return
        first, second = (read_name(one, "a system") for one in (entry.first, entry.second))
        item = read_name(entry.item, "an item")
        if entry.task is not None:
            item = f"{read_name(entry.task, 'a task')} / {item}"
        self.preferences.append(entry._replace(item=item, judge=judge, first=first, second=second))

    def _add_ranking(self, verdict: Verdict, ranking: Ranking) -> None:
        """Add a preference for each pair of options, by name: how they were shown is unknown."""
        if len({name for name, _ in ranking}) < len(ranking):
            raise VotesError("a ranking names an option twice; keep one of them")
        for (one, high), (other, low) in combinations(sorted(ranking, key=str), 2):
            winner = "tie" if high == low else "first" if high < low else "second"
            pair = Preference(verdict.item, verdict.judge, one, other, winner, task=verdict.task)
            self._add_preference(pair)

    def _add_verdict(self, verdict: Verdict) -> None:
        mark, judge = verdict.mark, None
        if verdict.question is not None:
            wanted, mark = self._choose(str(verdict.question), mark)
            if not wanted:
                return
        if verdict.judge is not None and (judge := self._name_judge(verdict.judge)) is None:
            return
        if isinstance(mark, Ranking):
            self._add_ranking(verdict, mark)
            return
        place = self._place(self._identify(verdict))
        if isinstance(mark, Failed):
            self.failures.update([(judge, str(mark))] if judge is not None else ())
            mark = None
        grade = self._number(judge, mark)
        if judge is not None:
            self._append(place, judge, grade)
        elif grade >= 0 and self._gold.setdefault(place, grade) != grade:
            raise VotesError("an item has two different gold labels; keep one of them")

    def _place(self, key: Key) -> int:
        """Return the number of an answer; note two files that name it where no task does."""
        place, file = self._answers.setdefault(key, len(self._answers)), len(self._files) - 1
        if place == len(self._origins):
            self._origins.append(file)
        pair = self._origins[place], file
        if pair[0] != file and not (key.task or key.content) and all(self._files[k] for k in pair):
            self._shared[pair] = None
        return place

    def _append(self, place: int, judge: str, grade: int) -> None:
        number = self._judges.setdefault(judge, len(self._judges))
        for column, value in zip(self._rows, (place, number, grade), strict=True):
            column.append(value)
        if len(self._rows[0]) % CHECKED == 0:
            names = NAME_BYTES * (len(self._answers) + len(self._judges))
            refuse_beyond(VERDICT_BYTES * len(self._rows[0]) + names, "a panel of this size")

    def _choose(self, name: str, mark: Any) -> tuple[bool, Any]:
        """Return whether answers to a question or its option are wanted, and the mark."""
        self._met = self._met or name
        if name == self._met:
            self._missing = False
            return True, mark
        if self._declared is None:
            raise VotesError(
                "annotators answered more than one question; declare which one to read",
                *(Hint("question", asked[:60]) for asked in (self._met, name)),
            )
        asked, _, option = self._declared.partition(": ")
        if asked != name or not option:
            return False, None
        chosen = map(str, mark if isinstance(mark, Choices) else (mark,))
        found = None if mark is None else option in chosen
        self._missing = self._missing and not found
        return True, found

    def _identify(self, verdict: Verdict) -> Key:
        """Return the key of an answer; answers to one item are numbered as they appear."""
        system = "" if verdict.system is None else read_name(verdict.system, "a system")
        task = "" if verdict.task is None else read_name(verdict.task, "a task")
        item = read_name(verdict.item, "an item")
        key = Key(system, task, verdict.content, item, 1)
        if verdict.repeat is None:
            return key
        seen = self._repeats.setdefault(key, {})
        return key._replace(repeat=seen.setdefault(str(verdict.repeat), len(seen) + 1))

    def _number(self, judge: str | None, mark: Any) -> int:
        try:
            grade = read_grade(mark)
        except VotesError as error:
            who = "the gold label" if judge is None else f"judge {judge[:60]!r}"
            raise VotesError(f"{who} cannot be read: {error.message}", *error.hints) from None
        if grade is None:
            return -1
        if isinstance(grade, float) and judge is not None:
            low, high, count = self._ranges.get(judge, (math.inf, -math.inf, 0))
            self._ranges[judge] = Range(min(low, grade), max(high, grade), count + 1)
        if len(self._grades) >= MOST_FREE and (type(grade), grade) not in self._grades:
            if not isinstance(grade, float):
                raise VotesError("the marks are free text; a verdict is one of a few labels")
            refuse_beyond(NAME_BYTES * len(self._grades), "scores of this many kinds")
        return self._grades.setdefault((type(grade), grade), len(self._grades))

    def finish(self, coding: CodingChoice, source: str) -> Jury:
        """Return the votes, with gold labels and systems."""
        self._refuse_none()
        named = name_grades(self.grades, coding, self._cut, self._ranges)
        self._refuse_gold(named)
        coding = named.coding
        distinct = list(dict.fromkeys(label for label in named.labels if label is not None))
        lookup = np.array(
            [*(-1 if x is None else distinct.index(x) for x in named.labels), -1], dtype=np.int16
        )
        rows, judges, grades = (np.asarray(column) for column in self._rows)
        said = lookup[grades]
        if coding == "auto" and len(set(said[said >= 0].tolist())) < len(distinct) > 1:
            coding = tuple(sorted(distinct))  # gold labels name classes that nobody voted
        items = self.name_items()
        judged = _sort_names(items, rows), _sort_names(list(self._judges), judges)
        table = LongVotes(*judged, Column(distinct, said))
        try:
            found = assemble_long(table, coding, "'verdict'")
        except VotesError as error:  # logs have no rows to choose among
            hints = (hint for hint in error.hints if hint.parameter != "duplicates")
            message = "; ".join((error.message, *self.list_shared()))
            raise VotesError(message, *hints, **error.about) from None
        return self._complete(Votes.of_assembled(found), items, named, source)

    def _refuse_gold(self, named: Named) -> None:
        """Raise `VotesError` where gold labels have another scale, or other words, than votes."""
        gold, voted = set(self._gold.values()), set(self._rows[2]) - {-1}
        scores = [x for k in gold if isinstance(x := self.grades[k], float)]
        best = max((one.high for one in self._ranges.values()), default=0.0)
        if scores and max(scores) <= 1 < best:
            raise VotesError(
                f"the gold labels are at most {max(scores):g} and scores go to {best:g}; write "
                "gold labels as pass and fail, or on the scale of the scores"
            )
        said, known = ({named.labels[k] for k in part} - {None} for part in (voted, gold))
        if len(known) > 1 and not known & said:
            raise VotesError("no gold label is one of the judges' labels; use one spelling of each")

    def _complete(self, votes: Votes, items: list[str], named: Named, source: str) -> Jury:
        voted, gold = set(self._rows[0].tolist()), {}
        for k, grade in self._gold.items():
            label = named.labels[grade]
            if k in voted and label is not None:
                gold[items[k]] = label
        own: dict[str, Any] = {part.name: getattr(votes, part.name) for part in fields(votes)}
        judges = {judge for judge, _ in self.failures}
        failures = {x: sum(n for (y, _), n in self.failures.items() if x == y) for x in judges}
        keys = [*zip(items, self._answers, strict=True)]
        return Jury(
            **own,
            gold=gold,
            systems={item: key.system for item, key in keys if key.system},
            questions={item: " / ".join(filter(None, key.question)) for item, key in keys},
            source=source,
            failures=failures,
            checks=dict(self.checks),
            notes=(named.note,) if named.note else (),
        )

    def _refuse_none(self) -> None:
        if self._rows[0]:
            if self._missing:
                raise VotesError("the logs have no such question, or nobody chose the option")
            return
        if self.preferences:
            raise VotesError(
                "the logs hold preferences between two answers; read them with read_preferences"
            )
        if self.checks:
            listed = ", ".join(name[:60] for name in list(self.checks)[:5])
            raise VotesError(f"there are no verdicts of any judge, only checks ({listed})")
        if self._others:
            listed = ", ".join(repr(name[:60]) for name in sorted(self._others)[:5])
            raise VotesError(f"there are no verdicts of the judges to read; the logs have {listed}")
        raise VotesError(
            "there are no verdicts of any judge: no test has an assertion that a model grades, or "
            "no sample a score"
        )

    def list_scores(self) -> tuple[list[Key], list[str], Any, Any, Any]:
        """Return answers, judges, and the rows of scores: answer, judge, score."""
        self._refuse_none()
        if any(not isinstance(grade, float) for grade in self.grades):
            raise VotesError("some marks are no scores; read the logs as votes, with read_jury")
        rows, judges, grades = (np.asarray(column, dtype=np.int64) for column in self._rows)
        kept = np.flatnonzero(grades >= 0)
        cells = (rows * len(self._judges) + judges)[kept]
        _, first, same = np.unique(cells, return_index=True, return_inverse=True)
        if (grades[kept] != grades[kept[first]][same]).any():
            raise VotesError("a judge gave one answer different scores; keep one of them")
        if repeated := len(kept) - len(first):
            warn_user(
                f"{repeated} scores repeat one of the same judge, and count once", VotesWarning
            )
        rows, judges, grades = (column[kept[first]] for column in (rows, judges, grades))
        _tell_similar(self._judges)  # of votes, a model says so
        scores = np.array(self.grades, dtype=np.float64)[grades]
        return list(self._answers), list(self._judges), rows, judges, scores

    def list_shared(self) -> list[str]:
        """Return a sentence on files that hold answers of the same names, which may be others."""
        pairs = [" and ".join(self._files[k][:60] for k in pair) for pair in self._shared][:3]
        return [
            f"{', '.join(pairs)} hold items of the same names, read as the same items; if these "
            "are of two data sets, or answers of two systems, name them in a field 'dataset' or "
            "'system'"
        ] * bool(pairs)

    def tell_doubts(self, *, shared: bool) -> None:
        """Warn of judgments that failed or look so, and of items that two files share."""
        heard = {*self._judges, *(row.judge for row in self.preferences)}
        if heard and (absent := sorted((self._wanted or set()) - heard)):
            raise VotesError(f"the logs have no verdicts of {list_names(absent)}")
        for told in self.list_shared() if shared else ():
            warn_user(told, VotesWarning)
        self._tell_names()
        scores = sorted({grade for grade in self.grades if isinstance(grade, float)})
        for score, rest in ((scores[:1], scores[1:]), (scores[-1:], scores[:-1])):
            if len(rest) >= MOST_SIGNS and _is_sign(score[0], rest):
                warn_user(
                    f"the score {score[0]:g} is apart from all others; if it stands for a judgment "
                    "that failed, leave it empty",
                    VotesWarning,
                )
        if not self.failures:
            return
        total = sum(self.failures.values())
        most = ", ".join(
            f"{judge[:60]!r} {count} ({why})"
            for (judge, why), count in self.failures.most_common(5)
        )
        warn_user(f"judgments that failed count as abstentions ({total}): {most}", VotesWarning)

    def _tell_names(self) -> None:
        """Warn of judges or systems who may be one, and of answers without a system."""
        systems = {key.system for key in self._answers}
        if "" in systems and len(systems) > 1:
            asked = {key.question for key in self._answers if not key.system}
            if any(key.system and key.question in asked for key in self._answers):
                told = "some answers have a system and others to the same questions none"
                warn_user(told, VotesWarning)
        _tell_similar(systems.union(*(row[2:4] for row in self.preferences)))
        _tell_similar({row.judge for row in self.preferences})

    def name_items(self) -> list[str]:
        """Return the answers' names: the item, with what else distinguishes two answers."""
        several = len({key.system for key in self._answers}) > 1
        names = [_name_item(key, several, "") for key in self._answers]
        for part in ("{0.task}", "{0.task} {0.content}"):
            counts = Counter(names)
            names = [
                name if counts[name] == 1 else _name_item(key, several, part.format(key).strip())
                for key, name in zip(self._answers, names, strict=True)
            ]
        if len(set(names)) < len(names):
            raise VotesError("two items have the same name; rename one, or a system")
        return names


def _tell_similar(names: Iterable[str]) -> None:
    if alike := find_similar_names(sorted(names)):
        warn_user(f"{list_names(alike)} may be the same; spell them alike", VotesWarning)


def _is_passed(value: Any) -> bool:
    """Return whether the result of a check is a pass: true, 1 or a word for it, but not 0.5."""
    if isinstance(value, str):
        return value.strip().casefold() in ("yes", "1", "true", "pass", "passed", "correct")
    return isinstance(value, bool | int | float) and value == 1


def _is_sign(score: float, others: Sequence[float]) -> bool:
    """Return whether a score may be no score, such as -1 or 99 beside 1 to 5."""
    return score in SIGNS and (score < 0 <= others[0] or HIGHEST >= others[-1] < score)


def _name_item(key: Key, several: bool, task: str) -> str:
    item = key.item if key.repeat == 1 else f"{key.item} epoch {key.repeat}"
    return " / ".join(filter(None, (key.system if several else "", task, item)))


def _sort_names(names: list[str], codes: Any) -> Names:
    distinct = Names.of(np.array(names, dtype=object))
    return Names(distinct.names, distinct.codes.astype(np.int32)[codes])


def read_name(name: Any, whose: str) -> str:
    """Return the name of an item, a judge or a system as text, or raise `VotesError`."""
    if isinstance(name, bool) or not isinstance(name, str | int | float) or name != name:  # noqa: PLR0124 - NaN
        raise VotesError(f"the name of {whose} is missing or is neither text nor a number")
    text = spell_name(name)
    if not text or "\0" in text or is_torn(text):
        raise VotesError(f"the name of {whose} is empty, or holds null bytes or half characters")
    return text
