"""Parquet files of votes, one or a folder of them, read batch by batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unelisa.errors import VotesError
from unelisa.memory import memory_limit
from unelisa.sources.files import check_readable, is_text, reading, refuse_bomb, refuse_nested
from unelisa.sources.streams import Batch, WideStream
from unelisa.votes.frames import as_frame, read_column, read_names

ROWS, LEAST_ROWS = 1 << 16, 256  # per batch


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
    """Return the bytes per cell; about 16 for text, whose length is not in the schema."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 16


def read_schema(file: Path) -> Any:
    """Return the Arrow schema of a file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only files need it

    with reading(file):
        return pq.read_schema(file)


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


def stream_wide(files: Sequence[Path], item: str | None, n_rows: int) -> WideStream:
    """Return the files as one wide table."""
    voters = [name for name in read_columns(files) if name != item]

    def start() -> Iterator[Batch]:
        for frame in read_frames(files):
            names = None if item is None else read_names(frame.get_column(item))
            yield Batch(len(frame), names, [read_column(frame.get_column(name)) for name in voters])

    return WideStream(voters, start, n_rows)


def read_frames(files: Sequence[Path]) -> Iterator[Any]:
    """Yield the rows of all files in frames of at most `ROWS`, fewer if they are wide."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    for path in files:
        measure = measure_parquet([path])
        refuse_bomb(path.name, path.stat().st_size, measure.unpacked)
        fitting = memory_limit() // 8 * measure.n_rows // max(measure.needed, 1)
        rows = min(ROWS, max(fitting, LEAST_ROWS))
        with reading(path), pq.ParquetFile(path, read_dictionary=list_texts(path)) as file:
            for batch in file.iter_batches(rows, use_threads=False):
                batch.validate(full=True)
                yield as_frame(pa.Table.from_batches([batch]))


def read_table(files: Sequence[Path]) -> Any:
    """Return all rows as one Arrow table."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    columns = read_columns(files)
    tables = []
    for file in files:
        with reading(file), pq.ParquetFile(file, read_dictionary=list_texts(file)) as opened:
            tables.append(opened.read().select(columns))  # Arrow is slow to choose among many
            tables[-1].validate(full=True)  # codes in a damaged file may exceed its labels
    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid:
        raise VotesError("a column has different types in different files; use one type") from None


def list_texts(file: Path) -> list[str]:
    """Return the text columns, to be read as dictionaries of their few distinct labels."""
    return [field.name for field in read_schema(file) if is_text(field.type)]


def _read_metadata(file: Path) -> Any:
    import pyarrow.parquet as pq  # noqa: PLC0415

    with reading(file):
        return pq.read_metadata(file)
