"""Workbooks and JSON lines as delimited text, which the reader of text then reads."""

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError, VotesWarning, missing_extra, warn_user
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.sources.files import refuse_bomb
from unelisa.votes.columns import spell_name

CELL_BYTES = 100  # memory that a cell of a workbook takes while it is read, roughly


def read_workbook(path: Path) -> bytes:
    """Return the first sheet of an Excel workbook as CSV."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("reading .xlsx files needs openpyxl", "excel") from None
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        refuse_bomb(path.name, path.stat().st_size, unpacked)
        refuse_beyond(2 * unpacked, path.name)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except VotesError:
        raise
    except Exception:  # openpyxl raises whatever its parsers do
        raise VotesError(f"{path.name} is damaged or not an Excel workbook") from None
    if len(book.sheetnames) > 1:
        many = f"{path.name} has {len(book.sheetnames)} sheets, of which the first is read"
        warn_user(many, VotesWarning)
    rows = book.worksheets[0].iter_rows(values_only=True)
    filled = [row for row in rows if any(cell is not None for cell in row)]
    named = [k for row in filled[:1] for k, cell in enumerate(row, 1) if cell is not None]
    return _write(row[: max(named, default=0)] for row in filled)


def read_json_lines(path: Path) -> bytes:
    """Return JSON lines, one record each, as CSV; a key that a record lacks is a missing cell."""
    text = path.read_bytes()
    refuse_beyond(weigh_json(text), path.name)
    records = []
    for number, line in enumerate(text.decode("utf-8-sig").splitlines(), 1):
        if line.strip():
            records.append(_read_record(line, f"line {number} of {path.name}"))
    keys = list(dict.fromkeys(key for record in records for key in record))
    return _write([keys, *([record.get(key) for key in keys] for record in records)])


def _read_record(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=lambda pairs: _unique(pairs, place))
    except VotesError:
        raise
    except (ValueError, RecursionError):
        raise VotesError(f"{place} is not JSON") from None
    if not isinstance(record, dict) or any(isinstance(x, dict | list) for x in record.values()):
        raise VotesError(f"{place} must be one record of texts and numbers")
    return record


def _unique(pairs: Sequence[tuple[str, Any]], place: str) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise VotesError(f"{place} has a key twice; keep one of them")
    return record


def _write(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows of cells as CSV; numbers and names have one spelling, missing cells are empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        writer.writerow(["" if cell is None else spell_name(cell) for cell in row])
    return file.getvalue().encode()
