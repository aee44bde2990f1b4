"""Parquet files of votes, one or a folder of them, batch by batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError
from unelisa.frames import as_frame, long_columns, read_column, read_names
from unelisa.sources.streams import Batch, WideStream

ROWS = 1 << 16  # of a batch
ColumnNames = tuple[str | None, str | None, str | None]


def list_parquet(path: Path) -> list[Path]:
    """Return the Parquet files of a folder, at any depth, by name; a file is its own list."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*.parquet") if file.is_file())
    if not files:
        raise VotesError(f"{path.name} is a folder without Parquet files; name a file of votes")
    return files


def count_cells(files: Sequence[Path]) -> int:
    """Return rows times columns, from the files' own tables of contents."""
    return sum(_count(file)[0] * _count(file)[1] for file in files)


def count_bytes(files: Sequence[Path]) -> int:
    """Return about how much memory reading all files at once takes: cells as stored, and votes."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only files need it

    needed = 0
    for file in files:
        widths = [_width(kind) + 3 for kind in pq.read_schema(file).types]
        needed += _count(file)[0] * sum(widths)
    return needed


def _width(kind: Any) -> int:
    """Return the bytes of a cell; of text, whose length the schema does not tell, about 16."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 16


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn what Arrow says of a file that is none of Parquet into a sentence."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, PermissionError):
            told = "cannot be read: permission denied"
        elif file.stat().st_size == 0:
            told = "is empty"
        else:
            told = "cannot be read: it is damaged or not in the format that its ending says"
        raise VotesError(f"{file.name} {told}") from None


def read_columns(files: Sequence[Path]) -> list[str]:
    """Return the columns' names, which must be the same in all files."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only files need it

    schemas = []
    for file in files:
        with _reading(file):
            schemas.append(pq.read_schema(file).names)
    for file, names in zip(files, schemas, strict=True):
        if len(set(names)) < len(names):
            raise VotesError(f"{file.name} has two columns of one name; rename one")
        if sorted(names) != sorted(schemas[0]):
            raise VotesError(f"{file.name} has other columns than {files[0].name}")
    return [str(name) for name in schemas[0]]


def stream_wide(files: Sequence[Path], named: ColumnNames) -> WideStream | None:
    """Return the files as one wide table, or None where they hold one row per vote."""
    columns = read_columns(files)
    item, voter, vote = long_columns(columns, named)
    if item is not None and voter is not None and vote is not None:
        return None
    voters = [name for name in columns if name != item]
    n_rows = sum(_count(file)[0] for file in files)

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
        with _reading(path), pq.ParquetFile(path, read_dictionary=list_texts(path)) as file:
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
        with _reading(file):
            texts = list_texts(file)
            tables.append(pq.read_table(file, columns=columns, read_dictionary=texts))
            tables[-1].validate(full=True)  # a damaged file may point beyond its own labels
    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid:
        raise VotesError("a column has different types in different files; make them one") from None


def list_texts(file: Path) -> list[str]:
    """Return the columns of text: kept as the few labels they repeat, they do not fill memory."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    schema = pq.read_schema(file)
    return [field.name for field in schema if any(test(field.type) for test in tests)]


def _count(file: Path) -> tuple[int, int]:
    import pyarrow.parquet as pq  # noqa: PLC0415

    with _reading(file):
        about = pq.read_metadata(file)
    return int(about.num_rows), int(about.num_columns)
