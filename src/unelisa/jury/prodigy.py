"""Prodigy: exported annotations; accept is pass, reject is fail, an option chosen its own label.

Two outputs that were compared have a `mapping` to accept, shown first, and reject. Options whose
texts and whose order change from task to task are answers of systems: the one chosen is preferred.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from unelisa.errors import VotesError
from unelisa.jury.documents import Record, require, take_list, take_object, take_objects
from unelisa.jury.grades import Choices
from unelisa.jury.inspect_logs import digest
from unelisa.jury.pairs import prefer_one
from unelisa.jury.verdicts import Entry, Preference, Verdict

_ANSWERS = {"accept": True, "reject": False, "ignore": None}
_INPUT, _TASK = "_input_hash", "_task_hash"


class _Choice(NamedTuple):
    """Options as they were shown, and those chosen."""

    task: Any
    input: Any
    judge: Any
    chosen: list[Any]
    options: dict[Any, str]  # name -> digest of all that it shows


def fits(record: Record) -> bool:
    """Return whether a record is an annotated task."""
    return _TASK in record and "answer" in record


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts and preferences; a task that was ignored is an abstention."""
    choices = []
    for record in records:
        judge, answer = require(record, ("_annotator_id", "_session_id")), record.get("answer")
        if not isinstance(answer, str) or answer not in _ANSWERS:
            raise VotesError("'answer' must be accept, reject or ignore")
        if "mapping" in record:
            yield _compare(record, judge, answer)
        elif {"accept", "options"} & record.keys():
            shown = {str(one.get("id")): digest(one) for one in take_objects(record, "options")}
            places = require(record, (_TASK,)), record.get(_INPUT)
            choices.append(_Choice(*places, judge, _list_chosen(record, answer), shown))
        else:
            yield Verdict(require(record, (_TASK,)), judge, _ANSWERS[answer], None, "accept")
    yield from _read_choices(choices)


def _list_chosen(record: Record, answer: str) -> list[Any]:
    return take_list(record, "accept") if answer == "accept" else []


def _compare(record: Record, judge: Any, answer: str) -> Preference:
    """Return the preference between two outputs, of which the first is the one to accept."""
    sides = {side: name for name, side in take_object(record, "mapping").items()}
    if sides.keys() != {"accept", "reject"}:
        raise VotesError("'mapping' must name the output to accept and the one to reject")
    names, said = (sides["accept"], sides["reject"]), [sides.get(answer)]
    if "options" in record:  # of which one is chosen, by its name or its side
        said = [sides.get(str(one), one) for one in _list_chosen(record, answer)] or [None]
    if len(said) > 1 or said[0] not in (*names, None):
        raise VotesError("one of the two outputs in 'mapping' must be chosen")
    winner = None if said[0] is None else ("first", "second")[names.index(said[0])]
    return Preference(require(record, (_INPUT, "id", _TASK)), judge, *names, winner)


def _read_choices(choices: list[_Choice]) -> Iterator[Entry]:
    shown = defaultdict(set)
    for choice in choices:
        for name, content in choice.options.items():
            shown[name].add(content)
    orders = {tuple(choice.options) for choice in choices}
    turned = any(order[::-1] in orders for order in orders if len(order) > 1)
    systems = turned and all(len(contents) > 1 for contents in shown.values())
    for one in choices:
        if systems:
            item = one.task if one.input is None else one.input
            answers = [(name, name in map(str, one.chosen)) for name in one.options]
            yield from prefer_one(item, one.judge, answers)
        else:
            yield Verdict(one.task, one.judge, Choices.of(one.chosen), None, "accept")
