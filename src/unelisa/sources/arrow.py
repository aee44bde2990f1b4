"""Parquet files, one or a folder of them, and Feather files: measured, then read in batches."""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unelisa.errors import VotesError
from unelisa.memory import memory_limit, refuse_beyond
from unelisa.sources.files import check_readable, reading, refuse_bomb
from unelisa.votes.columns import Later
from unelisa.votes.frames import as_frame

ROWS, LONG_ROWS, LEAST_ROWS = 1 << 16, 1 << 20, 256  # per batch, wide or long
_MAGIC = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"  # how a stream of messages begins, as the library datasets stores it
pa: Any = Later("pyarrow")
pq: Any = Later("pyarrow.parquet")
_KINDS = {"dictionary": 1, "record batch": None}  # type of a message -> its field with the buffers


class ArrowTable:
    """A Parquet file, a folder of them, or a Feather file, measured before it is unpacked."""

    header: list[str]  # the names of its columns
    needed: int  # bytes of memory, roughly, that reading all of it takes
    spelled = decimal_commas = False  # whether cells are text whatever they hold

    def __init__(self, path: Path) -> None:
        self.path = path
        parquet = path.is_dir() or path.suffix.lower() == ".parquet"
        self._files = list_parquet(path) if parquet else []
        if self._files:
            self.header, measure = read_columns(self._files), measure_parquet(self._files)
            size = sum(file.stat().st_size for file in self._files)
        else:
            n_rows, unpacked, self.header = measure_feather(path)
            least = max(unpacked, 2 * n_rows * len(self.header))
            measure, size = Measure(n_rows, least, 2 * unpacked), path.stat().st_size
        refuse_bomb(path.name, size, measure.unpacked)
        self.n_rows, self.needed = measure.n_rows, measure.needed

    def batches(
        self,
        columns: Sequence[str],
        long: bool = False,
        named: bool = False,  # noqa: ARG002 - such files have no lines that hold nothing
    ) -> Iterator[Any]:
        """Yield Arrow record batches of some columns, of more rows if `long`."""
        if self._files:
            yield from _read_batches(self._files, columns, LONG_ROWS if long else ROWS)
        else:
            refuse_beyond(self.needed, self.path.name)
            yield from read_feather(self.path).select(columns).to_batches(ROWS)

    def call_columns(self, columns: Sequence[str]) -> list[str]:
        """Return how messages call some columns."""
        return [repr(name[:60]) for name in columns]

    def check_header(self) -> None:
        """Do nothing: the columns of such files have names."""

    def peek(self) -> dict[str, list[str]]:
        """Return no cells: errors of such files name what is wrong with a column."""
        return {}


def list_parquet(path: Path) -> list[Path]:
    """Return the Parquet files in a folder, at any depth, sorted; a file is its own list."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*.parquet") if not file.is_dir())
    if not files:
        raise VotesError(f"{path.name} is a folder without Parquet files; pass a file of votes")
    for file in files:
        check_readable(file)
    return files


def refuse_nested(schema: Any) -> None:
    """Raise `VotesError` for a column of lists, records or runs: a cell may hold any amount."""
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
            raise VotesError(
                f"column {field.name[:60]!r} holds lists or records; a cell must hold a name or a "
                "label"
            )


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text, or bytes that may be text."""
    return str(kind).removeprefix("large_").removesuffix("_view") in ("string", "binary")


class Measure(NamedTuple):
    """What the metadata of some files say."""

    n_rows: int
    unpacked: int  # bytes, or two per cell if that is more: runs of one value take no space
    needed: int  # bytes of memory, roughly, for reading all at once: cells as read, and votes


def measure_parquet(files: Sequence[Path]) -> Measure:
    """Return how much some files hold, before any of it is decompressed."""
    n_rows = unpacked = needed = 0
    for file in files:
        about = _read_metadata(file)
        refuse_nested(schema := about.schema.to_arrow_schema())
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        rows = max(about.num_rows, sum(group.num_rows for group in groups))
        stored = sum(
            sum(group.column(c).total_uncompressed_size for c in range(group.num_columns))
            for group in groups
        )
        n_rows += rows
        unpacked += max(stored, 2 * rows * about.num_columns)
        needed += max(stored, rows * sum(_width(kind) + 3 for kind in schema.types))
    return Measure(n_rows, unpacked, needed)


def _width(kind: Any) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 16


def read_schema(file: Path) -> Any:
    """Return the Arrow schema of a file."""
    return _read_metadata(file).schema.to_arrow_schema()


def read_columns(files: Sequence[Path]) -> list[str]:
    """Return the column names, which must be the same in all files."""
    first: list[str] = []
    for file in files:
        names = [str(name) for name in read_schema(file).names]
        first = first or names
        if len(set(names)) < len(names):
            raise VotesError(f"{file.name} has two columns of the same name; rename one")
        if sorted(names) != sorted(first):
            raise VotesError(f"{file.name} has different columns than {files[0].name}")
    return first


def read_frames(files: Sequence[Path]) -> Iterator[Any]:
    """Yield the rows of all files in frames of at most `ROWS`, fewer if they are wide."""
    for batch in _read_batches(files, read_columns(files)):
        yield as_frame(pa.Table.from_batches([batch]))


def _read_batches(
    files: Sequence[Path], columns: Sequence[str], most: int | None = None
) -> Iterator[Any]:
    kinds = None
    for path in files:
        measure = measure_parquet([path])
        refuse_bomb(path.name, path.stat().st_size, measure.unpacked)
        fitting = memory_limit() // 8 * measure.n_rows // max(measure.needed, 1)
        rows = min(most or ROWS, max(fitting, LEAST_ROWS))
        with reading(path), pq.ParquetFile(path, read_dictionary=list_texts(path)) as file:
            for read in file.iter_batches(rows, columns=list(columns), use_threads=False):
                batch = read.select(columns)
                batch.validate(full=True)  # codes in a damaged file may exceed its labels
                kinds = kinds or batch.schema.types
                if batch.schema.types != kinds:
                    raise VotesError(
                        "a column has different types in different files; use one type"
                    )
                yield batch


def list_texts(file: Path) -> list[str]:
    """Return the text columns, to be read as dictionaries of their few distinct labels."""
    return [field.name for field in read_schema(file) if is_text(field.type)]


def _read_metadata(file: Path) -> Any:
    with reading(file):
        return pq.read_metadata(file)


def open_messages(path: Path) -> Any:
    """Return the file, mapped into memory and positioned at its first message."""
    with path.open("rb") as start:
        if start.read(4) == b"FEA1":
            raise VotesError(f"{path.name} is in Feather version 1; save it in version 2")
    file = pa.memory_map(str(path))
    content = file.read(len(_MAGIC))
    if content.startswith(_STREAM):
        file.seek(0)
        return file
    file.seek(max(file.size() - len(_MAGIC), 0))
    if content != _MAGIC or file.read() != _MAGIC:
        raise OSError("the magic bytes are absent")
    file.seek(8)
    return file


def measure_feather(path: Path) -> tuple[int, int, list[str]]:
    """Return the rows, the decompressed bytes and the columns, from the metadata of messages."""
    n_rows = unpacked = 0
    with open_messages(path) as file:
        for message in pa.ipc.MessageReader.open_stream(file):
            if message.type not in _KINDS:
                continue
            try:
                rows, size = _measure_message(message)
            except (struct.error, ValueError):
                raise OSError("the metadata of a message is damaged") from None
            n_rows += rows if message.type == "record batch" else 0
            unpacked += size
    with open_messages(path) as file, pa.ipc.open_stream(file) as reader:
        refuse_nested(reader.schema)
        return n_rows, unpacked, [str(name) for name in reader.schema.names]


def read_feather(path: Path) -> Any:
    """Return a file as an Arrow table whose texts are dictionaries of their distinct values."""
    with open_messages(path) as file, pa.ipc.open_stream(file) as reader:
        batches = [_encode_texts(batch) for batch in reader]
        if not batches:
            return reader.schema.empty_table()
    return pa.Table.from_batches(batches).unify_dictionaries()


def _encode_texts(batch: Any) -> Any:
    batch.validate(full=True)  # Arrow trusts the offsets in a file
    columns = []
    for column in batch.columns:
        if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
            # views may overlap: what they show can be far more than what is stored
            lengths = np.frombuffer(column.buffers()[1], "<i4").reshape(-1, 4)[:, 0]
            refuse_beyond(int(lengths.sum(dtype=np.int64)), "a column of text")
        columns.append(column.dictionary_encode() if is_text(column.type) else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _measure_message(message: Any) -> tuple[int, int]:
    """Return the rows of a message, whose metadata is a flatbuffer, and its decompressed bytes."""
    about = memoryview(message.metadata)
    table = _follow(about, _field(about, _follow(about, 0), 2))
    if message.type == "dictionary":
        table = _follow(about, _field(about, table, 1))
    rows = _field(about, table, 0)
    n_rows = struct.unpack_from("<q", about, rows)[0] if rows else 0
    start = _follow(about, _field(about, table, 2))
    number = struct.unpack_from("<I", about, start)[0]
    places = np.frombuffer(about, "<i8", 2 * number, start + 4).reshape(-1, 2)
    if not _field(about, table, 3):
        return n_rows, len(message.body)
    body, size = memoryview(message.body), 0
    for offset, length in places[places[:, 1] > 0].tolist():
        held = struct.unpack_from("<q", body, offset)[0]
        size += length if held < 0 else held
    return n_rows, size


def _follow(about: memoryview, place: int) -> int:
    return int(place + struct.unpack_from("<I", about, place)[0])


def _field(about: memoryview, table: int, number: int) -> int:
    """Return the place of a field of a flatbuffer's table, 0 where it is absent."""
    layout = table - struct.unpack_from("<i", about, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", about, layout)[0]:
        return 0
    offset = struct.unpack_from("<H", about, layout + 4 + 2 * number)[0]
    return table + offset if offset else 0
