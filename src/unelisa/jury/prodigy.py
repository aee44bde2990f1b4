"""Prodigy: exported annotations; accept is pass, reject is fail, an option chosen its own label.

Two outputs, A and B, that were compared have a `mapping` to accept, shown first, and reject.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.errors import VotesError
from unelisa.jury.documents import Record, require, take_list, take_object
from unelisa.jury.grades import Choices
from unelisa.jury.verdicts import Entry, Preference, Verdict

_ANSWERS = {"accept": True, "reject": False, "ignore": None}
_SIDES = ("first", "second")


def fits(record: Record) -> bool:
    """Return whether a record is an annotated task."""
    return "_task_hash" in record and "answer" in record


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts and preferences; a task that was ignored is an abstention."""
    for record in records:
        judge, answer = require(record, ("_annotator_id", "_session_id")), record.get("answer")
        if not isinstance(answer, str) or answer not in _ANSWERS:
            raise VotesError("'answer' must be accept, reject or ignore")
        if "mapping" in record:
            yield _compare(record, judge, answer)
            continue
        mark = _ANSWERS[answer]
        if "accept" in record or "options" in record:
            mark = Choices.of(take_list(record, "accept") if answer == "accept" else [])
        yield Verdict(require(record, ("_task_hash",)), judge, mark, None, "accept")


def _compare(record: Record, judge: Any, answer: str) -> Preference:
    """Return the preference: by accept or reject, or by the option chosen."""
    sides = {side: name for name, side in take_object(record, "mapping").items()}
    if sides.keys() != {"accept", "reject"}:
        raise VotesError("'mapping' must name the output to accept and the one to reject")
    chosen = [sides.get(answer)]
    if "reject" not in record:  # options to choose from
        chosen = take_list(record, "accept") if answer == "accept" else []
    names = sides["accept"], sides["reject"]
    winner = next(
        (side for side, name in zip(_SIDES, names, strict=True) if chosen == [name]), None
    )
    return Preference(require(record, ("id", "_task_hash")), judge, *names, winner)
