"""Prodigy: exported annotations; accept is pass and reject is fail, or the option chosen."""

from collections.abc import Iterable, Iterator

from unelisa.errors import VotesError
from unelisa.jury.documents import Record, require, take_list
from unelisa.jury.grades import Choices
from unelisa.jury.verdicts import Verdict

_ANSWERS = {"accept": True, "reject": False, "ignore": None}


def fits(record: Record) -> bool:
    """Return whether a record is an annotated task."""
    return "_task_hash" in record and "answer" in record


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts; a task that was ignored is an abstention."""
    for record in records:
        judge, answer = require(record, ("_annotator_id", "_session_id")), record.get("answer")
        if not isinstance(answer, str) or answer not in _ANSWERS:
            raise VotesError("'answer' must be accept, reject or ignore")
        mark = _ANSWERS[answer]
        if "accept" in record or "options" in record:
            mark = Choices.of(take_list(record, "accept") if answer == "accept" else [])
        yield Verdict(require(record, ("_task_hash",)), judge, mark, None, "accept")
