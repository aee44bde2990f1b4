"""LangSmith: exported feedback; a key is a judge, and an experiment a system under test."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import Record, require, take_first, take_object
from unelisa.jury.grades import Failed
from unelisa.jury.verdicts import Entry, Preference, Verdict

_MARKS = ("score", "value")
_ITEMS = ("reference_example_id", "run_id", "trace_id")
_GROUP = "feedback_group_id"  # of the answers that were compared with each other


def fits(record: Record) -> bool:
    """Return whether a record is feedback on a run."""
    marked = "score" in record or "value" in record
    return "key" in record and marked and ("run_id" in record or "trace_id" in record)


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts: the score, or the value of categories; corrections are gold."""
    compared: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        if record.get(_GROUP) is not None:
            compared[str(record[_GROUP]), _name_judge(record)].append(record)
            continue
        again = None if record.get(_ITEMS[0]) is None else record.get("run_id")
        place = record.get("session_id"), None, record.get("reference_dataset_id"), again
        item = require(record, _ITEMS)
        failed = record.get("error") or take_object(record, "extra").get("error")
        mark = Failed("the evaluator failed") if failed else take_first(record, _MARKS)
        yield Verdict(item, _name_judge(record), mark, *place)
        correction = record.get("correction")
        if isinstance(correction, dict):
            correction = take_first(correction, (*_MARKS, "label"))
        if correction is not None:
            yield Verdict(item, None, correction, *place, corrected=_name_judge(record))
    for (_, judge), group in compared.items():
        yield from _compare(judge, group, _is_person(group[0]))


def _compare(judge: Any, group: list[Record], human: bool) -> Iterator[Preference]:
    for k, one in enumerate(group):
        for other in group[k + 1 :]:
            scores = [take_first(part, _MARKS) for part in (one, other)]
            winner = None
            if all(isinstance(score, int | float) for score in scores):
                gap = float(scores[0]) - float(scores[1])
                winner = "tie" if gap == 0 else "first" if gap > 0 else "second"
            first, second = (require(part, ("session_id", "run_id")) for part in (one, other))
            item = take_first(one, ("reference_example_id", _GROUP))
            yield Preference(item, judge, first, second, winner, human=human)


def _is_person(record: Record) -> bool:
    source = record.get("feedback_source")
    return isinstance(source, dict) and source.get("type") == "app"


def _name_judge(record: Record) -> Any:
    """Return the key; people who annotate in the app share one, and their ids are added."""
    key, person = require(record, ("key",)), None
    if _is_person(record):
        person = take_object(record, "feedback_source").get("user_id")
    return key if person is None else f"{key} by {person}"
