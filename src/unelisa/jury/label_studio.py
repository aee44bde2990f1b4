"""Label Studio: exported tasks; annotators and models vote, ground truth is gold."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, require, take_first, take_object, take_objects
from unelisa.jury.verdicts import Verdict

_ANSWERS = ("choices", "rating", "selected")  # the value of a choice, of stars, of a pair


def fits(record: Record) -> bool:
    """Return whether a record is a task with annotations."""
    return "data" in record and ("annotations" in record or "predictions" in record)


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts on tasks; a task that was skipped is an abstention."""
    for task in records:
        item, system = require(task, ("id", "inner_id")), take_object(task, "data").get("system")
        for annotation in take_objects(task, "annotations"):
            gold = annotation.get("ground_truth") is True
            judge = None if gold else _name_person(annotation)
            answers = {} if annotation.get("was_cancelled") else _read_answers(annotation)
            for question, mark in (answers or {None: None}).items():
                yield Verdict(item, judge, mark, system, question)
        for prediction in take_objects(task, "predictions"):
            model = prediction.get("model_version") or "prediction"
            for question, mark in _read_answers(prediction).items():
                yield Verdict(item, model, mark, system, question)


def _name_person(annotation: Record) -> Any:
    """Return who annotated: a number, or an object with the address or the number."""
    person = annotation.get("completed_by")
    if isinstance(person, dict):
        return require(person, ("email", "id"))
    return require(annotation, ("completed_by",))


def _read_answers(annotation: Record) -> dict[Any, Any]:
    """Return question -> answer: a label, or a list of several."""
    found: dict[Any, list[Any]] = {}
    for result in take_objects(annotation, "result"):
        answer = take_first(take_object(result, "value"), _ANSWERS)
        if answer is not None:
            given = answer if isinstance(answer, list) else [answer]
            found.setdefault(str(result.get("from_name")), []).extend(given)
    return {name: given[0] if len(given) == 1 else given or None for name, given in found.items()}
