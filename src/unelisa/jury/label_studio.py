"""Label Studio: exported tasks, JSON or JSON-MIN; people and models vote, ground truth is gold."""

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Any

from unelisa.jury.documents import Record, require, take_first, take_object, take_objects
from unelisa.jury.grades import Choices, Failed
from unelisa.jury.verdicts import Verdict

# the value of a choice, of stars, of a number, of a pair, of a tree of labels
_ANSWERS = ("choices", "rating", "number", "selected", "taxonomy")
_MINIMAL, _ANNOTATOR, _PERSON = ("annotator", "annotation_id"), ("completed_by",), ("email", "id")
# what an annotation may begin as, and why it is no second opinion if it was left so
_COPIED = {
    "prediction": Failed("a prediction was accepted"),
    "annotation": Failed("an annotation was copied"),
}


def fits(record: Record) -> bool:
    """Return whether a record is a task with annotations, or a minimal annotation."""
    task = "data" in record and ("annotations" in record or "predictions" in record)
    return task or {*_MINIMAL} <= record.keys()


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts on tasks; a task that was skipped is an abstention."""
    for record in records:
        yield from _read_task(record) if "data" in record else _read_minimal(record)


def _read_task(task: Record) -> Iterator[Verdict]:
    item, system = require(task, ("id", "inner_id")), take_object(task, "data").get("system")
    project = task.get("project")
    parts = {one: take_objects(task, f"{one}s") for one in _COPIED}
    known = [(one, part) for one in parts for part in parts[one] if part.get("id") is not None]
    earlier = {(one, str(part["id"])): _read_answers(part) for one, part in known}
    for prediction in parts["prediction"]:
        model = prediction.get("model_version") or "prediction"
        for question, mark in _read_answers(prediction).items():
            yield Verdict(item, model, mark, system, question, project)
    for annotation in parts["annotation"]:
        gold = annotation.get("ground_truth") is True
        person = annotation.get("completed_by")  # a number, or an object with it or an address
        named, keys = (person, _PERSON) if isinstance(person, dict) else (annotation, _ANNOTATOR)
        judge = require(named, keys) if not gold else None
        given = {} if annotation.get("was_cancelled") else _read_answers(annotation)
        for question, mark in (given or {None: None}).items():
            begun = (earlier.get((x, str(annotation.get(f"parent_{x}"))), {}) for x in _COPIED)
            copied = [x.get(question, ()) == mark and not gold for x in begun]
            said = next(compress(_COPIED.values(), copied), mark)
            yield Verdict(item, judge, said, system, question, project)


def _read_minimal(record: Record) -> Iterator[Verdict]:
    """Yield the verdicts of a minimal annotation, whose answers precede the annotator."""
    keys, judge = list(record), require(record, ("annotator",))
    start = keys.index("id") + 1 if "id" in record else 0
    for question in keys[start : keys.index("annotator")]:
        answer = record[question]
        parts = answer if isinstance(answer, list) else [answer]
        found = [x for part in parts for x in _read_value(part)]
        mark, system = Choices.of(found), record.get("system")
        yield Verdict(require(record, ("id",)), judge, mark, system, question)


def _read_answers(annotation: Record) -> dict[Any, Any]:
    found: dict[Any, list[Any]] = {}
    for result in take_objects(annotation, "result"):
        given = _read_value(take_object(result, "value"))
        if given:
            found.setdefault(str(result.get("from_name")), []).extend(given)
    return {name: Choices.of(given) for name, given in found.items()}


def _read_value(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return [] if value is None else [value]
    answer = take_first(value, _ANSWERS)
    given = answer if isinstance(answer, list) else [] if answer is None else [answer]
    return [" / ".join(map(str, one)) if isinstance(one, list) else one for one in given]
