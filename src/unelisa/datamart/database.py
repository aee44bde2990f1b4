"""A simulated datamart as a DuckDB file in the OMOP common data model."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.datamart.cdm import TABLES, create_table
from unelisa.datamart.concepts import CDM_54, list_ancestors, list_concepts
from unelisa.datamart.patients import SimulatedEhr
from unelisa.datamart.records import (
    REVIEWED_COHORT,
    Block,
    Calendar,
    list_conditions,
    list_mentions,
    list_notes,
    list_periods,
    list_persons,
    list_reviewed,
    list_tests,
    list_visits,
)
from unelisa.errors import missing_extra
from unelisa.outputs import whole_file

Advance = Callable[[str, int], None]  # table, rows written
_MADE = "2026-01-01"
_MANY_ROWS = 300_000


def write_datamart(
    drawn: SimulatedEhr,
    path: str | Path,
    random_state: int | np.random.Generator | None = 0,
    advance: Advance | None = None,
) -> None:
    """Write a simulated datamart as an OMOP database; its truth stays out.

    Parameters
    ----------
    drawn
        The datamart.
    path
        The DuckDB file, which appears whole or not at all.
    random_state
        Seed or generator of what the counts leave open, such as the days.
    advance
        Called with the name of a table and the number of rows written to it.
    """
    duckdb = _require_duckdb()
    rng = np.random.default_rng(random_state)
    with whole_file(path) as draft:
        draft.unlink()  # DuckDB makes its file itself
        with duckdb.connect(str(draft)) as connection:
            for table in TABLES:
                connection.execute(create_table(table))
            for table, rows in _gather(_list_blocks(drawn, rng)):
                connection.register("block", rows)
                connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM block")  # noqa: S608
                connection.unregister("block")
                if advance is not None:
                    advance(table, rows.num_rows)


def _list_blocks(drawn: SimulatedEhr, rng: np.random.Generator) -> Iterator[tuple[str, Block]]:
    calendar = Calendar(drawn, rng)
    yield "person", list_persons(drawn, rng)
    yield "observation_period", list_periods(calendar)
    yield "visit_occurrence", list_visits(calendar)
    yield "note", list_notes(calendar)
    yield from _named("condition_occurrence", list_conditions(drawn, calendar, rng))
    yield from _named("note_nlp", list_mentions(drawn, calendar, rng))
    yield "measurement", list_tests(drawn, calendar, rng)
    yield "cohort", list_reviewed(drawn, calendar)
    yield "cohort_definition", _column_wise([_describe_reviewed()])
    yield "concept", _column_wise(list_concepts())
    yield "concept_ancestor", _column_wise(list_ancestors())
    yield "cdm_source", _column_wise([_describe_source()])


def _gather(blocks: Iterable[tuple[str, Block]]) -> Iterator[tuple[str, Any]]:
    """Yield Arrow tables of many rows: each one costs the database a fixed time."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    for table, ours in groupby(blocks, key=lambda one: one[0]):
        held: list[Any] = []
        for _, block in ours:
            held.append(_arrow(block))
            if sum(rows.num_rows for rows in held) > _MANY_ROWS:
                yield table, pa.concat_tables(held)
                held = []
        if held:
            yield table, pa.concat_tables(held)


def _named(table: str, blocks: Iterable[Block]) -> Iterator[tuple[str, Block]]:
    return ((table, block) for block in blocks)


def _describe_reviewed() -> dict[str, Any]:
    return {
        "cohort_definition_id": REVIEWED_COHORT,
        "cohort_definition_name": "charts reviewed",
        "definition_type_concept_id": 0,
        "subject_concept_id": 0,
    }


def _describe_source() -> dict[str, Any]:
    return {
        "cdm_source_name": "simulated rheumatoid arthritis datamart",
        "cdm_source_abbreviation": "simulated",
        "cdm_holder": "unelisa",
        "source_description": "no patient of this database exists",
        "source_release_date": _MADE,
        "cdm_release_date": _MADE,
        "cdm_version": "5.4",
        "cdm_version_concept_id": CDM_54,
        "vocabulary_version": "simulated",
    }


def _column_wise(rows: list[dict[str, Any]]) -> Block:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _arrow(block: Block) -> Any:
    """Return a block as an Arrow table; a single value stands for all rows."""
    import pyarrow as pa  # noqa: PLC0415 - only files need it

    n = next(len(v) for v in block.values() if isinstance(v, np.ndarray | list))
    return pa.table(
        {
            name: pa.array(values)
            if isinstance(values, np.ndarray | list)
            else pa.repeat(pa.scalar(values, pa.string() if values is None else None), n)
            for name, values in block.items()
        }
    )


def _require_duckdb() -> Any:
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise missing_extra("databases need DuckDB", "omop") from None
    return duckdb
