"""Argilla: exported records, nested or flattened; people who responded vote, and so do agents."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import (
    Record,
    check_object,
    require,
    take_list,
    take_object,
    take_objects,
)
from unelisa.jury.grades import Choices
from unelisa.jury.verdicts import Ranking, Verdict

_COUNTED = (None, "submitted")  # the status of a response that counts; some exports omit it
_USERS, _STATUS, _AGENT = ".responses.users", ".responses.status", ".suggestion.agent"


def fits(record: Record) -> bool:
    """Return whether a record has fields and responses, or flattened ones."""
    flat = any(key.endswith((_USERS, _AGENT)) for key in record)
    return flat or {"fields", "responses"} <= record.keys()


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts; drafts and discarded responses are abstentions."""
    for record in records:
        item = require(record, ("external_id", "id"))
        nested = "responses" in record
        system = (take_object(record, "metadata") if nested else record).get("system")
        for name, judge, value in _list_nested(record) if nested else _list_flat(record):
            yield Verdict(item, judge, _read_value(value), system, name, record.get("dataset_id"))


def _read_value(value: Any) -> Any:
    """Return several labels as choices, and options with ranks as a ranking."""
    if not isinstance(value, list):
        return value
    if all(isinstance(part, str) for part in value):
        return Choices(value)
    ranked = all(isinstance(part, dict) and isinstance(part.get("rank"), int) for part in value)
    return Ranking((part.get("value"), part["rank"]) for part in value) if ranked else value


def _list_nested(record: Record) -> Iterator[tuple[Any, Any, Any]]:
    """Yield question, judge and value: of `to_dict`, by question; of the server, by person."""
    for name, response in _list_responses(record):
        counted = response.get("status") in _COUNTED
        judge = require(response, ("user_id", "user"))
        yield name, judge, response.get("value") if counted else None
    if isinstance(record.get("suggestions"), dict):
        by_question = take_object(record, "suggestions")
        suggestions: list[Any] = [(name, take_object(by_question, name)) for name in by_question]
    else:
        listed = take_objects(record, "suggestions")
        suggestions = [(one.get("question_name"), one) for one in listed]
    for name, suggestion in suggestions:
        if suggestion.get("agent"):
            yield name, suggestion["agent"], suggestion.get("value")


def _list_responses(record: Record) -> Iterator[tuple[Any, Record]]:
    if isinstance(record.get("responses"), dict):
        by_question = take_object(record, "responses")
        for name in by_question:
            yield from ((name, response) for response in take_objects(by_question, name))
        return
    for response in take_objects(record, "responses"):
        for name, value in take_object(response, "values").items():
            yield name, {**response, "value": check_object(value, "an answer").get("value")}


def _list_flat(record: Record) -> Iterator[tuple[Any, Any, Any]]:
    """Yield question, judge and value of a record whose keys are joined by dots."""
    for key in record:
        if key.endswith(_USERS):
            name = key.removesuffix(_USERS)
            users, values = take_list(record, key), take_list(record, f"{name}.responses")
            states = take_list(record, f"{name}{_STATUS}") or [None] * len(users)
            for user, value, state in zip(users, values, states, strict=False):
                yield name, user, value if state in _COUNTED else None
        elif key.endswith(_AGENT) and record[key]:
            name = key.removesuffix(_AGENT)
            yield name, record[key], record.get(f"{name}.suggestion")
