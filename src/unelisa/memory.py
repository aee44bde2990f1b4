"""The memory limit: how much memory the content of a file may take."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from unelisa.errors import ModelError, UnelisaError, VotesError

DEFAULT = "1GB"
VARIABLE = "UNELISA_MEMORY"
LEAST = 1 << 26  # what no limit forbids: 67 MB, less than Python and its libraries take
PAIR_BYTES = 24  # of the tables that a method holds of each pair of voters, at least
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# bytes that Python takes at most for what a mark of JSON begins: a list and its first places, an
# empty record, an entry of a record, an entry of a list, half a text
_JSON_MARKS = {"[": 112, "{": 72, ":": 80, ",": 48, '"': 28}
_JSON_PLAIN, _JSON_WIDE = 3, 10  # per character, of a text and its copies; wide: four bytes each
_chosen: ContextVar[int | None] = ContextVar("memory", default=None)


def memory_limit() -> int:
    """Return the limit in bytes: of the block, else of UNELISA_MEMORY, else 1 GB."""
    chosen = _chosen.get()
    return read_size(os.environ.get(VARIABLE) or DEFAULT) if chosen is None else chosen


@contextmanager
def limit_memory(size: str | int | None) -> Iterator[None]:
    """Set the limit for a block; None leaves it as it is."""
    before = _chosen.set(_chosen.get() if size is None else read_size(size))
    try:
        yield
    finally:
        _chosen.reset(before)


def refuse_beyond(needed: int, what: str, error: type[UnelisaError] = VotesError) -> None:
    """Raise an error if the content of a file needs more memory than the limit."""
    limit = memory_limit()
    if needed > max(limit, LEAST):
        text = (
            f"{what} needs about {_show_size(needed)} of memory, more than the limit of "
            f"{_show_size(limit)}; raise it with UNELISA_MEMORY or --memory if the file is sound"
        )
        raise error(text.lstrip())


def refuse_pairs(n_voters: int) -> None:
    """Raise `ModelError` if tables of all pairs of voters exceed the memory of this machine."""
    needed = PAIR_BYTES * n_voters**2
    if hasattr(os, "sysconf") and needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise ModelError(
            f"this method compares all pairs of voters, and those of {n_voters:,} need about "
            f"{_show_size(needed)} of memory, more than this machine has; choose another one, such "
            "as LatentIsing, or fewer voters"
        )


def weigh_json(content: str | bytes | bytearray) -> int:
    """Return the most memory that parsed JSON takes, bounded by the number of its marks."""
    if isinstance(content, str):
        marks = sum(content.count(mark) * size for mark, size in _JSON_MARKS.items())
        escaped = "\\u" in content
    else:
        marks = sum(content.count(mark.encode()) * size for mark, size in _JSON_MARKS.items())
        escaped = b"\\u" in content
    wide = escaped or not content.isascii()
    return marks + len(content) * (_JSON_WIDE if wide else _JSON_PLAIN)


def read_size(text: str | int) -> int:
    """Return a number of bytes, given as a number or as text such as "500MB"."""
    found = _SIZE.fullmatch(str(text).strip())
    size = 0.0 if found is None else float(found[1]) * _UNITS[found[2].upper()]
    if not 1 <= size < float("inf"):
        raise VotesError(
            f"the memory limit must be a number of bytes, such as 500MB, found {str(text)[:60]!r}"
        )
    return int(size)


def _show_size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
