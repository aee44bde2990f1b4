"""Output files that appear whole or not at all; values for JSON, and cells for spreadsheets."""

import csv
import errno
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

_fcntl: Any = import_module("fcntl") if os.name == "posix" else None  # else nothing is locked
_open_drafts: set[Path] = set()  # the private folders of drafts
_ACL = "system.posix_acl_access"
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # file systems that cannot sync a folder
# Where a spreadsheet would begin a formula: at the start of a cell, and after what it may take for
# the start of one. Programs in many countries separate cells by semicolons, whatever the file says.
_FORMULA = re.compile(r"(?:^|(?<=[;\t\r\n]))(?=\s*[=+\-@＝＋－＠])|^(?=[\t\r\n])")  # noqa: RUF001
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield where to write `path`; the file is moved into place if the block succeeds."""
    with whole_files() as make_draft:
        yield make_draft(path)


@contextmanager
def whole_files() -> Iterator[Callable[[str | Path], Path]]:
    """Yield a function from a file's name to its draft; all are moved into place at the end.

    Drafts are in private folders beside their targets. If a move fails, files moved before it are
    restored. A replaced file passes on its owner, mode and access list; a read-only one is refused.
    Symbolic links are followed, and refused where they lead nowhere.
    """
    drafts: list[tuple[Path, Path]] = []

    def make_draft(path: str | Path) -> Path:
        target = find_target(path)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
        _open_drafts.add(folder)
        drafts.append((folder / target.name, target))
        return drafts[-1][0]

    try:
        yield make_draft
        for draft, target in drafts:
            _finish(draft, target)
        _move_together(drafts)
    finally:
        for draft, _ in drafts:
            _remove(draft.parent)


def remove_drafts() -> None:
    """Remove every open draft, for a process that ends without unwinding its blocks."""
    for folder in tuple(_open_drafts):
        _remove(folder)


def find_target(path: str | Path) -> Path:
    """Return the file that an output replaces or creates; refuse folders and devices."""
    target = Path(os.path.realpath(path))
    if Path(path).is_symlink() and not target.exists():
        raise FileExistsError(errno.EEXIST, "is a link to nothing", str(path))
    if target.exists():
        if not target.is_file():
            raise FileExistsError(errno.EEXIST, "exists and is not a regular file", str(path))
        # root may write everything, but a file that nobody may write is meant to stay
        if not target.stat().st_mode & 0o222 or not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "exists and is read-only", str(path))
    return target


def _finish(draft: Path, target: Path) -> None:
    """Flush a draft to disk, with the permissions of the file that it replaces."""
    with draft.open("rb+") as file:
        if os.name == "posix" and target.exists():
            _keep_access(target, file.fileno())
        os.fsync(file.fileno())


def _keep_access(target: Path, handle: int) -> None:
    """Give an open file the owner, mode and access list of another, else none for the group."""
    old = target.stat()
    for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
        with suppress(PermissionError):
            os.fchown(handle, owner, group)
    kept = os.fstat(handle).st_gid == old.st_gid
    try:
        rules = os.getxattr(target, _ACL)
    except (OSError, AttributeError):  # none, or a system without them
        rules = b""
    os.fchmod(handle, old.st_mode & (0o777 if kept and not rules else 0o707))
    if kept and rules:
        with suppress(OSError):
            os.setxattr(handle, _ACL, rules)


def _move_together(drafts: list[tuple[Path, Path]]) -> None:
    """Move drafts into place; after a failure every target is restored."""
    with ExitStack() as undo:
        for draft, target in drafts:
            old = draft.with_name(f"{draft.name[:200]}.old") if target.exists() else None
            if old is not None:
                _keep(target, old)
            draft.replace(target)
            undo.callback(_put_back, target, old)
        for folder in {target.parent for _, target in drafts}:
            sync_folder(folder)
        undo.pop_all()


def _keep(target: Path, old: Path) -> None:
    """Keep a file under a second name: a hard link, or a copy if there are none."""
    try:
        old.hardlink_to(target)
    except OSError:
        shutil.copy2(target, old)


def _put_back(target: Path, old: Path | None) -> None:
    """Restore the target from before the move: absent, or the file kept as `old`."""
    if old is None:
        target.unlink()
    else:
        old.replace(target)


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Lock out other programs that hold the same file, where the system has locks."""
    with ExitStack() as held:
        if _fcntl is not None and path.is_file():
            file = held.enter_context(path.open("rb"))
            with suppress(OSError):  # a file system without locks
                _fcntl.flock(file, _fcntl.LOCK_EX)
        yield


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk: a rename is lost with the power until then."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows, or a folder that may be written but not listed
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def _remove(folder: Path) -> None:
    _open_drafts.discard(folder)
    for _ in range(2):  # again if the system fails once: the outputs themselves are in place
        with suppress(OSError, MemoryError):
            shutil.rmtree(folder)
            return


def make_plain(value: Any) -> Any:
    """Return a value that JSON can hold: None for NaN, the type's name for other objects."""
    if hasattr(value, "dtype") and value.ndim == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return type(value).__name__


def defuse_cell(cell: Any) -> Any:
    """Return a cell that a spreadsheet shows as text, where it would run =1+2 as a formula."""
    if cell is None or isinstance(cell, int):
        return cell
    if isinstance(cell, float):
        return float(f"{cell:.6g}") if abs(cell) < 1e5 else cell
    text = str(cell)
    if text.isalnum() or _NUMBER.fullmatch(text):  # nearly all cells, recognized quickly
        return text
    return _FORMULA.sub("'", text)


def write_table(file: TextIO, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV table whose text cells are defused; None is an empty cell."""
    # quotes cells with either character of its line end, so a carriage return cannot break a row
    writer = csv.writer(_PlainLines(file), lineterminator="\r\n")
    writer.writerow([defuse_cell(name) for name in header])
    writer.writerows([defuse_cell(cell) for cell in row] for row in rows)


class _PlainLines:
    """Writes rows that end in a carriage return and a line feed with the line feed alone."""

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, row: str) -> int:
        return self._write(f"{row[:-2]}\n")
