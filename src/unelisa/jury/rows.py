"""Rows of tables as records: CSV, Parquet, Arrow, and frames in memory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unelisa.errors import VotesError
from unelisa.jury import argilla, inspect_logs, long_records, pairs
from unelisa.jury.fields import Record
from unelisa.memory import refuse_beyond
from unelisa.sources.arrow import measure_feather, read_feather, refuse_nested
from unelisa.sources.files import TextTable, reading, refuse_bomb

PARQUET, FEATHER, STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
ROWS = 1 << 14  # per batch
MOST_FIELDS = 20  # that a message lists
_PLAIN = re.compile(r"[a-z_.]{1,40}")  # of a schema, and not of a person
Columns = Mapping[str, str]  # kind of column -> its name, as declared
# what a table of samples has besides scores
_SAMPLES = ("id", "epoch", "sample_id", "model", "eval_id", "log", "task_name", "error")


def read_rows(path: Path, start: bytes, named: Columns) -> Iterator[Record]:
    """Yield the rows of a table by its format, with the columns that are needed."""
    with reading(path):
        if start.startswith(PARQUET):
            yield from _read_parquet(path, named)
        elif start.startswith((FEATHER, STREAM)):
            yield from _read_arrow(path, named)
        else:
            table = TextTable(path)
            for batch in table.batches(choose_columns(table.header, path.name, named)):
                yield from batch.to_pylist()


def read_frame(frame: Any, named: Columns) -> Iterator[Record]:
    """Yield the rows of a narwhals frame."""
    yield from frame.select(choose_columns(frame.columns, "the table", named)).iter_rows(named=True)


def choose_columns(names: Sequence[str], file: str, named: Columns) -> list[str]:
    """Return the columns that verdicts are made of: as declared, or by their usual names."""
    if named:
        missing = [name for name in named.values() if name not in names]
        if missing:
            raise VotesError(f"{file} has no column {missing[0][:60]!r}")
        return list(dict.fromkeys(named.values()))
    record = dict.fromkeys(names)
    if long_records.fits(record):
        return [name for name in names if name.lower() in long_records.COLUMNS]
    if inspect_logs.fits(record):
        return [name for name in names if name in _SAMPLES or name.startswith(inspect_logs.SCORE)]
    if pairs.fits(record):
        return [name for name in names if name in pairs.COLUMNS]
    if argilla.fits(record):
        return list(names)
    raise VotesError(
        f"{file} has no columns of items, judges and labels ({list_fields(names)}); name them with "
        "item, judge and label; a table with one column per judge is read by read_votes (unelisa "
        "fit)"
    )


def list_fields(names: Sequence[str]) -> str:
    """Return the fields that were seen; names that may be those of items are only counted."""
    shown = sorted(name for name in names if _PLAIN.fullmatch(name))[:MOST_FIELDS]
    more = len(names) - len(shown)
    other = f" and {more} other{'s' if more > 1 else ''}" if more else ""
    return f"it has the fields {', '.join(shown)}{other}" if shown else f"it has {more} fields"


def _read_parquet(path: Path, named: Columns) -> Iterator[Record]:
    import pyarrow as pa  # noqa: PLC0415 - only files need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(path) as file:
        names = choose_columns(file.schema_arrow.names, path.name, named)
        refuse_nested(pa.schema(map(_take_parts, map(file.schema_arrow.field, names))))
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
        cells = [group.column(c) for group in groups for c in range(group.num_columns)]
        unpacked = sum(
            c.total_uncompressed_size for c in cells if c.path_in_schema.split(".")[0] in names
        )
        refuse_bomb(path.name, path.stat().st_size, unpacked)
        for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
            batch.validate(full=True)
            yield from batch.to_pylist()


def _read_arrow(path: Path, named: Columns) -> Iterator[Record]:
    _, unpacked, columns = measure_feather(path)
    refuse_bomb(path.name, path.stat().st_size, unpacked)
    refuse_beyond(2 * unpacked, path.name)
    table = read_feather(path).select(choose_columns(columns, path.name, named))
    for batch in table.to_batches(ROWS):
        yield from batch.to_pylist()


def _take_parts(field: Any) -> Any:
    """Return a column; of a list of cells, one cell."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    listed = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
    return pa.field(field.name, field.type.value_type) if listed else field
