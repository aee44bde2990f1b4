"""Inspect AI: logs (.eval, .json) and the tables that `samples_df` returns; scorers are judges."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.documents import Record, require, take_first, take_list, take_object, take_objects
from unelisa.jury.grades import Failed, Letter
from unelisa.jury.verdicts import Verdict

SCORE = "score_"  # how the columns of scores begin in a table of samples
_LETTERS = frozenset("CIPN")
# why a score is missing although the scorer worked: the model under test gave nothing to score
_NOTHING = frozenset(("refusal", "no_response", "invalid_response_format"))
_UNEDITED = "UNCHANGED"
# of a sample whose scores do not count
_LOST = {"error": "the sample has an error", "invalidation": "the sample was invalidated"}
_GRADED, _ROLE = "model_graded", "grader"  # scorers that use the models of a role, and which
_DIGEST = 8  # characters
_COMPARED = 200  # characters of a sample's input that distinguish two data sets


def fits(record: Record) -> bool:
    """Return whether a record is a log, or a row of a table of samples."""
    log = "samples" in record and "eval" in record
    return log or ({"id", "epoch"} <= record.keys() and any(map(_is_score, record)))


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts of logs or of rows."""
    known: dict[str, dict[str, list[str]]] = {}  # by log: one of an archive is read in parts
    for record in records:
        if "samples" not in record:
            yield from _read_row(record)
            continue
        about = take_object(record, "eval")
        panels = known.setdefault(str(about.get("eval_id")), _list_panels(about))
        for sample in take_objects(record, "samples"):
            yield from _read_sample(sample, about, panels)


def digest(content: Any) -> str:
    """Return a few characters that stand for any content that JSON can hold."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_DIGEST]


def _is_score(column: str) -> bool:
    return column.startswith(SCORE)


def _read_row(row: Record) -> Iterator[Verdict]:
    system = take_first(row, ("model", "eval_id", "log"))
    repeat = take_first(row, ("sample_id",)) or f"{row.get('eval_id')} {row.get('epoch')}"
    item, task = require(row, ("id",)), row.get("task_name")
    base = Verdict(item, None, None, system, None, task, repeat)
    for column in filter(_is_score, row):
        mark = Failed("the sample has an error") if row.get("error") else row[column]
        yield from _read_value(column.removeprefix(SCORE), mark, base)


def _read_sample(sample: Record, about: Record, panels: dict[str, list[str]]) -> Iterator[Verdict]:
    """Yield the verdicts on a sample; one with an error has been judged by nobody."""
    item = require(sample, ("id",))
    parts = take_first(about, ("task_registry_name", "task")), take_object(about, "dataset")
    task = " ".join(str(x) for x in (parts[0], parts[1].get("name")) if x) or None
    given = sample.get("input")
    content = "" if given is None else digest(str(given)[:_COMPARED])
    repeat = sample.get("uuid") or f"{about.get('eval_id')} {sample.get('epoch')}"
    base = Verdict(item, None, None, about.get("model"), None, task, repeat, content)
    scores = take_object(sample, "scores")
    why = [reason for key, reason in _LOST.items() if sample.get(key)]
    if why:
        names = list(scores) or [str(one.get("name")) for one in take_objects(about, "scorers")]
        for judge in (one for name in names for one in panels.get(name) or [name]):
            yield base._replace(judge=judge, mark=Failed(why[0]))
        return
    for name in scores:
        yield from _read_score(name, take_object(scores, name), panels, base)


def _list_panels(about: Record) -> dict[str, list[str]]:
    found, roles = {}, take_object(about, "model_roles")  # several models may have one role
    for scorer in take_objects(about, "scorers"):
        options, name = take_object(scorer, "options"), str(scorer.get("name"))
        parts = options.get("model")
        if parts is None and name.startswith(_GRADED):
            parts = roles.get(str(options.get("model_role", _ROLE)))
        if not isinstance(parts, list):
            parts = [
                part.get("params", {}).get("model") or part.get("name")
                for part in take_list(options, "scorers")
                if isinstance(part, dict) and isinstance(part.get("params") or {}, dict)
            ]
        if len(parts) > 1:
            found[name] = _name_members(name, parts)
    return found


def _name_members(scorer: str, parts: list[Any]) -> list[str]:
    """Return scorer/model for each judge of a panel, numbered where one model judges twice."""
    names: list[str] = []
    for k, part in enumerate(parts, 1):
        model = part.get("model") if isinstance(part, dict) else part
        name = f"{scorer}/{model if isinstance(model, str) else k}"
        names.append(name if name not in names else f"{name} {k}")
    return names


def _read_score(
    name: str, score: Record, panels: dict[str, list[str]], base: Verdict
) -> Iterator[Verdict]:
    """Yield what a scorer says; of a panel every judge, and what a person edited as gold."""
    about, value = score.get("metadata"), score.get("value")
    about = about if isinstance(about, dict) else {}
    edits = take_objects(score, "history")
    changed = [edit for edit in edits if edit.get("value") != _UNEDITED]
    if changed and any(edit.get("provenance") for edit in edits):
        value, last = changed[0].get("value"), changed[-1]
        if last.get("provenance") and not isinstance(last.get("value"), dict | list):
            yield from _read_value(None, last.get("value"), base._replace(corrected=name))
        if changed[0].get("provenance"):  # a person gave the score, and no scorer
            return
    votes = take_object(about, "panel").get("votes")
    given = votes if isinstance(votes, list) else value
    if given == [] and given is votes:
        value = Failed("the panel has no votes")
    elif isinstance(given, list) and given:
        yield from _read_votes(name, given, panels, base)
        return
    reason = score.get("reason") or about.get("unscored_reason")
    missing = isinstance(value, float) and value != value  # noqa: PLR0124 - NaN
    if missing and reason not in _NOTHING:  # a grader failed that had something to score
        value = Failed(str(reason or "the grader failed").replace("_", " "))
    yield from _read_value(name, value, base)


def _read_votes(
    name: str, given: list[Any], panels: dict[str, list[str]], base: Verdict
) -> Iterator[Verdict]:
    """Yield the votes of a panel, whose first list tells how many judges it has."""
    names = panels.setdefault(name, _name_members(name, [None] * len(given)))
    if len(names) != len(given):  # `collect` drops what failed, so nobody's vote is known
        given = [Failed("a judge of the panel failed")] * len(names)
    for judge, vote in zip(names, given, strict=True):
        yield from _read_value(judge, Failed("the grader failed") if vote is None else vote, base)


def _read_value(judge: str | None, value: Any, base: Verdict) -> Iterator[Verdict]:
    """Yield the verdict; a scorer with several values is as many judges."""
    parts = [(judge, value)]
    if isinstance(value, dict) and value:
        parts = [(f"{judge}/{key}", part) for key, part in value.items()]
    for name, mark in parts:
        if isinstance(mark, str) and not isinstance(mark, Failed) and mark.strip() in _LETTERS:
            yield base._replace(judge=name, mark=Letter(mark.strip()))
        else:
            yield base._replace(judge=name, mark=mark)
