"""Files before and while they are read: what is rejected, and why, in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unelisa.errors import UnelisaError, VotesError

# Votes compress a hundredfold at most; a small file that expands beyond these is an attack.
MAX_UNPACKED, MAX_GROWTH = 1 << 28, 500
# part of Arrow's message -> ours, without the cells that Arrow quotes
_TROUBLES = {
    "utf8": "is not UTF-8 text; save it as UTF-8",
    "empty csv": "is empty",
    "file size is 0": "is empty",
    "zlib": "is damaged or truncated: its gzip data cannot be decompressed",
    "truncated": "is damaged or truncated: its data cannot be decompressed",
    "columns, got": "has a row with more or fewer cells than the header",
    "straddling": "has a line of more than 4 MB",
}


def check_readable(path: Path, error: type[UnelisaError] = VotesError) -> None:
    """Raise an error for a path that is neither a regular file nor a folder.

    Reading a pipe would wait for somebody to write, and a device may never end.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:  # Arrow opens only paths that are valid UTF-8
        raise error("the path of the file is not valid UTF-8; rename it") from None
    if not path.exists():
        raise error(f"there is no file {path.name} in {path.parent}")
    if not path.is_dir() and not path.is_file():
        raise error(f"{path.name} is not a regular file; save its content in one")


def refuse_bomb(file: str, size: int, unpacked: int) -> None:
    """Raise `VotesError` for a file of some size that expands far more than votes do."""
    if unpacked > MAX_UNPACKED and unpacked > MAX_GROWTH * size:
        raise VotesError(
            f"{file} decompresses to more than {MAX_GROWTH} times its size, unlike any votes; "
            "decompress and inspect it first"
        )


def refuse_nested(schema: Any) -> None:
    """Raise `VotesError` for a column of lists, records or runs: a cell may hold any amount."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
            raise VotesError(
                f"column {field.name[:60]!r} holds lists or records; a cell must hold a name or a "
                "label"
            )


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text, or bytes that may be text."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    known = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in known)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Replace what Arrow raises by a `VotesError` that names the file."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        raise VotesError(f"{path.name} {_explain(error)}") from None


def _explain(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "cannot be read: permission denied"
    if isinstance(error, UnicodeError):
        return _TROUBLES["utf8"]
    text = str(error).lower()
    known = (words for part, words in _TROUBLES.items() if part in text)
    return next(known, "cannot be read: it is damaged or not in the format of its file extension")
