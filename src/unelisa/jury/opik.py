"""Opik: traces with feedback scores, test results, and the judges of an `LLMJuriesJudge`."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import (
    Record,
    check_object,
    require,
    take_first,
    take_object,
    take_objects,
)
from unelisa.jury.grades import Failed
from unelisa.jury.verdicts import Check, Entry, Verdict

_ITEMS = ("dataset_item_id", "trace_id", "id", "item")
_SYSTEMS = ("experiment_name", "experiment_id")
_SCORES = ("feedback_scores", "score_results")
# metrics that compute, by their usual names; those of models are judges
_CODE = frozenset(
    f"{name}_metric"
    for name in ("equals", "contains", "regex", "is_json", "levenshtein_ratio", "sentence_bleu",
                 "corpus_bleu", "rouge")
)  # fmt: skip


def fits(record: Record) -> bool:
    """Return whether a record is a trace, a test result, a list of them or a jury's score."""
    parts = [record, record.get("trace")]
    held = [key for part in parts if isinstance(part, dict) for key in part]
    return bool({*_SCORES, "test_results"} & set(held)) or bool(_list_jury(record))


def _list_jury(score: Record) -> Any:
    """Return the scores of a jury's judges, by name or as a list; None where it is no jury."""
    about = score.get("metadata")
    return about.get("judge_scores") if isinstance(about, dict) else None


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts of traces, test results or scores."""
    for record in records:
        listed = "test_results" in record
        for result in take_objects(record, "test_results") if listed else [record]:
            yield from _read_result(result, record)


def _read_result(record: Record, whole: Record) -> Iterator[Entry]:
    trace = take_object(record, "trace") or record
    case = take_object(trace, "test_case") or trace
    item = require(case, _ITEMS)
    system = take_first(trace, _SYSTEMS) or take_first(whole, _SYSTEMS)
    task = take_first(trace, ("dataset_name", "dataset_id")) or whole.get("dataset_id")
    repeat = take_first(case, ("trace_id",)) if case.get("dataset_item_id") is not None else None
    listed = [score for key in _SCORES for score in take_objects(trace, key)]
    for score in listed if listed or not _list_jury(trace) else [trace]:
        for judge, mark in _read_score(score):
            known = Verdict(item, judge, mark, system, None, task, repeat)
            yield Check(str(judge), mark) if str(judge) in _CODE else known


def _read_score(score: Record) -> Iterator[tuple[Any, Any]]:
    """Yield the judge and the mark: of a jury every judge, of people each author."""
    jury, authors = _list_jury(score), take_object(score, "value_by_author")
    if isinstance(jury, dict):
        yield from jury.items()
    elif isinstance(jury, list):
        for part in jury:
            yield from _read_score(check_object(part, "every part of 'judge_scores'"))
    elif len(authors) > 1:  # the score itself is their mean
        name = require(score, ("name",))
        for author in authors:
            yield f"{name} by {author}", _read_mark(take_object(authors, author))
    else:
        yield require(score, ("name",)), _read_mark(score)


def _read_mark(score: Record) -> Any:
    if score.get("scoring_failed"):
        return Failed("scoring failed")
    return score.get("category_name") or score.get("value")
