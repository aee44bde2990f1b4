"""One record per verdict: item, judge, label, as judgepanel and tables of `datasets` have them."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from unelisa.jury.fields import Record
from unelisa.jury.verdicts import Verdict
from unelisa.votes.frames import ITEM_NAMES, VOTE_NAMES, VOTER_NAMES

_ITEMS = ("item", "example", "example_id", "sample_id", "question_id", *ITEM_NAMES[1:])
_JUDGES = ("judge", "judge_id", "judge_model", "grader", "annotator_id", *VOTER_NAMES)
_MARKS = (*VOTE_NAMES, "verdict", "judgment", "rating", "score")
_SYSTEMS = ("system", "system_under_test", "candidate")
_GOLD = ("gold", "truth", "ground_truth", "gold_label")
COLUMNS = frozenset((*_ITEMS, *_JUDGES, *_MARKS, *_SYSTEMS, *_GOLD))


def fits(record: Record) -> bool:
    """Return whether a record names an item, a judge and a mark."""
    return None not in _find_keys(tuple(record))[:3]


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts, and the gold label where a record repeats it."""
    for record in records:
        keys = _find_keys(tuple(record))
        item, judge, mark, system, gold = (None if key is None else record[key] for key in keys)
        yield Verdict(item, "" if judge is None else judge, mark, system)
        if gold is not None:
            yield Verdict(item, None, gold, system)


@lru_cache(maxsize=32)  # all records of a file have the same keys, as a rule
def _find_keys(keys: tuple[str, ...]) -> tuple[str | None, ...]:
    """Return the keys of item, judge, mark, system and gold label, in any case; None if absent."""
    written = {key.lower(): key for key in keys}
    return tuple(
        next((written[name] for name in names if name in written), None)
        for names in (_ITEMS, _JUDGES, _MARKS, _SYSTEMS, _GOLD)
    )
