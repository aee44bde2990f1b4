"""A simulated datamart as a DuckDB file in the OMOP common data model."""

import errno
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.ehr.datamart.cdm import TABLES, create_table
from unelisa.ehr.datamart.concepts import Block
from unelisa.ehr.datamart.patients import SimulatedEhr
from unelisa.ehr.datamart.records import list_tables
from unelisa.errors import missing_extra
from unelisa.outputs import whole_file

Advance = Callable[[str, int], None]  # table, rows written


def write_datamart(
    drawn: SimulatedEhr,
    path: str | Path,
    random_state: int | np.random.Generator | None = 0,
    advance: Advance | None = None,
) -> None:
    """Write a simulated datamart as an OMOP database, without its truth.

    The DuckDB file is written completely or not at all. The seed determines what the counts do not,
    such as the days. `advance` is called with the name of a table and the number of rows written.
    """
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise missing_extra("databases need DuckDB", "omop") from None
    rng = np.random.default_rng(random_state)
    with whole_file(path) as draft:
        try:
            with duckdb.connect(str(draft)) as connection:
                for table in TABLES:
                    connection.execute(create_table(table))
                for table, blocks in list_tables(drawn, rng):
                    connection.register("rows", _stream(table, blocks, advance))
                    insert = f"INSERT INTO {table} BY NAME SELECT * FROM rows"  # noqa: S608
                    connection.execute(insert)
                    connection.unregister("rows")
        except (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException):
            raise OSError(errno.EIO, "the disk is full or failed", str(path)) from None


def _stream(table: str, blocks: Iterable[Block], advance: Advance | None) -> Any:
    """Return the blocks as a reader of Arrow batches, repeating single values."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    def batch(block: Block) -> Any:
        n = next(len(v) for v in block.values() if isinstance(v, np.ndarray | list))
        columns = dict(block)
        for name, value in block.items():
            if not isinstance(value, np.ndarray | list):
                kind = pa.string() if value is None else None
                columns[name] = pa.repeat(pa.scalar(value, kind), n)
        if advance is not None:
            advance(table, n)
        return pa.record_batch(columns)

    batches = map(batch, blocks)
    first = next(batches)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
