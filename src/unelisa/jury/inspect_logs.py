"""Inspect AI: logs (.eval, .json) and the tables that `samples_df` returns; scorers are judges."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, require, take_first, take_list, take_object, take_objects
from unelisa.jury.grades import Failed, Letter
from unelisa.jury.verdicts import Verdict

SCORE = "score_"  # how the columns of scores begin in a table of samples
_LETTERS = frozenset("CIPN")
# why a score is missing although the scorer worked: the model under test gave nothing to score
_NOTHING = frozenset(("refusal", "no_response", "invalid_response_format"))
_UNEDITED = "UNCHANGED"
_DIGEST = 8  # characters
_COMPARED = 200  # characters of a sample's input that tell two data sets apart


def fits(record: Record) -> bool:
    """Return whether a record is a log, or a row of a table of samples."""
    log = "samples" in record and "eval" in record
    return log or ({"id", "epoch"} <= record.keys() and any(map(_is_score, record)))


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts of logs or of rows."""
    for record in records:
        if "samples" not in record:
            yield from _read_row(record)
            continue
        about = take_object(record, "eval")
        panels = _list_panels(about)
        for sample in take_objects(record, "samples"):
            yield from _read_sample(sample, about, panels)


def digest(content: Any) -> str:
    """Return a few characters that stand for any content that JSON can hold."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_DIGEST]


def _is_score(column: str) -> bool:
    return column.startswith(SCORE)


def _read_row(row: Record) -> Iterator[Verdict]:
    """Yield the verdicts of a row of `samples_df`."""
    system = take_first(row, ("model", "eval_id", "log"))
    place = (require(row, ("id",)), system, row.get("task_name"))
    repeat = take_first(row, ("sample_id",)) or f"{row.get('eval_id')} {row.get('epoch')}"
    for column in filter(_is_score, row):
        mark = Failed("the sample has an error") if row.get("error") else row[column]
        yield from _read_value(column.removeprefix(SCORE), mark, place, ("", repeat))


def _read_sample(sample: Record, about: Record, panels: dict[str, list[str]]) -> Iterator[Verdict]:
    """Yield the verdicts on a sample; one with an error has been judged by nobody."""
    item = require(sample, ("id",))
    task = take_first(about, ("task_registry_name", "task"))
    dataset = take_object(about, "dataset").get("name")
    place = (item, about.get("model"), " ".join(str(x) for x in (task, dataset) if x) or None)
    epoch = f"{about.get('eval_id')} {sample.get('epoch')}"
    given = sample.get("input")
    content = "" if given is None else digest(str(given)[:_COMPARED])
    identity = content, sample.get("uuid") or epoch
    scores = take_object(sample, "scores")
    if sample.get("error"):
        names = list(scores) or [str(one.get("name")) for one in take_objects(about, "scorers")]
        for name in names:
            for judge in panels.get(name) or [name]:
                yield _place(judge, Failed("the sample has an error"), place, identity)
        return
    for name in scores:
        yield from _read_score(
            name, take_object(scores, name), panels.get(name, []), place, identity
        )


def _list_panels(about: Record) -> dict[str, list[str]]:
    """Return the judges of every scorer that is a panel, by the names of their models."""
    found = {}
    for scorer in take_objects(about, "scorers"):
        options = take_object(scorer, "options")
        parts = options.get("model")
        if not isinstance(parts, list):
            parts = [
                part.get("params", {}).get("model") or part.get("name")
                for part in take_list(options, "scorers")
                if isinstance(part, dict) and isinstance(part.get("params") or {}, dict)
            ]
        if len(parts) > 1:
            found[str(scorer.get("name"))] = _name_members(str(scorer.get("name")), parts)
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
    name: str, score: Record, panel: list[str], place: tuple[Any, ...], identity: tuple[str, Any]
) -> Iterator[Verdict]:
    """Yield what a scorer says; of a panel every judge, and what a person edited as gold."""
    about, value = score.get("metadata"), score.get("value")
    edits = take_objects(score, "history")
    if any(edit.get("provenance") for edit in edits):
        changed = [edit.get("value") for edit in edits if edit.get("value") != _UNEDITED]
        value = changed[0] if changed else value
        if len(changed) > 1 and not isinstance(changed[-1], dict | list):
            yield from _read_value(None, changed[-1], place, identity)
    votes = take_object(about if isinstance(about, dict) else {}, "panel").get("votes")
    if isinstance(votes, list) or (isinstance(value, list) and value):
        given: list[Any] = list(votes if isinstance(votes, list) else value or ())
        names = panel or _name_members(name, [None] * len(given))
        if len(names) != len(given):  # `collect` drops what failed, so nobody's vote is known
            given = [Failed("a judge of the panel failed")] * len(names)
        for judge, vote in zip(names, given, strict=True):
            mark = Failed("the grader failed") if vote is None else vote
            yield from _read_value(judge, mark, place, identity)
    else:
        yield from _read_value(name, _explain(value, score), place, identity)


def _explain(value: Any, score: Record) -> Any:
    """Return the value; a missing one as a failure, unless there was nothing to score."""
    missing = isinstance(value, float) and value != value  # noqa: PLR0124 - NaN
    about = score.get("metadata")
    reason = score.get("reason") or (
        about.get("unscored_reason") if isinstance(about, dict) else None
    )
    if not missing or reason in _NOTHING:
        return value
    return Failed("the grader failed" if reason is None else str(reason).replace("_", " "))


def _read_value(
    judge: str | None, value: Any, place: tuple[Any, ...], identity: tuple[str, Any]
) -> Iterator[Verdict]:
    """Yield the verdict; a scorer with several values is as many judges."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield _place(f"{judge}/{key}", part, place, identity)
    else:
        yield _place(judge, value, place, identity)


def _place(
    judge: str | None, mark: Any, place: tuple[Any, ...], identity: tuple[str, Any]
) -> Verdict:
    if isinstance(mark, str) and not isinstance(mark, Failed) and mark.strip() in _LETTERS:
        mark = Letter(mark.strip())
    item, system, task = place
    return Verdict(item, judge, mark, system, None, task, identity[1], identity[0])
