"""Output files that are written completely or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_open_drafts: set[Path] = set()


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary file beside `path`, which is moved into place if the block succeeds.

    A reader sees the old file or the new one, never a part; after an error nothing is left behind.
    """
    with whole_files() as make_draft:
        yield make_draft(path)


@contextmanager
def whole_files() -> Iterator[Callable[[str | Path], Path]]:
    """Yield a function from a file's name to its draft; all are moved into place at the end.

    Every draft is on disk before the first one is moved. If a move fails, the files moved before it
    are restored, so that a set of files is never half new.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with whole_files() as make_draft:
    ...     for name in ("labels.csv", "model.npz"):
    ...         _ = make_draft(folder / name).write_text("whole")
    >>> sorted(file.name for file in folder.iterdir())
    ['labels.csv', 'model.npz']
    """
    drafts: list[tuple[Path, Path]] = []

    def make_draft(path: str | Path) -> Path:
        drafts.append((_make_draft(Path(path)), Path(path)))
        return drafts[-1][0]

    try:
        yield make_draft
        for draft, _ in drafts:
            _finish(draft)
        _move_together(drafts)
    finally:
        for draft, _ in drafts:
            _remove(draft)


def remove_drafts() -> None:
    """Remove every open draft, for a process that ends without unwinding its blocks."""
    for draft in tuple(_open_drafts):
        _remove(draft)


def _make_draft(target: Path) -> Path:
    if target.exists() and not target.is_file():
        # a folder or a device: moving a file over /dev/null would replace it for everybody
        raise FileExistsError(errno.EEXIST, "exists and is not a regular file", str(target))
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    os.close(handle)
    _open_drafts.add(Path(name))
    return Path(name)


def _finish(draft: Path) -> None:
    """Flush a draft to disk, with the permissions of a new file."""
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    mask = os.umask(0o077)  # mkstemp's 0600 would surprise users who share folders
    os.umask(mask)
    draft.chmod(0o666 & ~mask)


def _move_together(drafts: list[tuple[Path, Path]]) -> None:
    """Move drafts into place; after a failure every target is restored."""
    if len(drafts) == 1:
        drafts[0][0].replace(drafts[0][1])
        return
    with ExitStack() as kept, ExitStack() as undo:
        for draft, target in drafts:
            old = draft.with_name(f"{draft.name}.old") if target.exists() else None
            if old is not None:
                kept.callback(_remove, old)
                _keep(target, old)
            draft.replace(target)
            undo.callback(_put_back, target, old)
        undo.pop_all()


def _keep(target: Path, old: Path) -> None:
    """Keep a file under a second name: a hard link, or a copy if there are none."""
    _open_drafts.add(old)
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


def _remove(draft: Path) -> None:
    _open_drafts.discard(draft)
    with suppress(FileNotFoundError):
        draft.unlink()
