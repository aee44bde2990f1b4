"""LangSmith: exported feedback; a key is a judge, and an experiment a system under test."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, require, take_first
from unelisa.jury.verdicts import Verdict


def fits(record: Record) -> bool:
    """Return whether a record is feedback on a run."""
    marked = "score" in record or "value" in record
    return "key" in record and marked and ("run_id" in record or "trace_id" in record)


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts: the score, or the value of categories."""
    for record in records:
        item, system = require(record, ("run_id", "trace_id")), record.get("session_id")
        yield Verdict(item, _name_judge(record), take_first(record, ("score", "value")), system)


def _name_judge(record: Record) -> Any:
    """Return the key; people who annotate in the app share one, and are told apart."""
    key, source = require(record, ("key",)), record.get("feedback_source")
    person = source.get("user_id") if isinstance(source, dict) else None
    app = isinstance(source, dict) and source.get("type") == "app"
    return f"{key} by {person}" if app and person is not None else key
