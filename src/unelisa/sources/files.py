"""Files while they are read: what is rejected, and delimited text, its cells batch by batch."""

import csv
import io
import json
import re
import zipfile
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from unelisa.errors import UnelisaError, VotesError, VotesWarning, missing_extra, warn_user
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.votes.columns import Later, spell_name
from unelisa.votes.frames import is_header

pa: Any = Later("pyarrow")
pa_csv: Any = Later("pyarrow.csv")
pc: Any = Later("pyarrow.compute")
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
DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|inf", re.IGNORECASE)
DECIMAL = re.compile(r"[-+]?\d+,\d+")  # a number with a decimal comma
BEGINNING = 1 << 16  # bytes that are inspected
ROWS = 2000  # that are looked at to explain what is wrong
# first bytes of files that are often misnamed
_BEGINNINGS = {
    b"\x1f\x8b": "is gzip data; rename it to end in .csv.gz",
    b"PAR1": "is Parquet data; rename it to end in .parquet",
    b"ARROW1": "is Feather data; rename it to end in .feather",
    b"PK\x03\x04": "is an Excel workbook or a zip file; rename a workbook to end in .xlsx",
    b"\xff\xfe\0\0": "is UTF-32 text; save it as UTF-8",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"<!doctype": "is a web page; download the table itself",
    b"<html": "is a web page; download the table itself",
    b'[{"': "is JSON; save the table as CSV",
    b'{"': "is JSON; rename it to end in .jsonl if every line is a record",
    b"sep=": "starts with a spreadsheet's sep= line; delete that line",
}
_COMPRESSED = {".gz": "gzip"}
_QUOTED = re.compile(r'"[^"]*"')
_LINE_END = re.compile(r"[\r\n]")
CELL_BYTES = 100  # memory that a cell of a workbook takes while it is read, roughly


def check_readable(path: Path, error: type[UnelisaError] = VotesError) -> None:
    """Raise an error for a path that is neither a file nor a folder: a pipe may never end."""
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


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Replace what Arrow raises by a `VotesError` that names the file."""
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


class TextTable:
    """A delimited text file, all cells read as text; Windows-1252 where it is not UTF-8."""

    spelled = True  # whether cells are text whatever they hold

    def __init__(self, path: Path, content: Any = None, named: Sequence[str | None] = ()) -> None:
        self.path, self._content, self._named = path, content, named
        with self._open_bytes() as stream:
            start = stream.read(BEGINNING)
        check_beginning(start, path.name)
        usual = "\t" if ".tsv" in "".join(path.suffixes).lower() else ","
        self.needed = self.size = measure_text(path) if content is None else len(content)
        self._delimiter = find_delimiter(start, usual)
        self.decimal_commas = self._delimiter != ","
        with self._open_bytes() as stream:
            self._encoding = "utf8" if is_utf8(stream) else "cp1252"
        with self._open(None) as reader:
            names = [str(name) for name in reader.schema.names]
        if self._encoding != "utf8":
            warn_user(f"{path.name} is not UTF-8 text; it is read as Windows-1252", VotesWarning)
        self.header = check_names(names, path.name)
        self.n_rows = self.size // (2 * len(self.header))  # about
        self._written = dict(zip(self.header, names, strict=True))

    def batches(
        self, columns: Sequence[str], long: bool = False, named: bool = False
    ) -> Iterator[Any]:
        """Yield Arrow record batches of texts; in `long`, what repeats as dictionaries.

        If `named`, the first of the columns is that of the items, and lines that repeat the header
        or hold nothing are left out.
        """
        types = dict.fromkeys((self._written[name] for name in columns), pa.string())
        if long:
            few = pa.dictionary(pa.int32(), pa.string())
            types |= dict.fromkeys((self._written[name] for name in columns[1:]), few)
        written = [self._written[name] for name in columns]
        with self._open(types) as reader:
            for batch in reader:
                yield self._drop_lines(batch, written) if named else batch

    def _drop_lines(self, batch: Any, written: Sequence[str]) -> Any:
        kept, again = drop_lines(batch, written)
        if again:
            repeated = f"lines of {self.path.name} that repeat the header are left out"
            warn_user(repeated, VotesWarning)
        return drop_lines(kept, [""] * len(written))[0]

    def peek(self) -> dict[str, list[str]]:
        """Return the first cells of every column, stripped."""
        rows = next(self.batches(self.header), None)
        columns = [] if rows is None else rows[:ROWS].columns
        cells = ([str(cell).strip() for cell in column.to_pylist()] for column in columns)
        return dict(zip(self.header, cells, strict=False))

    def call_columns(self, columns: Sequence[str]) -> list[str]:
        """Return how messages call some columns: by position if the header may be a record."""
        if self._is_header:
            return [repr(name[:60]) for name in columns]
        place = {name: str(number) for number, name in enumerate(self.header, start=1)}
        return [place[name] for name in columns]

    @cached_property
    def _cells(self) -> tuple[int, set[str]]:
        rows = next(self.batches(self.header), None)
        columns = [] if rows is None else rows[:100].columns[1:]
        cells = {str(cell).strip() for column in columns for cell in column.to_pylist()}
        return 0 if rows is None else rows.num_rows, cells

    @cached_property
    def _is_header(self) -> bool:
        """Whether the first line surely names the columns: no name is among ten or more cells."""
        if is_header(self.header, self._named):  # usual names, or those that the user expects
            return True
        n_rows, cells = self._cells
        return n_rows >= 10 and not any(name in cells for name in self.header[1:])

    def check_header(self) -> None:
        """Reject a table whose first line is data: messages must not repeat the name of an item."""
        if _NUMBER.fullmatch(self.header[0]):
            return
        said = [name for name in self.header[1:] if name]  # an empty cell is a missing vote
        again = len(self.header) == 3 and self.header[0] in self.peek()[self.header[0]]
        if again or (said and self._cells[1].issuperset(said)):
            raise VotesError(
                f"{self.path.name} seems to have no header, since its first line contains votes; "
                "add a line such as item,voter,vote (or item,voter 1,voter 2, ... with one row per "
                "item)"
            )

    def _open(self, types: dict[str, Any] | None) -> Any:
        return pa_csv.open_csv(
            self._open_bytes(),
            read_options=pa_csv.ReadOptions(
                block_size=1 << 22, use_threads=False, encoding=self._encoding
            ),
            parse_options=pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=types, include_columns=None if types is None else list(types)
            ),
        )

    def _open_bytes(self) -> Any:
        return _open_bytes(self.path) if self._content is None else pa.BufferReader(self._content)


def drop_lines(batch: Any, cells: Sequence[str]) -> tuple[Any, bool]:
    """Return the rows that do not consist of these cells, and whether any does."""
    found = None
    for column, cell in zip(batch.columns, cells, strict=True):
        texts = column.dictionary_decode() if hasattr(column, "dictionary") else column
        if found is None and not _may_hold(texts, cell):
            return batch, False
        same = pc.match_substring_regex(texts, pattern=rf"^\s*{re.escape(cell)}\s*$")
        found = same if found is None else pc.and_(found, same)
        if not pc.any(found).as_py():
            return batch, False
    return batch.filter(pc.invert(found)), True


def _may_hold(texts: Any, cell: str) -> bool:
    """Return whether a cell may be among texts; a regular expression takes ten times as long."""
    if cell:
        return bool(pc.any(pc.starts_with(texts, cell)).as_py())
    return bool(pc.min(pc.binary_length(texts)).as_py() == 0)


def _open_bytes(path: Path) -> Any:
    return pa.input_stream(str(path), compression=_COMPRESSED.get(path.suffix.lower()))


def measure_text(path: Path) -> int:
    """Return the decompressed size of a text file; a reader would skip a bomb's blank lines."""
    if path.suffix.lower() not in _COMPRESSED:
        return path.stat().st_size
    unpacked, buffer = 0, bytearray(1 << 20)
    with pa.OSFile(str(path)) as packed, pa.CompressedInputStream(packed, "gzip") as stream:
        while read := stream.readinto(buffer):
            unpacked += read
            refuse_bomb(path.name, packed.tell(), unpacked)  # as far as it has been read
    return unpacked


def read_beginning(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed if it is gzipped."""
    with _open_bytes(path) as stream:
        start: bytes = stream.read(BEGINNING)
    return start


def is_utf8(stream: Any) -> bool:
    """Return whether bytes are UTF-8 text."""
    decoder = getincrementaldecoder("utf-8")()
    try:
        while block := stream.read(BEGINNING << 4):
            if not block.isascii() or decoder.getstate()[0]:  # most are, and this is faster
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def find_delimiter(start: bytes, usual: str) -> str:
    """Return the delimiter of the header: the usual one, or another if that is absent."""
    outside_quotes = _QUOTED.sub("", start.decode("utf-8", "replace"))
    header = _LINE_END.split(outside_quotes.lstrip(), maxsplit=1)[0]
    return next((mark for mark in (usual, *DELIMITERS) if mark in header), usual)


def check_beginning(start: bytes, file: str) -> None:
    """Raise `VotesError` if the first bytes are not those of a text table."""
    for beginning, words in _BEGINNINGS.items():
        if start.lower().startswith(beginning.lower()):
            raise VotesError(f"{file} {words}")
    text = start.decode("latin-1")
    refuse_nul([text])
    if text.strip() and not _LINE_END.search(text) and len(start) < BEGINNING:
        raise VotesError(f"{file} holds 0 items: it has only one line")


def check_names(names: Sequence[str], file: str) -> list[str]:
    """Return the column names, stripped; reject fewer than two, and repeated ones."""
    header = [name.strip().lstrip("\ufeff").strip() for name in names]
    refuse_nul(header)
    places: dict[str, int] = {}
    for place, name in enumerate(header, start=1):
        first = places.setdefault(name, place)
        if first < place:  # the name itself may be a cell of the first record
            which = "have the same name" if name else "have no name"
            raise VotesError(
                f"columns {first} and {place} of {file} {which}; rename one, or add a missing "
                "header"
            )
    if len(header) < 2:
        raise VotesError(
            f"{file} has only one column; votes need at least two, separated by commas; delete "
            "lines above the header, such as a title"
        )
    return header


def refuse_nul(texts: Sequence[str]) -> None:
    """Raise `VotesError` for text with null bytes."""
    if any("\0" in text for text in texts):
        raise VotesError("the table contains null bytes, so it is not text; save it as UTF-8 text")


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
    wide = [sum(cell is not None for cell in row) > 1 for row in filled]
    if True in wide[1:] and not wide[0]:
        filled = filled[wide.index(True) :]
        warn_user(f"the rows above the header of {path.name} are left out", VotesWarning)
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
        read = json.loads(line, object_pairs_hook=tuple)
        pairs = list(_flatten(read, "", place)) if isinstance(read, tuple) else None
    except VotesError:
        raise
    except (ValueError, RecursionError):
        raise VotesError(f"{place} is not JSON") from None
    if pairs is None:
        raise VotesError(f"{place} must be one record of texts and numbers")
    if len(dict(pairs)) < len(pairs):
        raise VotesError(f"{place} has a key twice; keep one of them")
    return dict(pairs)


def _flatten(pairs: Any, before: str, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a record and of those in it: answer.label."""
    for name, value in pairs:
        if isinstance(value, list):
            raise VotesError(
                f"{place} holds a list, in field {(before + name)[:60]!r}; write one line per "
                "vote, with item, voter and vote"
            )
        if isinstance(value, tuple):
            yield from _flatten(value, f"{before}{name}.", place)
        else:
            yield before + name, value


def _write(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows of cells as CSV; numbers and names have one spelling, missing cells are empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        writer.writerow(["" if cell is None else spell_name(cell) for cell in row])
    return file.getvalue().encode()
