"""Files of reviews: every answer of every reviewer, appended in the order in which it was given.

Such a file has a column reviewer. It is read as one label per item: of each reviewer the last
answer counts, and of several reviewers the label that more than half of them give; where none is,
the label is unknown.
"""

import csv
import io
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from unelisa.errors import VotesError
from unelisa.memory import refuse_beyond
from unelisa.sources.text import TextTable

REVIEWER, CHOSEN = "reviewer", "chosen"
RANDOM, USEFUL = "random", "useful"  # how an item was chosen
ROW_BYTES = 300  # memory that a row takes, roughly

Item = TypeVar("Item", bound=Hashable)
Given = TypeVar("Given", bound=Hashable)


def settle_answers(
    answers: Iterable[tuple[Item, Given | None, str]],
) -> dict[Item, Given | None]:
    """Return one label per item, given (item, label, reviewer) in the order of answering.

    The label None withdraws the reviewer's earlier one. An item on which the reviewers do not agree
    has the label None.

    Examples
    --------
    >>> told = [("a", "yes", "ann"), ("b", "no", "ann"), ("b", "yes", "bob"), ("a", "no", "ann")]
    >>> settle_answers(told)
    {'a': 'no', 'b': None}
    """
    last: dict[Item, dict[str, Given | None]] = {}
    for item, label, reviewer in answers:
        last.setdefault(item, {})[reviewer] = label
    return {item: _find_majority(own) for item, own in last.items()}


def _find_majority(labels: Mapping[str, Given | None]) -> Given | None:
    counts = Counter(label for label in labels.values() if label is not None)
    for label, count in counts.most_common(1):
        return label if 2 * count > counts.total() else None
    return None


def settle_table(table: TextTable, item: str, label: str, sampled: bool = False) -> TextTable:
    """Return a file of reviews as a table with one row per item; any other table as it is.

    The columns besides the label are those of the item's first row. `sampled` keeps the items that
    were drawn at random, where a column chosen says which were.
    """
    if REVIEWER not in table.header:
        return table
    rows = list(list_rows(table, table.header))
    place = {name: k for k, name in enumerate(table.header)}
    who = place[REVIEWER]
    settled = settle_answers(
        (row[place[item]], row[place[label]] or None, row[who]) for row in rows
    )
    kept = {row[place[item]]: row for row in reversed(rows)}  # the first row of each item
    if CHOSEN in place:
        drawn = {row[place[item]] for row in rows if row[place[CHOSEN]] == RANDOM}
        if sampled and not drawn:
            raise VotesError(
                "its items were chosen because they are useful, not drawn at random, so they do "
                "not show how common a class is; label items with unelisa review --aim rate"
            )
        kept = {name: row for name, row in kept.items() if name in drawn or not sampled}
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(table.header)
    for name, row in reversed(kept.items()):
        writer.writerow([*row[: place[label]], settled[name] or "", *row[place[label] + 1 :]])
    return TextTable(table.path.with_suffix(".csv"), lines.getvalue().encode())


def list_rows(table: TextTable, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table, its cells as text without spaces around; "" where missing."""
    needed = 0
    for batch in table.batches(columns):
        needed += ROW_BYTES * batch.num_rows + 2 * batch.nbytes
        refuse_beyond(needed, table.path.name)
        cells = (column.fill_null("").to_pylist() for column in batch.columns)
        yield from zip(*(map(str.strip, column) for column in cells), strict=True)
