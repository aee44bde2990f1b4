"""One record per verdict: item, judge, label, as judgepanel and tables of `datasets` have them."""

from collections.abc import Iterable, Iterator, Sequence

from unelisa.frames import ITEM_NAMES, VOTE_NAMES, VOTER_NAMES
from unelisa.sources.jury.fields import Record
from unelisa.sources.jury.verdicts import Verdict

_ITEMS = ("item", "example", "example_id", "sample_id", "question_id", *ITEM_NAMES[1:])
_JUDGES = ("judge", "judge_id", "judge_model", "grader", "annotator_id", *VOTER_NAMES)
_MARKS = (*VOTE_NAMES, "verdict", "judgment", "rating", "score")
_SYSTEMS = ("system", "system_under_test", "candidate")
_GOLD = ("gold", "truth", "ground_truth", "gold_label")
COLUMNS = frozenset((*_ITEMS, *_JUDGES, *_MARKS, *_SYSTEMS, *_GOLD))


def fits(record: Record) -> bool:
    """Return whether a record names an item, a judge and a mark."""
    return all(_find(record, keys) is not None for keys in (_ITEMS, _JUDGES, _MARKS))


def read(records: Iterable[Record]) -> Iterator[Verdict]:
    """Yield the verdicts, and the gold label where a record repeats it."""
    for record in records:
        item, judge, mark, system, gold = (
            None if key is None else record[key]
            for key in (_find(record, keys) for keys in (_ITEMS, _JUDGES, _MARKS, _SYSTEMS, _GOLD))
        )
        yield Verdict(item, "" if judge is None else judge, mark, system)
        if gold is not None:
            yield Verdict(item, None, gold, system)


def _find(record: Record, keys: Sequence[str]) -> str | None:
    """Return the key of a record, in any case, that stands first in a list."""
    written = {key.lower(): key for key in record}
    return next((written[key] for key in keys if key in written), None)
