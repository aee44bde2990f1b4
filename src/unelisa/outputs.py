"""Output files that appear whole or not at all."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; move it into place when the block ends well.

    A reader sees the old file or the new one, never a part; after an error nothing is left.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "labels.csv") as draft:
    ...     _ = draft.write_text("item,label")
    >>> [file.name for file in folder.iterdir()]
    ['labels.csv']
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        # a folder or a device: moving a file over /dev/null would replace it for everybody
        raise FileExistsError(errno.EEXIST, "is there and is no ordinary file", str(target))
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(target)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def _umask() -> int:
    """Return the process's umask; mkstemp's 0600 would surprise people who share folders."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
