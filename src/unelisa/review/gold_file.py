"""The file of a review: one row per answer, on disk before the next item is shown.

Rows are only ever appended; a changed answer is a new row, and `sources.labels` says which count.
Several reviewers may write at the same time: each takes its turn, reads what the others wrote, and
claims the item that it asks about. A process that is killed leaves at most a torn last line, which
the next turn cuts off; a whole row that lacks its line feed stays.
"""

import csv
import errno
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.outputs import defuse_cell, find_target, write_table
from unelisa.review.journal import SharedJournal, share_journal

LONGEST_NOTE = 2000  # characters
LONGEST_NAME = 60
LONGEST_ITEM = 10_000
# no text: tables with them cannot be read, and terminals obey them
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Answer(NamedTuple):
    """What one reviewer said of one item."""

    item: int  # its place among the items
    label: int | None  # the place of the label among the classes; None: skipped
    reviewer: str
    chosen: str  # how the item was chosen, or the share of similar ones that was drawn
    note: str = ""


class GoldFile:
    """All answers so far, and where the next one goes; made by `open_gold`."""

    def __init__(
        self, path: Path, items: NDArray[Any], classes: Sequence[Any], header: Sequence[str]
    ) -> None:
        self.path = path
        self.answers: list[Answer] = []
        self._items, self._classes, self._header = items, classes, _write_row(header)
        self._journal: SharedJournal
        self._claimed: int | None = None
        self._rows = 0

    @contextmanager
    def turn(self) -> Iterator[list[Answer]]:
        """Keep other reviewers from writing; yield what they answered since the last turn.

        `ModelError` if the file is not the one that was opened, is not as it was, or stays locked.
        """
        with ExitStack() as held:
            try:
                text = held.enter_context(self._journal.turn())
            except OSError as error:
                raise ModelError(_refuse(self.path.name, error)) from None
            new = list(self._read(text))
            self.answers += new
            yield new

    def add(self, answer: Answer) -> None:
        """Append an answer in one's turn; it is on disk when this returns."""
        label = "" if answer.label is None else str(self._classes[answer.label])
        cells = str(self._items[answer.item]), label, *answer[2:]
        self._journal.append(_write_row(cells))
        self._rows += 1
        self.answers.append(answer)

    def claim(self, item: int) -> bool:
        """Return whether no other process asks about an item; then this one does, and no other."""
        if not self._journal.claim(item):
            return False
        if self._claimed is not None and self._claimed != item:
            self._journal.release(self._claimed)
        self._claimed = item
        return True

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open the file, read the answers of earlier reviews; add the header to an empty file."""
        with ExitStack() as opened:
            try:
                self._journal = opened.enter_context(share_journal(self.path, self._is_whole))
                with self.turn():
                    if not self._rows:
                        self._journal.append(self._header)
                        self._rows = 1
            except OSError as error:
                raise ModelError(f"cannot write {self.path.name}: {error.strerror}") from None
            yield

    def _is_whole(self, line: bytes) -> bool:
        """Return whether a line lacks nothing but its line feed: a header, or an answer."""
        if not self._rows and line == self._header.rstrip(b"\n"):
            return True
        try:
            (row,) = csv.reader([line.decode("utf-8")], strict=True)
        except (ValueError, csv.Error):
            return False
        return self._is_answer(row)

    def _is_answer(self, row: Sequence[str]) -> bool:
        items, labels = self._places
        return len(row) == len(Answer._fields) and row[0] in items and row[1] in labels

    def _read(self, text: bytes) -> Iterator[Answer]:
        """Yield the answers of whole lines; the first line of the file is its header."""
        try:
            rows = list(csv.reader(io.StringIO(text.decode("utf-8"), newline="")))
        except (ValueError, csv.Error):
            raise ModelError(
                f"{self.path.name} is not the UTF-8 text that a review wrote; name a new file"
            ) from None
        for row in rows:
            self._rows += 1
            if self._rows == 1:
                continue  # before a million names are looked at
            if not self._is_answer(row):
                raise ModelError(
                    f"row {self._rows} of {self.path.name} has an item or a label that these votes "
                    "do not have; continue with the votes of that review, or name a new file"
                )
            items, labels = self._places
            yield Answer(items[row[0]], labels[row[1]], *row[2:])

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, int | None]]:
        """The places of items and of labels, by what the file has for them."""
        items = {defuse_cell(str(name)): i for i, name in enumerate(self._items.tolist())}
        labels = {defuse_cell(str(label)): k for k, label in enumerate(self._classes)}
        return items, {**labels, "": None}


@contextmanager
def open_gold(
    path: Path, items: NDArray[Any], classes: Sequence[Any], header: Sequence[str]
) -> Iterator[GoldFile]:
    """Open a file of gold labels, new or of an earlier review, which then continues."""
    _check_file(path, header)
    _check_names(items.tolist(), "an item")
    _check_names(classes, "a label")
    gold = GoldFile(path, items, classes, header)
    with gold.open():
        yield gold


def _refuse(name: str, error: OSError) -> str:
    """Return what happened to a file, and what to do."""
    told = f"{name} {error.strerror}, so nothing can be saved"
    if error.errno == errno.EAGAIN:
        return f"{told}; try again when that program, such as a backup, has ended"
    if error.errno == errno.ESTALE:
        return f"{told}; start this review again, which continues with the answers in the file"
    return f"{name} cannot be read ({error.strerror}), so nothing can be saved"


def clean_note(note: str) -> str:
    r"""Return a note as one line of limited length.

    Examples
    --------
    >>> clean_note(" two\nlines ")
    'two lines'
    """
    return _clean(note)[:LONGEST_NOTE]


def clean_name(name: str) -> str:
    """Return a reviewer's name as it is written into the file."""
    cleaned = str(defuse_cell(_clean(name)))
    seen = any(unicodedata.category(letter) != "Cf" for letter in cleaned)
    if not seen or len(cleaned) > LONGEST_NAME:
        raise ModelError(f"a reviewer's name must have 1 to {LONGEST_NAME} characters")
    return cleaned


def _clean(text: str) -> str:
    return _CONTROLS.sub("", " ".join(text.split()))


def _check_names(names: Sequence[Any], what: str) -> None:
    """Refuse names that a row cannot hold, and two that a spreadsheet shows alike."""
    texts = list(map(str, names))
    if any("\n" in text or "\r" in text or len(text) > LONGEST_ITEM for text in texts):
        raise ModelError(
            f"{what} has a line break or more than {LONGEST_ITEM:,} characters in its name; rename "
            "it for the review"
        )
    written = {text: defuse_cell(text) for text in texts}
    changed = {text for text, cell in written.items() if cell != text}
    if any(written[text] in written for text in changed):
        raise ModelError(
            f"{what} is named like a formula, and another like that in quotes; rename one"
        )


def _write_row(cells: Sequence[str]) -> bytes:
    line = io.StringIO()
    write_table(line, cells, ())
    return line.getvalue().encode("utf-8", "replace")


def _check_file(path: Path, header: Sequence[str]) -> None:
    """Refuse a file that no review with this header wrote, before its last line is cut off."""
    try:
        target = find_target(path)
    except OSError as error:
        raise ModelError(f"cannot write {path.name or path}: it {error.strerror}") from None
    if not target.parent.is_dir():
        raise ModelError(f"cannot write {path.name}: there is no folder {path.parent}")
    first = _write_row(header)
    start = b""
    if target.exists():
        with target.open("rb") as file:
            start = file.read(len(first))
    if not first.startswith(start):
        raise ModelError(
            f"{path.name} exists and was not written by a review of such items; name another file"
        )
