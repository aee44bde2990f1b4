"""OpenAI evals: the log of events that `oaieval` records; an eval is a judge."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import Record, require, take_list, take_object
from unelisa.jury.grades import Failed
from unelisa.jury.verdicts import Verdict

_MARKS = ("correct", "score", "choice")  # the first of these that an event holds
_EVENTS = ("match", "metrics")
_INVALID = "__invalid__"  # the grader's choice could not be read


def fits(record: Record) -> bool:
    """Return whether a record begins a log of events."""
    return "spec" in record or {"sample_id", "type", "data"} <= record.keys()


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts of events; what is judged, and by which eval, precedes them."""
    about: Record = {}
    for record in records:
        if "spec" in record:
            about = take_object(record, "spec")
        elif record.get("type") in _EVENTS:
            data = take_object(record, "data")
            mark = next((data[key] for key in _MARKS if key in data), None)
            if _INVALID in (mark, data.get("choice")):
                mark = Failed("the choice is invalid")
            judge = about.get("eval_name") or record["type"]
            item, file = _name_item(record, about)
            repeat = record.get("run_id") or about.get("run_id")
            system = next(iter(take_list(about, "completion_fns")), None)
            yield Verdict(item, judge, mark, system, None, file, repeat)


def _name_item(record: Record, about: Record) -> tuple[Any, Any]:
    """Return the sample's number in its file, so that other evals of the file meet it."""
    sample = require(record, ("sample_id",))
    settings = take_object(take_object(about, "run_config"), "eval_spec")
    file = take_object(settings, "args").get("samples_jsonl")
    if not isinstance(file, str):
        return sample, about.get("base_eval")
    return f"{file} {str(sample).rpartition('.')[2]}", file
