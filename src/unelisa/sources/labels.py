"""Known labels of items in a file: the truth to score against, or gold labels for `fit`.

A column reviewer makes it a file of answers: each reviewer's last one counts, and the label that
more than half of the reviewers give; without one the label is unknown.
"""

import csv
import io
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.memory import refuse_beyond
from unelisa.outputs import defuse_cell
from unelisa.sources.files import TextTable, reading
from unelisa.sources.tables import VoteTable
from unelisa.votes import Votes, name_unvoted
from unelisa.votes.blocks import WholeTable
from unelisa.votes.columns import spell_name
from unelisa.votes.frames import ITEM_NAMES, VOTE_NAMES, fold_name, is_header

Signs = NDArray[np.int8]
REVIEWER, CHOSEN = "reviewer", "chosen"
# how an item was chosen: in a stratified sample, for what its label teaches, with equal chances
RANDOM, USEFUL, DRAWN = "random", "useful", "drawn"
ROW_BYTES = 300  # memory that a row takes, roughly

Item = TypeVar("Item", bound=Hashable)
Given = TypeVar("Given", bound=Hashable)


LABEL_NAMES = (*VOTE_NAMES, "truth", "gold", "y")


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels of some items, together with the votes on them."""

    votes: Votes
    signs: Signs  # of each item in the codes of the votes (-1 / +1 for two classes), 0 if unknown
    unvoted_items: NDArray[Any]  # the labeled items without votes
    unvoted_signs: Signs

    def as_gold(self) -> NDArray[Any]:
        """Return one label per item of the votes, None if unknown: the y of `fit`."""
        return self.votes.name_codes(self.signs)

    def scored_votes(self) -> Votes:
        """Return the votes with empty rows for labeled items without: they lower the accuracy."""
        silent = len(self.unvoted_items)
        if silent == 0:
            return self.votes
        rows = np.zeros((silent, self.votes.n_voters), dtype=np.int8)
        values = np.asfortranarray(np.vstack([self.votes.values, rows]))
        items = np.concatenate([self.votes.items.astype(object), self.unvoted_items])
        return replace(self.votes, blocks=WholeTable(values), items=items)

    def scored_signs(self) -> Signs:
        """Return the labels of `scored_votes`, 0 if unknown."""
        return np.concatenate([self.signs, self.unvoted_signs])


class LabelTable(VoteTable):
    """A file of labels: one row per item, read as the votes of a single voter."""

    coding: tuple[Any, ...]  # the labels of the votes
    streams = False
    kept = ""  # only items that were chosen so are read, where a column says how

    def read(self) -> Votes:
        """Return the labels as votes, or raise `VotesError`."""
        with reading(self.path):
            table = self._open()
            item, label = self._pick_columns(table.header)
            if table.spelled:
                table = settle_table(table, item, label, self.kept)
                if not is_header(table.header) and self._read_label(label) in map(str, self.coding):
                    raise VotesError(
                        "it seems to have no header, since its first line contains a label; add a "
                        "line such as item,label"
                    )
            return self._read_wide(table, item, [label])

    def _read_label(self, text: str) -> str:
        own = [str(label) for label in self.coding]
        shielded = {defuse_cell(label): label for label in own}
        return text if text in own else shielded.get(text, text)

    def _pick_columns(self, present: list[str]) -> tuple[str, str]:
        item, label = (
            next((name for name in present if fold_name(name) in map(fold_name, usual)), None)
            for usual in (ITEM_NAMES, LABEL_NAMES)
        )
        if item is not None and label is not None:
            return item, label
        if len(present) == 2:
            return present[0], present[1]
        raise VotesError("it needs a column named item and a column named label")


class SampleTable(LabelTable):
    """A file of labels of a random sample: items that were chosen otherwise are left out."""

    kept = RANDOM


class DrawnTable(LabelTable):
    """A file of labels of items that were drawn with equal chances: others are left out."""

    kept = DRAWN


def read_labels(
    path: str | Path, votes: Votes, table_class: type[LabelTable] = LabelTable
) -> KnownLabels:
    """Return the labels in a file, matched to the votes by item name.

    Columns item and label for any subset of the items, or a file of reviews; an empty cell is
    unknown.
    """
    file = Path(path)
    try:
        table = table_class(file, votes.classes).read()
    except VotesError as error:
        found = error
        if votes.n_classes > 2 and "place" in error.about:
            found = name_unvoted(error)
        raise VotesError(f"{file.name} cannot be used as labels of these votes: {found}") from None
    rows = _find_items(table.items, votes.items)
    known = rows >= 0
    if not known.any():
        raise VotesError(f"{file.name} has none of the items of the votes; compare the two files")
    if len(np.unique(rows[known])) < known.sum():
        raise VotesError(f"{file.name} contains an item twice; keep one row per item")
    signs = np.zeros(votes.n_items, dtype=np.int8)
    given = table.values[:, 0]
    signs[rows[known]] = given[known]
    unvoted = ~known & (given != 0)
    return KnownLabels(votes, signs, table.items[unvoted].astype(object), given[unvoted])


def _find_items(named: NDArray[Any], items: NDArray[Any]) -> NDArray[np.intp]:
    place = {spell_name(name): i for i, name in enumerate(items.tolist())}
    shielded = {defuse_cell(text): i for text, i in place.items()}
    texts = list(map(spell_name, named.tolist()))
    bare = (shielded.get(text, place.get(text.removeprefix("'"), -1)) for text in texts)
    found = [place.get(text, other) for text, other in zip(texts, bare, strict=True)]
    return np.array(found, dtype=np.intp)


def list_last(
    answers: Iterable[tuple[Item, Given | None, str]],
) -> dict[Item, dict[str, Given | None]]:
    """Return each reviewer's last label of each item, from (item, label, reviewer) in order."""
    last: dict[Item, dict[str, Given | None]] = {}
    for item, label, reviewer in answers:
        last.setdefault(item, {})[reviewer] = label
    return last


def settle_answers(answers: Iterable[tuple[Item, Given | None, str]]) -> dict[Item, Given | None]:
    """Return one label per item from (item, label, reviewer) in order; None where they differ."""
    settled: dict[Item, Given | None] = {}
    for item, labels in list_last(answers).items():
        counts = Counter(label for label in labels.values() if label is not None)
        most, count = (*counts.most_common(1), (None, 0))[0]
        settled[item] = most if 2 * count > counts.total() else None
    return settled


_PURPOSES = {RANDOM: ("common a class is", "rate"), DRAWN: ("right the labels are", "certify")}


def settle_table(table: TextTable, item: str, label: str, chosen: str = "") -> TextTable:
    """Return a file of reviews with one row per item, those `chosen`; any other table as it is."""
    if REVIEWER not in table.header:
        return table
    rows = list(list_rows(table, table.header))
    place = {name: k for k, name in enumerate(table.header)}
    who = place[REVIEWER]
    settled = settle_answers(
        (row[place[item]], row[place[label]] or None, row[who]) for row in rows
    )
    kept = {row[place[item]]: row for row in reversed(rows)}  # the first row of each item
    if chosen and CHOSEN in place:
        drawn = {row[place[item]] for row in rows if row[place[CHOSEN]].split(" ")[0] == chosen}
        if not drawn:
            raise VotesError(
                "its items were chosen because they are useful, not drawn at random, so they do "
                f"not show how {_PURPOSES[chosen][0]}; label items with unelisa review --aim "
                f"{_PURPOSES[chosen][1]}"
            )
        kept = {name: row for name, row in kept.items() if name in drawn}
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(table.header)
    for name, row in reversed(kept.items()):
        writer.writerow([*row[: place[label]], settled[name] or "", *row[place[label] + 1 :]])
    return TextTable(table.path.with_suffix(".csv"), lines.getvalue().encode())


def read_design(path: Path) -> str:
    """Return the design by which gold labels in a file were drawn; "random" where it names none."""
    with reading(path):
        table = LabelTable(path, ())._open()
        if not table.spelled or CHOSEN not in table.header:
            return RANDOM
        found = {how for (how,) in list_rows(table, (CHOSEN,)) if how.startswith(f"{DRAWN} ")}
    if len(found) > 1:
        raise VotesError(f"{path.name} holds items of {len(found)} draws; keep those of one")
    return found.pop() if found else RANDOM


def list_rows(table: TextTable, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table, its cells as text without spaces around; "" where missing."""
    needed = 0
    for batch in table.batches(columns):
        needed += ROW_BYTES * batch.num_rows + 2 * batch.nbytes
        refuse_beyond(needed, table.path.name)
        cells = (column.fill_null("").to_pylist() for column in batch.columns)
        yield from zip(*(map(str.strip, column) for column in cells), strict=True)
