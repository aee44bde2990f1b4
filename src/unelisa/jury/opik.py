"""Opik: traces with feedback scores, test results, and the judges of an `LLMJuriesJudge`."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, check_object, require, take_object, take_objects
from unelisa.jury.verdicts import Verdict

_ITEMS = ("trace_id", "dataset_item_id", "id", "item")
_SCORES = ("feedback_scores", "score_results")


def fits(record: Record) -> bool:
    """Return whether a record is a trace, a test result, a list of them or a jury's score."""
    parts = [record, record.get("trace")]
    held = [key for part in parts if isinstance(part, dict) for key in part]
    return bool({*_SCORES, "test_results"} & set(held)) or bool(_list_jury(record))


def _list_jury(score: Record) -> Any:
    """Return the scores of a jury's judges, by name or as a list; None where it is no jury."""
    about = score.get("metadata")
    return about.get("judge_scores") if isinstance(about, dict) else None


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts of traces, test results or scores."""
    for record in records:
        if "test_results" in record:
            for result in take_objects(record, "test_results"):
                yield from _read_result(result)
        else:
            yield from _read_result(record)


def _read_result(record: Record) -> Iterator[Verdict]:
    trace = take_object(record, "trace") or record
    case = take_object(trace, "test_case") or trace
    item, system = require(case, _ITEMS), trace.get("experiment_name")
    listed = [score for key in _SCORES for score in take_objects(trace, key)]
    for score in listed if listed or not _list_jury(trace) else [trace]:
        for judge, mark in _read_score(score):
            yield Verdict(item, judge, mark, system)


def _read_score(score: Record) -> Iterator[tuple[Any, Any]]:
    """Yield the judge and the mark; of a jury every judge, and not their average."""
    jury = _list_jury(score)
    if isinstance(jury, dict):
        yield from jury.items()
    elif isinstance(jury, list):
        for part in jury:
            yield from _read_score(check_object(part, "every part of 'judge_scores'"))
    else:
        yield require(score, ("name",)), score.get("category_name") or score.get("value")
