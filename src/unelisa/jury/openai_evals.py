"""OpenAI evals: events of `oaieval`, where an eval is a judge, and output items of the API."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import Record, require, take_first, take_list, take_object, take_objects
from unelisa.jury.grades import Failed
from unelisa.jury.verdicts import Check, Entry, Verdict

_MARKS = ("correct", "score", "choice")  # the first of these that an event holds
_EVENTS = ("match", "metrics")
_ITEM = "eval.run.output_item"
_CODE = ("string", "text", "python")  # how the types of graders begin that are not models
_INVALID = "__invalid__"  # the grader's choice could not be read


def fits(record: Record) -> bool:
    """Return whether a record begins a log of events, or is an output item."""
    event = "spec" in record or {"sample_id", "type", "data"} <= record.keys()
    return event or record.get("object") == _ITEM


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts; what is judged, and by which eval, precedes events."""
    about: Record = {}
    for record in records:
        if "spec" in record:
            about = take_object(record, "spec")
        elif record.get("object") == _ITEM:
            yield from _read_item(record)
        elif record.get("type") in _EVENTS:
            judge = about.get("eval_name") or record["type"]
            item, file = _name_item(record, about)
            repeat = record.get("run_id") or about.get("run_id")
            system = next(iter(take_list(about, "completion_fns")), None)
            data = take_object(record, "data")
            if "accuracy" in data:  # of a template that compares texts
                yield Check(str(judge), data["accuracy"])
            for criterion, mark in _list_marks(data):
                yield Verdict(item, judge, mark, system, criterion, file, repeat)


def _list_marks(data: Record) -> list[tuple[str | None, Any]]:
    """Return criterion and mark; several criteria of a `modelgraded_spec` are texts by name."""
    invalid = Failed("the choice is invalid")
    if data.keys() & {*_MARKS}:
        mark = take_first(data, _MARKS)
        return [(None, invalid if _INVALID in (mark, data.get("choice")) else mark)]
    texts = [(name, said) for name, said in data.items() if isinstance(said, str)]
    return [(name, invalid if said == _INVALID else said) for name, said in texts]


def _name_item(record: Record, about: Record) -> tuple[Any, Any]:
    """Return the sample's number in its file, so that other evals of the file meet it."""
    sample = require(record, ("sample_id",))
    settings = take_object(take_object(about, "run_config"), "eval_spec")
    file = take_object(settings, "args").get("samples_jsonl")
    if not isinstance(file, str):
        return sample, about.get("base_eval")
    return f"{file} {str(sample).rpartition('.')[2]}", file


def _read_item(record: Record) -> Iterator[Entry]:
    """Yield what the graders say of an output item; graders that are code are checks."""
    item, task = require(record, ("datasource_item_id",)), record.get("eval_id")
    sample = take_object(record, "sample")
    failed = take_object(sample, "error").get("message")
    for result in take_objects(record, "results"):
        name, passed = str(require(result, ("name",))), result.get("passed")
        if str(result.get("type")).startswith(_CODE):
            yield Check(name, passed)
            continue
        mark = Failed("the sample has an error") if failed else passed
        yield Verdict(item, name, mark, sample.get("model"), None, task, record.get("run_id"))
