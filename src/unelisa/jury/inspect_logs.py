"""Inspect AI: logs (.eval, .json) and the tables that `samples_df` returns; scorers are judges."""

from collections.abc import Iterable, Iterator
from typing import Any

from unelisa.jury.fields import Record, require, take_first, take_object, take_objects
from unelisa.jury.grades import PARTIAL
from unelisa.jury.verdicts import Verdict

SCORE = "score_"  # how the columns of scores begin in a table of samples
_LETTERS = {"C": True, "I": False, "P": PARTIAL, "N": None}  # N: the model gave no answer

_FIRST = ("None", "1", "1.0")  # the first epoch, as logs and tables write it


def fits(record: Record) -> bool:
    """Return whether a record is a log, or a row of a table of samples."""
    log = "samples" in record and "eval" in record
    return log or ({"id", "epoch"} <= record.keys() and any(map(_is_score, record)))


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts of logs or of rows."""
    for record in records:
        if "samples" in record:
            yield from _read_log(record)
        else:
            scores = {key.removeprefix(SCORE): record[key] for key in record if _is_score(key)}
            yield from _read_scores(record, scores, take_first(record, ("model", "eval_id", "log")))


def _is_score(column: str) -> bool:
    return column.startswith(SCORE)


def _read_log(log: Record) -> Iterator[Verdict]:
    about = take_object(log, "eval")
    for sample in take_objects(log, "samples"):
        scores = take_object(sample, "scores")
        marks = {name: take_object(scores, name).get("value") for name in scores}
        yield from _read_scores(sample, marks, about.get("model"))


def _read_scores(sample: Record, marks: Record, system: Any) -> Iterator[Verdict]:
    """Yield the verdicts on a sample; a scorer with several values is as many judges."""
    item, epoch = require(sample, ("id",)), sample.get("epoch")
    item = item if str(epoch) in _FIRST else f"{item} epoch {epoch}"
    for judge, mark in marks.items():
        parts = {f"{judge}/{key}": part for key, part in mark.items()} if _has_parts(mark) else {}
        for name, value in (parts or {judge: mark}).items():
            known = isinstance(value, str) and value.strip() in _LETTERS
            yield Verdict(item, name, _LETTERS[value.strip()] if known else value, system)


def _has_parts(mark: Any) -> bool:
    return isinstance(mark, dict) and bool(mark)
