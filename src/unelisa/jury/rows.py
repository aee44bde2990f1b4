"""Rows of tables as records: CSV, Parquet, Arrow, and frames in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError
from unelisa.jury import inspect_logs, long_records
from unelisa.jury.fields import Record
from unelisa.memory import refuse_beyond
from unelisa.sources.arrow import measure_feather, read_feather
from unelisa.sources.files import reading, refuse_bomb, refuse_nested
from unelisa.sources.text import TextTable

PARQUET, FEATHER, STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
ROWS = 1 << 14  # per batch
_SAMPLES = ("id", "epoch", "model", "eval_id", "log")  # what a table of samples has besides scores


def read_rows(path: Path, start: bytes) -> Iterator[Record]:
    """Yield the rows of a table, whose first bytes tell its format, with the columns we need."""
    with reading(path):
        if start.startswith(PARQUET):
            yield from _read_parquet(path)
        elif start.startswith((FEATHER, STREAM)):
            yield from _read_arrow(path)
        else:
            table = TextTable(path)
            for batch in table.batches(choose_columns(table.header, path.name)):
                yield from batch.to_pylist()


def read_frame(frame: Any) -> Iterator[Record]:
    """Yield the rows of a narwhals frame."""
    yield from frame.select(choose_columns(frame.columns, "the table")).iter_rows(named=True)


def choose_columns(names: Sequence[str], file: str) -> list[str]:
    """Return the columns that verdicts are made of.

    Examples
    --------
    >>> choose_columns(["item", "text", "judge", "label"], "panel.csv")
    ['item', 'judge', 'label']
    """
    record = dict.fromkeys(names)
    if inspect_logs.fits(record) and not long_records.fits(record):
        return [name for name in names if name in _SAMPLES or name.startswith(inspect_logs.SCORE)]
    if not long_records.fits(record):
        raise VotesError(
            f"{file} has no columns of items, judges and labels; a table with one column per judge "
            "is read by read_votes (unelisa fit)"
        )
    return [name for name in names if name.lower() in long_records.COLUMNS]


def _read_parquet(path: Path) -> Iterator[Record]:
    import pyarrow as pa  # noqa: PLC0415 - only files need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(path) as file:
        names = choose_columns(file.schema_arrow.names, path.name)
        refuse_nested(pa.schema([file.schema_arrow.field(name) for name in names]))
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
        cells = [group.column(c) for group in groups for c in range(group.num_columns)]
        unpacked = sum(c.total_uncompressed_size for c in cells if c.path_in_schema in names)
        refuse_bomb(path.name, path.stat().st_size, unpacked)
        for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
            batch.validate(full=True)
            yield from batch.to_pylist()


def _read_arrow(path: Path) -> Iterator[Record]:
    _, unpacked, columns = measure_feather(path)
    refuse_bomb(path.name, path.stat().st_size, unpacked)
    refuse_beyond(2 * unpacked, path.name)
    for batch in read_feather(path).select(choose_columns(columns, path.name)).to_batches(ROWS):
        yield from batch.to_pylist()
