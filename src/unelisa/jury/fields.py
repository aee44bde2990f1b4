"""Parts of a record, checked: what is absent or of another kind becomes one sentence."""

from collections.abc import Sequence
from typing import Any

from unelisa.errors import VotesError

Record = dict[str, Any]
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def take_object(record: Record, key: str) -> Record:
    """Return the object under a key, empty where it is absent or null."""
    return _take(record, key, dict) or {}


def take_list(record: Record, key: str) -> list[Any]:
    """Return the list under a key, empty where it is absent or null."""
    return _take(record, key, list) or []


def take_objects(record: Record, key: str) -> list[Record]:
    """Return the list of objects under a key, empty where it is absent or null."""
    found = take_list(record, key)
    for part in found:
        check_object(part, f"every part of {key!r}")
    return found


def check_object(value: Any, what: str) -> Record:
    """Return a value that must be an object, or raise `VotesError`."""
    if not isinstance(value, dict):
        raise VotesError(f"{what} must be an object, found {_name_kind(value)}")
    return value


def take_first(record: Record, keys: Sequence[str]) -> Any:
    """Return the first value that is present and not null; None if there is none."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def require(record: Record, keys: Sequence[str]) -> Any:
    """Return the first value that is present and not null, or raise `VotesError`."""
    found = take_first(record, keys)
    if found is None:
        listed = " or ".join(repr(key) for key in keys)
        raise VotesError(f"it has no {listed}")
    return found


def _take(record: Record, key: str, kind: type) -> Any:
    value = record.get(key)
    if value is not None and not isinstance(value, kind):
        raise VotesError(f"{key!r} must be {_KINDS[kind]}, found {_name_kind(value)}")
    return value


def _name_kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")
