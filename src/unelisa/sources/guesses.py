"""What to say of a table that cannot be read as it stands: which columns hold what, by their cells.

Messages name columns, never cells.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from unelisa.errors import Hint, VotesError
from unelisa.votes.frames import ITEM_NAMES, VOTE_NAMES, VOTER_NAMES, fold_name, list_names

ROWS, COLUMNS = 2000, 8  # that are looked at
MOST_LABELS = 20
LEAST_ROWS = 9
DAY = re.compile(r"\d{4}-\d\d?-\d\d?(\D|$)|\d\d?[./]\d\d?[./]\d{4}(\D|$)")

Cells = Mapping[str, Sequence[str]]  # by column


def explain_table(cells: Cells, error: VotesError) -> VotesError:
    """Return the error of reading a table as wide, or a better one where the cells show why."""
    if any(name in own for name, own in cells.items()):
        return error  # the first line may be a record, whose cells no message repeats
    roles = find_roles(cells)
    if roles:
        said = "the table has one row per vote, in columns with other names than item, voter, vote"
        return VotesError(said, Hint("columns", roles))
    numbers = find_numbers(cells)
    if numbers and error.message.startswith("votes mix"):
        many = "column holds" if len(numbers) == 1 else "columns hold"
        said = f"{many} numbers where others hold labels: {list_names(numbers)}"
        return VotesError(said, Hint("drop", numbers, "to leave out what holds no votes"))
    return error


def find_roles(cells: Cells) -> dict[str, str]:
    """Return the columns of items, voters and votes of a long table; none where that is unsure.

    No voter has two votes on an item, there are more items than voters, items and voters occur
    again and again, and there are few labels. Usual names are preferred, then few labels.
    """
    names = list(cells)[:COLUMNS]
    kinds = {name: len(set(cells[name])) for name in names}
    n_rows = len(cells[names[0]]) if names else 0
    usual = [set(map(fold_name, some)) for some in (ITEM_NAMES, VOTER_NAMES, VOTE_NAMES)]
    found = []
    for three in permutations(names, 3) if n_rows >= LEAST_ROWS else ():
        item, voter, vote = three
        repeated = 3 * kinds[item] <= 2 * n_rows and 3 * kinds[voter] <= n_rows
        few = 2 <= kinds[vote] <= min(MOST_LABELS, n_rows // 4)
        if repeated and few and kinds[item] > kinds[voter] > 1:
            pairs = len(set(zip(cells[item], cells[voter], strict=True)))
            known = sum(fold_name(x) in some for x, some in zip(three, usual, strict=True))
            if pairs >= 0.98 * n_rows and not _depends_on(cells[vote], cells[item]):
                found.append((-known, kinds[vote], tuple(map(names.index, three)), three))
    return dict(zip(("item", "voter", "vote"), min(found)[-1], strict=True)) if found else {}


def refuse_dates(classes: Sequence[Any], title: str) -> None:
    """Raise `VotesError` where all labels, more than two, are days or moments."""
    if len(classes) > 2 and all(DAY.match(str(label)) for label in classes):
        raise VotesError(
            f"column {title} holds dates, not votes; pass the name of the column of votes as vote "
            "(--vote)"
        )


def _depends_on(labels: Sequence[str], items: Sequence[str]) -> bool:
    """Return whether a column says the same wherever an item occurs, as its source or text does."""
    return len(set(zip(items, labels, strict=True))) == len(set(items))


def find_numbers(cells: Cells) -> list[str]:
    """Return the columns of numbers with fractions, where two columns or more hold words."""
    kinds = {name: {_read_kind(cell) for cell in own if cell} for name, own in cells.items()}
    words = [name for name, kind in kinds.items() if kind == {"word"}]
    numbers = [name for name, kind in kinds.items() if "fraction" in kind and "word" not in kind]
    return numbers if len(words) >= 2 else []


def _read_kind(cell: str) -> str:
    try:
        number: Any = float(cell.replace(",", "."))
    except ValueError:
        return "word"
    return "whole" if number.is_integer() else "fraction"
