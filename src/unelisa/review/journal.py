"""Files that grow by whole lines, written by one process or by several in turn.

A turn never writes into what it does not know: a file that was replaced, deleted or edited since
this process read it is refused, and so is one that another program keeps locked.
"""

import errno
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from unelisa.outputs import sync_folder

_fcntl: Any = import_module("fcntl") if os.name == "posix" else None  # else nothing is locked
_CLAIMS = 1 << 40  # the byte that stands for number 0, far behind the end of any file of lines
PATIENCE, PAUSE = 3.0, 0.001  # seconds to wait for a lock of another program; between tries


class Journal:
    """A file open for appending whole lines; made by `open_journal`."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle, self._lock = path, handle, threading.Lock()

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
                raise OSError(error.errno, error.strerror, str(self._path)) from None


class SharedJournal(Journal):
    """A file to which several processes append whole lines in turn; made by `share_journal`."""

    def __init__(self, path: Path, handle: int, is_whole: Callable[[bytes], bool]) -> None:
        super().__init__(path, handle)
        self._is_whole = is_whole
        self._seen, self._digest = 0, hashlib.blake2b()  # what this process has read or written

    @contextmanager
    def turn(self) -> Iterator[bytes]:
        """Keep others from writing; yield what they wrote since the last turn, in whole lines.

        A last line without its line feed gets one if it is whole. Otherwise it is torn, the work of
        a process that was killed, and is cut off. `OSError` if the file is not the one that was
        opened, is not as it was, or stays locked.
        """
        _wait_for_lock(self._handle)
        try:
            self._check_unchanged()
            new = _read_from(self._handle, self._seen)
            end = new.rfind(b"\n") + 1
            if end < len(new) and self._is_whole(new[end:]):
                super().append(b"\n")
                new += b"\n"
            elif end < len(new):
                os.ftruncate(self._handle, self._seen + end)
                new = new[:end]
            self._note(new)
            yield new
        finally:
            _unlock(self._handle)

    def append(self, line: bytes) -> None:
        """Add one line in one's turn, as a journal of one process does."""
        super().append(line)
        self._note(line)

    def _note(self, text: bytes) -> None:
        self._seen += len(text)
        self._digest.update(text)

    def _check_unchanged(self) -> None:
        """Raise `OSError` unless the path leads to this file, which begins as it was seen."""
        opened, found = os.fstat(self._handle), None
        with suppress(FileNotFoundError):
            found = self._path.stat()
        if found is None:
            raise OSError(errno.ESTALE, "was moved or deleted while this review was using it")
        if (found.st_dev, found.st_ino) != (opened.st_dev, opened.st_ino):
            raise OSError(errno.ESTALE, "was replaced while this review was using it")
        known = _read_from(self._handle, 0, self._seen)
        if hashlib.blake2b(known).digest() != self._digest.digest():
            raise OSError(errno.ESTALE, "was edited while this review was using it")

    def claim(self, number: int) -> bool:
        """Return whether nobody else holds this number; from now on this process does.

        What it holds is released with `release`, and when it ends.
        """
        if _fcntl is None:
            return True
        try:
            _fcntl.lockf(self._handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB, 1, _CLAIMS + number)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)  # else there are no such locks
        return True

    def release(self, number: int) -> None:
        """Let others claim a number."""
        if _fcntl is not None:
            with suppress(OSError):
                _fcntl.lockf(self._handle, _fcntl.LOCK_UN, 1, _CLAIMS + number)


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open a file for appending, without a torn last line: one that lacks its line feed.

    `BlockingIOError` if another process has it open so.
    """
    with _open_for_lines(path) as handle:
        _lock(handle)  # until it is closed, or the process ends
        os.ftruncate(handle, path.read_bytes().rfind(b"\n") + 1)
        yield Journal(path, handle)


@contextmanager
def share_journal(path: Path, is_whole: Callable[[bytes], bool]) -> Iterator[SharedJournal]:
    """Open a file for appending beside other processes that do the same.

    `is_whole` says whether a last line that lacks its line feed is complete otherwise.
    """
    with _open_for_lines(path) as handle:
        yield SharedJournal(path, handle, is_whole)


@contextmanager
def _open_for_lines(path: Path) -> Iterator[int]:
    plain = getattr(os, "O_BINARY", 0)  # Windows would write two bytes for a line feed
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | plain, 0o666)
    try:
        sync_folder(path.parent)
        yield handle
    finally:
        os.close(handle)  # also releases its locks, as does the end of the process


def _read_from(handle: int, start: int, end: int | None = None) -> bytes:
    end = os.fstat(handle).st_size if end is None else end
    os.lseek(handle, start, os.SEEK_SET)  # what is written goes to the end in any case
    parts = []
    while start < end and (part := os.read(handle, end - start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _wait_for_lock(handle: int) -> None:
    """Lock a file, or raise `BlockingIOError` when another program has not let go of it in time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            _lock(handle)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise BlockingIOError(errno.EAGAIN, "is locked by another program") from None
            time.sleep(PAUSE)
        else:
            return


def _lock(handle: int) -> None:
    if _fcntl is not None:
        _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)


def _unlock(handle: int) -> None:
    if _fcntl is not None:
        _fcntl.flock(handle, _fcntl.LOCK_UN)
