"""A simulated datamart as a DuckDB file in the OMOP common data model."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.datamart.cdm import TABLES, create_table
from unelisa.datamart.concepts import Block
from unelisa.datamart.patients import SimulatedEhr
from unelisa.datamart.records import list_tables
from unelisa.errors import missing_extra
from unelisa.outputs import whole_file

Advance = Callable[[str, int], None]  # table, rows written
_MANY_ROWS = 300_000


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
        draft.unlink()  # DuckDB creates its file itself
        with duckdb.connect(str(draft)) as connection:
            for table in TABLES:
                connection.execute(create_table(table))
            for table, blocks in list_tables(drawn, rng):
                for rows in _gather(blocks):
                    connection.register("block", rows)
                    insert = f"INSERT INTO {table} BY NAME SELECT * FROM block"  # noqa: S608
                    connection.execute(insert)
                    connection.unregister("block")
                    if advance is not None:
                        advance(table, rows.num_rows)


def _gather(blocks: Iterable[Block]) -> Iterator[Any]:
    """Yield Arrow tables of many rows: each insertion costs the database a fixed time."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    waiting: list[Any] = []
    for block in blocks:
        waiting.append(_arrow(block))
        if sum(rows.num_rows for rows in waiting) > _MANY_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _arrow(block: Block) -> Any:
    """Return a block as an Arrow table, repeating single values."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    n = next(len(v) for v in block.values() if isinstance(v, np.ndarray | list))
    columns = dict(block)
    for name, value in block.items():
        if not isinstance(value, np.ndarray | list):
            columns[name] = pa.repeat(pa.scalar(value, pa.string() if value is None else None), n)
    return pa.table(columns)
