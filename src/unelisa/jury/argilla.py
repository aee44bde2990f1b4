"""Argilla: exported records; people who responded vote, and so do agents that suggested."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, check_object, require, take_object, take_objects
from unelisa.jury.verdicts import Verdict

_COUNTED = (None, "submitted")  # the status of a response that counts; some exports omit it


def fits(record: Record) -> bool:
    """Return whether a record has fields and responses."""
    return "fields" in record and "responses" in record


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts; drafts and discarded responses are abstentions."""
    for record in records:
        item = require(record, ("external_id", "id"))
        system = take_object(record, "metadata").get("system")
        for name, response in _list_responses(record):
            judge = require(response, ("user_id", "user"))
            mark = response.get("value") if response.get("status") in _COUNTED else None
            yield Verdict(item, judge, mark, system, name)
        for name, suggestion in _list_suggestions(record):
            if suggestion.get("agent"):
                yield Verdict(item, suggestion["agent"], suggestion.get("value"), system, name)


def _list_responses(record: Record) -> Iterator[tuple[Any, Record]]:
    """Yield question and response: of `to_dict`, by question; of the server, by person."""
    if isinstance(record.get("responses"), dict):
        by_question = take_object(record, "responses")
        for name in by_question:
            yield from ((name, response) for response in take_objects(by_question, name))
        return
    for response in take_objects(record, "responses"):
        values = take_object(response, "values")
        for name, value in values.items():
            yield name, {**response, "value": check_object(value, "an answer").get("value")}


def _list_suggestions(record: Record) -> Iterator[tuple[Any, Record]]:
    """Yield question and suggestion."""
    if isinstance(record.get("suggestions"), dict):
        by_question = take_object(record, "suggestions")
        yield from ((name, take_object(by_question, name)) for name in by_question)
        return
    for suggestion in take_objects(record, "suggestions"):
        yield suggestion.get("question_name"), suggestion
