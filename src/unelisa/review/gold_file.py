"""The file of a review: one row per answer, on disk before the next item is shown.

Rows are only appended, by several reviewers in turns. A file that was replaced or edited stays.
"""

import csv
import errno
import hashlib
import io
import os
import re
import threading
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.outputs import defuse_cell, find_target, sync_folder, write_table

LONGEST_NOTE, LONGEST_NAME, LONGEST_ITEM = 2000, 60, 10_000  # characters
PATIENCE, PAUSE = 3.0, 0.001  # seconds to wait for a lock of another program; between tries
_CLAIMS = 1 << 40  # the byte that stands for item 0, far behind the end of any file of lines
# no text: tables with them cannot be read, and terminals obey them
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_fcntl: Any = import_module("fcntl") if os.name == "posix" else None  # else nothing is locked


class Journal:
    """A file open for appending whole lines; made by `open_journal`."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle, self._lock = path, handle, threading.Lock()

    def append(self, line: bytes) -> None:
        """Add one line, on disk when this returns; after an error the file is as before."""
        with self._lock:
            size = os.fstat(self._handle).st_size
            try:
                if os.write(self._handle, line) != len(line):  # the disk took only a part
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._handle)
            except OSError as error:
                os.ftruncate(self._handle, size)
                raise OSError(error.errno, error.strerror, str(self.path)) from None


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open a file for appending, without a torn last line; `BlockingIOError` if others have it."""
    with _open_for_lines(path) as handle:
        _lock(handle)  # until it is closed, or the process ends
        os.ftruncate(handle, path.read_bytes().rfind(b"\n") + 1)
        yield Journal(path, handle)


class Answer(NamedTuple):
    """One reviewer's answer on one item."""

    item: int  # its place among the items
    label: int | None  # the place of the label among the classes; None: skipped
    reviewer: str
    chosen: str  # how the item was chosen, or the share of similar ones that was drawn
    note: str = ""


class GoldFile(Journal):
    """All answers so far, and where the next one goes; made by `open_gold`."""

    def __init__(
        self,
        path: Path,
        handle: int,
        items: NDArray[Any],
        classes: Sequence[Any],
        header: Sequence[str],
    ) -> None:
        super().__init__(path, handle)
        self.answers: list[Answer] = []
        self._items, self._classes, self._header = items, classes, list(header)
        self._claimed: int | None = None
        self._rows = 0
        self._seen, self._digest = 0, hashlib.blake2b()  # what this process has read or written

    @contextmanager
    def turn(self) -> Iterator[list[Answer]]:
        """Keep other reviewers from writing; yield what they answered since the last turn."""
        with ExitStack() as held:
            try:
                _lock(self._handle, PATIENCE)
                if _fcntl is not None:
                    held.callback(_fcntl.flock, self._handle, _fcntl.LOCK_UN)
                text = self._read_on()
            except OSError as error:
                raise ModelError(_refuse(self.path.name, error)) from None
            new = self._parse(text)
            self.answers += new
            yield new

    def add(self, answer: Answer) -> None:
        """Append an answer in one's turn; it is on disk when this returns."""
        label = "" if answer.label is None else str(self._classes[answer.label])
        self.append(_write_row((str(self._items[answer.item]), label, *answer[2:])))
        self.answers.append(answer)

    def append(self, line: bytes) -> None:
        """Add one row in one's turn, as `Journal` does."""
        super().append(line)
        self._note(line, 1)

    def claim(self, item: int) -> bool:
        """Return whether no other process asks about an item; then only this one does."""
        if _fcntl is None:
            return True
        if not _lock_byte(self._handle, _CLAIMS + item):
            return False
        if self._claimed is not None and self._claimed != item:
            _unlock_byte(self._handle, _CLAIMS + self._claimed)
        self._claimed = item
        return True

    def begin(self) -> None:
        """Read the answers of earlier reviews; add the header to an empty file."""
        with self.turn():
            if not self._rows:
                self.append(_write_row(self._header))

    def _read_on(self) -> bytes:
        """Return what others wrote since the last turn, in whole lines; `OSError` if edited."""
        found, change = None, ""
        with suppress(FileNotFoundError):
            found = self.path.stat()
        with open(self._handle, "rb", closefd=False) as file:
            file.seek(0)  # what is written goes to the end in any case
            known, new = file.read(self._seen), file.read()
        if found is None:
            change = "moved or deleted"
        elif not os.path.samestat(found, os.fstat(self._handle)):
            change = "replaced"
        elif hashlib.blake2b(known).digest() != self._digest.digest():
            change = "edited"
        if change:
            raise OSError(errno.ESTALE, f"was {change} while this review was using it")
        end = new.rfind(b"\n") + 1
        if end < len(new) and self._is_whole(new[end:]):
            super().append(b"\n")
            return new + b"\n"
        if end < len(new):
            os.ftruncate(self._handle, self._seen + end)
        return new[:end]

    def _note(self, text: bytes, n_rows: int) -> None:
        self._seen += len(text)
        self._rows += n_rows
        self._digest.update(text)

    def _is_whole(self, line: bytes) -> bool:
        with suppress(ValueError, csv.Error):
            (row,) = csv.reader([line.decode("utf-8")], strict=True)
            return self._is_answer(row) or not (self._rows or row != self._header)
        return False

    def _is_answer(self, row: Sequence[str]) -> bool:
        items, labels = self._places
        return len(row) == len(Answer._fields) and row[0] in items and row[1] in labels

    def _parse(self, text: bytes) -> list[Answer]:
        try:
            rows = list(csv.reader(io.StringIO(text.decode("utf-8"), newline=""), strict=True))
        except (ValueError, csv.Error):
            raise ModelError(
                f"{self.path.name} is not the UTF-8 text that a review wrote; name a new file"
            ) from None
        answers = []
        for number, row in enumerate(rows, self._rows + 1):
            if number == 1:
                continue  # before a million names are looked at
            if not self._is_answer(row):
                raise ModelError(
                    f"row {number} of {self.path.name} has an item or a label that these votes "
                    "do not have; continue with the votes of that review, or name a new file"
                )
            items, labels = self._places
            answers.append(Answer(items[row[0]], labels[row[1]], *row[2:]))
        self._note(text, len(rows))  # not before: what cannot be read is refused again
        return answers

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, int | None]]:
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
    with ExitStack() as opened:
        try:
            handle = opened.enter_context(_open_for_lines(path))
            gold = GoldFile(path, handle, items, classes, header)
            gold.begin()
        except OSError as error:
            raise ModelError(f"cannot write {path.name}: {error.strerror}") from None
        yield gold


def clean_note(note: str) -> str:
    """Return a note as one line of limited length."""
    return _CONTROLS.sub("", " ".join(note.split()))[:LONGEST_NOTE]


def clean_name(name: str) -> str:
    """Return a reviewer's name as it is written into the file."""
    cleaned = str(defuse_cell(clean_note(name)))
    seen = any(unicodedata.category(letter) != "Cf" for letter in cleaned)
    if not seen or len(cleaned) > LONGEST_NAME:
        raise ModelError(f"a reviewer's name must have 1 to {LONGEST_NAME} characters")
    return cleaned


def _refuse(name: str, error: OSError) -> str:
    advice = {
        errno.EAGAIN: "; try again when that program, such as a backup, has ended",
        errno.ESTALE: "; start this review again, which continues with the answers in the file",
    }.get(error.errno or 0, "")
    found = error.strerror if advice else f"cannot be read ({error.strerror})"
    return f"{name} {found}, so nothing can be saved{advice}"


def _check_names(names: Sequence[Any], what: str) -> None:
    texts = list(map(str, names))
    if any("\n" in text or "\r" in text or len(text) > LONGEST_ITEM for text in texts):
        raise ModelError(
            f"{what} has a line break or more than {LONGEST_ITEM:,} characters in its name; rename "
            "it for the review"
        )
    written = {text: defuse_cell(text) for text in texts}
    if any(cell in written for text, cell in written.items() if cell != text):
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
    first, start = _write_row(header), b""
    if target.exists():
        with target.open("rb") as file:
            start = file.read(len(first))
    if not first.startswith(start):
        raise ModelError(
            f"{path.name} exists and was not written by a review of such items; name another file"
        )


@contextmanager
def _open_for_lines(path: Path) -> Iterator[int]:
    plain = getattr(os, "O_BINARY", 0)  # Windows would write two bytes for a line feed
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | plain, 0o666)
    try:
        sync_folder(path.parent)
        yield handle
    finally:
        os.close(handle)  # also releases its locks, as does the end of the process


def _lock(handle: int, patience: float = 0.0) -> None:
    """Lock a file, or raise `BlockingIOError` if another program has not released it in time."""
    deadline = time.monotonic() + patience
    while _fcntl is not None:
        with suppress(BlockingIOError):
            _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            if _lock_byte(handle, _CLAIMS - 1):  # nobody has locked all bytes
                _unlock_byte(handle, _CLAIMS - 1)
                return
            _fcntl.flock(handle, _fcntl.LOCK_UN)
        if time.monotonic() >= deadline:
            raise BlockingIOError(errno.EAGAIN, "is locked by another program")
        time.sleep(PAUSE)


def _lock_byte(handle: int, place: int) -> bool:
    """Return whether no other process has locked a byte; then this one has, where that exists."""
    try:
        _fcntl.lockf(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def _unlock_byte(handle: int, place: int) -> None:
    with suppress(OSError):
        _fcntl.lockf(handle, _fcntl.LOCK_UN, 1, place)
