"""Parquet files of votes, one or a folder of them, read batch by batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError
from unelisa.frames import as_frame, long_columns, read_column, read_names
from unelisa.sources.files import reading
from unelisa.sources.streams import Batch, WideStream

ROWS = 1 << 16  # per batch
ColumnNames = tuple[str | None, str | None, str | None]


def list_parquet(path: Path) -> list[Path]:
    """Return the Parquet files in a folder, at any depth, sorted; a file is its own list."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*.parquet") if file.is_file())
    if not files:
        raise VotesError(f"{path.name} is a folder without Parquet files; pass a file of votes")
    return files


def count_cells(files: Sequence[Path]) -> int:
    """Return rows times columns, from the files' metadata."""
    return sum(about.num_rows * about.num_columns for about in map(_read_metadata, files))


def count_bytes(files: Sequence[Path]) -> int:
    """Return roughly how much memory reading all files at once takes: stored cells, and votes."""
    needed = 0
    for about in map(_read_metadata, files):
        types = about.schema.to_arrow_schema().types
        needed += about.num_rows * sum(_width(kind) + 3 for kind in types)
    return needed


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


def stream_wide(files: Sequence[Path], named: ColumnNames) -> WideStream | None:
    """Return the files as one wide table, or None if they hold one row per vote."""
    columns = read_columns(files)
    item, voter, vote = long_columns(columns, named)
    if item is not None and voter is not None and vote is not None:
        return None
    voters = [name for name in columns if name != item]
    n_rows = sum(about.num_rows for about in map(_read_metadata, files))

    def start() -> Iterator[Batch]:
        for frame in read_frames(files):
            names = None if item is None else read_names(frame.get_column(item))
            yield Batch(len(frame), names, [read_column(frame.get_column(name)) for name in voters])

    return WideStream(voters, start, n_rows)


def read_frames(files: Sequence[Path]) -> Iterator[Any]:
    """Yield the rows of all files in frames of at most `ROWS`."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    for path in files:
        with reading(path), pq.ParquetFile(path, read_dictionary=list_texts(path)) as file:
            for batch in file.iter_batches(ROWS, use_threads=False):
                batch.validate(full=True)
                yield as_frame(pa.Table.from_batches([batch]))


def read_table(files: Sequence[Path]) -> Any:
    """Return all rows as one Arrow table."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    columns = read_columns(files)
    tables = []
    for file in files:
        with reading(file):
            texts = list_texts(file)
            tables.append(pq.read_table(file, columns=columns, read_dictionary=texts))
            tables[-1].validate(full=True)  # codes in a damaged file may exceed its labels
    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid:
        raise VotesError("a column has different types in different files; use one type") from None


def list_texts(file: Path) -> list[str]:
    """Return the text columns, to be read as dictionaries of their few distinct labels."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    schema = pq.read_schema(file)
    return [field.name for field in schema if any(test(field.type) for test in tests)]


def _read_metadata(file: Path) -> Any:
    import pyarrow.parquet as pq  # noqa: PLC0415

    with reading(file):
        return pq.read_metadata(file)
