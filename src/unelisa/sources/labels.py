"""Known labels of items in a file: the truth to score against, or gold labels for `fit`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.outputs import defuse_cell
from unelisa.sources.reviews import settle_table
from unelisa.sources.tables import VoteTable
from unelisa.sources.text import TextTable
from unelisa.votes import Votes, name_unvoted
from unelisa.votes.blocks import WholeTable
from unelisa.votes.frames import ITEM_NAMES, VOTE_NAMES, is_header

Signs = NDArray[np.int8]

LABEL_NAMES = (*VOTE_NAMES, "truth", "gold", "y")


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels of some items, together with the votes on them.

    Attributes
    ----------
    votes
        The votes.
    signs
        The label of each item in the codes of the votes (-1 / +1 for two classes), 0 if unknown.
    unvoted_items, unvoted_signs
        The labeled items without votes.
    """

    votes: Votes
    signs: Signs
    unvoted_items: NDArray[Any]
    unvoted_signs: Signs

    def as_gold(self) -> NDArray[Any]:
        """Return one label per item of the votes, None if unknown: the y of `fit`."""
        return self.votes.name_codes(self.signs)

    def scored_votes(self) -> Votes:
        """Return the votes with an empty row for every labeled item without votes.

        Methods are scored on those items too; omitting them would overstate every accuracy.
        """
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
    sampled = False  # whether only items that were drawn at random are read

    def _read_text(self) -> Votes:
        table = TextTable(self.path)
        item, label = self._pick_columns(table.header)
        table = settle_table(table, item, label, self.sampled)
        if not is_header(table.header) and self._read_label(label) in map(str, self.coding):
            raise VotesError(
                "it seems to have no header, since its first line contains a label; add a line "
                "such as item,label"
            )
        return self._read_wide(table, [label], item)

    def _read_label(self, text: str) -> str:
        """Return a label without the apostrophe that protects it from spreadsheets."""
        own = [str(label) for label in self.coding]
        shielded = {defuse_cell(label): label for label in own}
        return text if text in own else shielded.get(text, text)

    def _of_frame(self, frame: Any) -> Votes:
        item, label = self._pick_columns(list(frame.column_names))
        return Votes.of(frame.select([item, label]), self.coding, item=item)

    def _pick_columns(self, present: list[str]) -> tuple[str, str]:
        """Return the item and label columns: by their usual names, or the only two columns."""
        item = next((name for name in present if name.lower() in ITEM_NAMES), None)
        label = next((name for name in present if name.lower() in LABEL_NAMES), None)
        if item is not None and label is not None:
            return item, label
        if len(present) == 2:
            return present[0], present[1]
        raise VotesError("it needs a column named item and a column named label")


class SampleTable(LabelTable):
    """A file of labels of a random sample: items that were chosen otherwise are left out."""

    sampled = True


def read_labels(
    path: str | Path, votes: Votes, table_class: type[LabelTable] = LabelTable
) -> KnownLabels:
    r"""Return the labels in a file, matched to the votes by item name.

    The file is CSV, Parquet or Feather as in `read_votes`, with columns item and label, for any
    subset of the items; the labels are those of the votes, and an empty cell means unknown. The
    file that `unelisa review` writes, with several rows per item, is settled to one label each. A
    subclass of `LabelTable` may know other words for the labels, or leave out items.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> names = np.array(["a", "b"]), np.array(["v"])
    >>> votes = Votes.of_values(np.array([[1], [-1]], dtype=np.int8), *names)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "truth.csv"
    >>> _ = file.write_text("item,label\nb,-1\nc,1\n")
    >>> read_labels(file, votes).scored_signs()
    array([ 0, -1,  1], dtype=int8)
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
    """Return the index of each named item, -1 if it is absent.

    Our own label files protect items such as =1+1 from spreadsheets by apostrophes.
    """
    place = {str(name): i for i, name in enumerate(items.tolist())}
    shielded = {defuse_cell(text): i for text, i in place.items()}
    texts = list(map(str, named.tolist()))
    bare = (shielded.get(text, place.get(text.removeprefix("'"), -1)) for text in texts)
    found = [place.get(text, other) for text, other in zip(texts, bare, strict=True)]
    return np.array(found, dtype=np.intp)
