"""Columns of a wide table that are no votes: the names of the items, minutes, comments, dates.

Voters share their labels. A column whose labels nobody else uses is something else; it is left out
where it can only be the names of the items, and refused by name otherwise.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from unelisa.errors import Hint, VotesError
from unelisa.votes.coding import MAX_CLASSES, CodingChoice, Declared
from unelisa.votes.columns import Column, Label
from unelisa.votes.frames import ColumnNames, choose_voters

_MOMENT = re.compile(r"\d{4}-\d\d?-\d\d?\b.*|\d\d?[./]\d\d?[./]\d{2,4}\b.*|\d\d?:\d\d(:\d\d)?.*")
FEWEST = 3  # labels of one's own: two may be the answers of a voter whom nobody follows


def find_item(
    present: Sequence[str],
    named: ColumnNames,
    coding: CodingChoice,
    read: Callable[[str], Column],
) -> str | None:
    """Return the first column of a wide table if it names the items, else None.

    It does if all its cells are different, none is a label of a voter or a declared one, and they
    are texts or whole numbers; whole numbers must be twice as many as the labels of all voters.
    """
    first = present[0] if present else ""
    voters = [name for name in choose_voters(present, named) if name != first]
    if not voters or first in (*(named.voters or ()), *named.drop):
        return None
    column = read(first)
    names = column.distinct()
    if len(names) < max(FEWEST, len(column)) or any(map(_is_measure, names)):
        return None
    declared = coding.labels if isinstance(coding, Declared) else coding
    labels = set(declared if isinstance(declared, tuple | list) else ())
    labels |= set().union(*(read(name).distinct() for name in voters))
    apart = not names & labels and (all(map(_is_text, names)) or len(names) >= 2 * len(labels))
    return first if apart else None


def refuse_strangers(
    columns: Sequence[Column],
    labels: Sequence[set[Label]],
    titles: Sequence[str],
    names: Sequence[Any],
) -> None:
    """Raise `VotesError` for columns that are no votes, given their distinct labels.

    Messages call them by their `titles`, and advise to drop them where these are their names.
    """
    if len(columns) < 2 or len(set().union(*labels)) <= 2:
        return
    times = Counter(label for own in labels for label in own)
    measures = [s for s, own in enumerate(labels) if any(map(_is_measure, own))]
    odd = {s for s in range(len(labels)) if _is_strange(labels[s], times, columns[s], len(labels))}
    if 2 * len(measures) < len(columns):
        odd.update(measures)
    if not odd or len(odd) == len(columns):
        return
    told = [titles[s] for s in sorted(odd)]
    more = f" and {len(told) - 5} more" if len(told) > 5 else ""
    hints = []
    if all(title == repr(str(names[s])[:60]) for s, title in zip(sorted(odd), told, strict=True)):
        dropped = [str(names[s]) for s in sorted(odd)]
        hints = [Hint("drop", dropped, "to leave out what holds no votes")]
        hints += [Hint("item", dropped[0], "if it names the items")] if 0 in odd else []
    raise VotesError(
        f"column{'' if len(odd) == 1 else 's'} {', '.join(told[:5])}{more} can hardly hold votes: "
        "no other column has such labels",
        *hints,
    )


def _is_strange(own: set[Label], times: Counter[Label], column: Column, n_columns: int) -> bool:
    """Return whether the labels of a column are nobody else's.

    Two labels, or a constant, may be a voter's; they are strange on most rows, beside others who
    share theirs.
    """
    alone = sum(times[label] == 1 for label in own)
    if len(own) > MAX_CLASSES or (alone >= FEWEST and alone == len(own)):
        return True
    if n_columns < 3 or max(times.values()) < 2:
        return False
    if alone >= FEWEST and 2 * alone > len(own):
        return True
    cast = sum(column.count(label) for label in own)
    return 0 < alone == len(own) and 2 * cast >= len(column) >= 2 * FEWEST


def _is_text(label: Label) -> bool:
    return isinstance(label, str) and not label.lstrip("-").isdigit()


def _is_measure(label: Label) -> bool:
    """Return whether a label is a fraction, or a date or a time of day."""
    if isinstance(label, str):
        if _MOMENT.fullmatch(label):
            return True
        try:
            label = float(label)
        except ValueError:
            return False
    if isinstance(label, float):
        return math.isfinite(label) and not label.is_integer()
    return hasattr(label, "isoformat")
