"""One record per verdict: item, judge, label, as judgepanel and tables of `datasets` have them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from unelisa.errors import Hint, VotesError
from unelisa.jury.documents import Record
from unelisa.jury.verdicts import Verdict
from unelisa.votes.frames import ITEM_NAMES, VOTE_NAMES, VOTER_NAMES

_ITEMS = ("item", "example", "example_id", "sample_id", "question_id", *ITEM_NAMES[1:])
_JUDGES = ("judge", "judge_id", "judge_model", "grader", "annotator_id", "annotators", *VOTER_NAMES)
_LABELS = (*VOTE_NAMES, "verdict", "judgment", "labels")
_MARKS = ("label", "verdict", "judgment", "labels")  # not an answer, which may be what is judged
_SCORES = ("score", "rating", "ratings")
_SYSTEMS = ("system", "system_under_test", "candidate")
_QUESTIONS = ("criterion", "dimension", "question_name", "metric", "aspect")
_TASKS = ("dataset", "suite", "task_name", "benchmark", "task")  # unless the items are tasks
_REPEATS, _DIGITS = ("epoch", "repeat"), 3  # of a repeat; longer ones are times
_MODEL = "model"  # of a judge, or the system
_GOLD = ("gold", "truth", "ground_truth", "gold_label")
_MARKED = (*_LABELS, *_SCORES)
_KINDS = (_ITEMS, _JUDGES, _MARKED, _SYSTEMS, _GOLD, _QUESTIONS, _TASKS, _REPEATS)
# where renamed
_WRITTEN = ("item", "judge", "label", "system", "gold", "criterion", "dataset", "epoch")
COLUMNS = frozenset((_MODEL, *(name for names in _KINDS for name in names)))


def fits(record: Record) -> bool:
    """Return whether a record names an item, a judge and a mark."""
    return None not in _find_keys(tuple(record))[:3]


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts, and the gold label where a record repeats it."""
    models: dict[str, Any] = {}
    for record in records:
        keys = _find_keys(tuple(record))
        _refuse_two(tuple(record))
        item, judge, mark, system, gold, question, task, repeat = (
            None if key is None else record[key] for key in keys
        )
        repeat = str(repeat).removesuffix(".0")
        repeat = repeat if repeat.isdigit() and len(repeat) <= _DIGITS else None
        model = None if keys[3] else record.get(_MODEL)
        if model is not None and models.setdefault(str(judge), model) != model:
            raise VotesError(
                "one judge judged answers of several models; say whether they are the systems",
                Hint("system", _MODEL),
            )
        asked = None if question is None else str(question)
        for one, said in _pair(judge, mark):
            yield Verdict(item, "" if one is None else one, said, system, asked, task, repeat)
        if gold is not None:
            yield Verdict(item, None, gold, system, asked, task, repeat)


def choose_fields(keys: tuple[str, ...], named: Mapping[str, str]) -> dict[str, str]:
    """Return the field of each kind: the one that was named, else the one with a usual name."""
    free = tuple(key for key in keys if key not in named.values())
    if not named.keys() & {"label", "score"}:
        _refuse_two(free)
    usual = dict(zip(_WRITTEN, _find_keys(free), strict=True))
    if "score" in named:
        usual["label"] = None
    return {kind: name for kind, name in usual.items() if name is not None} | dict(named)


def _pair(judge: Any, mark: Any) -> Iterator[tuple[Any, Any]]:
    """Yield judges and marks; of an item's row with lists, those at the same place."""
    if not isinstance(judge, list | tuple) or not isinstance(mark, list | tuple):
        yield judge, mark
        return
    if len(judge) != len(mark):
        raise VotesError("a row lists judges and labels of different numbers")
    yield from zip(judge, mark, strict=True)


@lru_cache(maxsize=32)  # all records of a file have the same keys, as a rule
def _find_keys(
    keys: tuple[str, ...], kinds: tuple[tuple[str, ...], ...] = _KINDS
) -> tuple[str | None, ...]:
    written = {key.lower(): key for key in keys}
    found: list[str | None] = []
    for names in kinds:
        present = (written[name] for name in names if name in written)
        found.append(next((name for name in present if name not in found[:1]), None))
    return tuple(found)


def _refuse_two(keys: tuple[str, ...]) -> None:
    """Raise `VotesError` if a record has two marks, such as a label and a score, or two items."""
    mark = _find_keys(keys)[2]
    found = [mark, *(key for key in keys if key != mark and key.lower() in (*_MARKS, *_SCORES))]
    if len(found) > 1 and mark is not None:
        kind = "label" if mark.lower() in _LABELS else "score"
        raise VotesError(
            f"the records have both {found[0]!r} and {found[1]!r}; choose one of them",
            *(Hint(kind, str(name)) for name in found[:2]),
        )
    written = Counter(key.lower() for key in keys)
    twins = [key for key in keys if written[key.lower()] > 1 and key.lower() in COLUMNS]
    if twins:
        raise VotesError(f"the records have both {twins[0]!r} and {twins[1]!r}; rename one")
