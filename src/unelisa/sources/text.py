"""The beginning of a text table: what it is, what parts its cells, and the columns' names."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError

MARKS = ",;\t|"
BEGINNING = 1 << 16  # bytes that are looked at
# how files begin that are often misnamed
_BEGINNINGS = {
    b"\x1f\x8b": "is gzip data; let its name end in .csv.gz",
    b"PAR1": "is Parquet data; let its name end in .parquet",
    b"ARROW1": "is Feather data; let its name end in .feather",
    b"PK\x03\x04": "is an Excel workbook or a zip file; save the table as CSV",
    b"\xff\xfe\0\0": "is UTF-32 text; save it as UTF-8",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"<!doctype": "is a web page; get the table itself",
    b"<html": "is a web page; get the table itself",
    b'[{"': "is JSON; save the table as CSV",
    b'{"': "is JSON; save the table as CSV",
    b"sep=": "starts with the line sep= of a spreadsheet; delete that line",
}
_QUOTED = re.compile(r'"[^"]*"')
_LINE_END = re.compile(r"[\r\n]")


def open_text(path: Path) -> Any:
    """Return a file's bytes as a stream, unpacked where it is gzipped."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    return pa.input_stream(str(path), compression="gzip" if is_packed(path) else None)


def is_packed(path: Path) -> bool:
    """Return whether a file's name says that it is gzipped."""
    return path.suffix.lower() == ".gz"


def find_delimiter(path: Path, usual: str) -> str:
    """Return the mark that parts the cells of the header: the usual one, or another that does.

    Raise `VotesError` where the beginning shows that the file is no text table at all.
    """
    with open_text(path) as stream:
        start = stream.read(BEGINNING)
    for beginning, words in _BEGINNINGS.items():
        if start.lower().startswith(beginning.lower()):
            raise VotesError(f"{path.name} {words}")
    refuse_nul([start.decode("latin-1")])
    if start.strip() and not _LINE_END.search(start.decode("latin-1")) and len(start) < BEGINNING:
        raise VotesError(f"{path.name} holds 0 items: it has one line only")
    outside_quotes = _QUOTED.sub("", start.decode("utf-8", "replace"))
    header = _LINE_END.split(outside_quotes.lstrip(), maxsplit=1)[0]
    return next((mark for mark in (usual, *MARKS) if mark in header), usual)


def check_names(names: Sequence[str], file: str) -> list[str]:
    """Return the columns' names, stripped; refuse fewer than two, and two that are the same."""
    header = [name.strip().lstrip("\ufeff").strip() for name in names]
    refuse_nul(header)
    for place, name in enumerate(header):
        if name in header[:place]:
            told = f"named {name[:60]!r}" if name else "without a name"
            raise VotesError(f"{file} has two columns {told}; rename one, or add a missing header")
    if len(header) < 2:
        raise VotesError(f"{file} has one column only; votes need at least two, parted by commas")
    return header


def refuse_missing_header(header: Sequence[str], rows: Any, file: str) -> None:
    """Refuse a table without a usual item column whose other columns are named like its votes.

    Its first line is data then, and the first name an item, which no message may repeat.
    """
    columns = [] if rows is None else rows[:100].columns[1:]
    seen = {str(cell).strip() for column in columns for cell in column.to_pylist()}
    if all(name in seen for name in header[1:]) and not _is_number(header[0]):
        raise VotesError(
            f"{file} seems to have no header: its first line holds votes; "
            "add a line such as item,voter 1,voter 2"
        )


def refuse_nul(texts: Sequence[str]) -> None:
    """Refuse text with zero bytes."""
    if any("\0" in text for text in texts):
        raise VotesError("the table holds zero bytes, which no text has; save it as UTF-8 text")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
