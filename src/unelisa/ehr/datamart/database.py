"""A simulated datamart as a DuckDB file in the OMOP common data model."""

import errno
import re
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.ehr.datamart.patients import SimulatedEhr
from unelisa.ehr.datamart.records import Block, list_tables
from unelisa.errors import missing_extra
from unelisa.outputs import whole_file

_MODEL = """
person: person_id! bigint; gender_concept_id! integer; year_of_birth! integer; month_of_birth
  integer; day_of_birth integer; birth_datetime timestamp; race_concept_id! integer;
  ethnicity_concept_id! integer; location_id integer; provider_id integer; care_site_id integer;
  person_source_value varchar; gender_source_value varchar; gender_source_concept_id integer;
  race_source_value varchar; race_source_concept_id integer; ethnicity_source_value varchar;
  ethnicity_source_concept_id integer
observation_period: observation_period_id! bigint; person_id! bigint; observation_period_start_date!
  date; observation_period_end_date! date; period_type_concept_id! integer
visit_occurrence: visit_occurrence_id! bigint; person_id! bigint; visit_concept_id! integer;
  visit_start_date! date; visit_start_datetime timestamp; visit_end_date! date; visit_end_datetime
  timestamp; visit_type_concept_id! integer; provider_id integer; care_site_id integer;
  visit_source_value varchar; visit_source_concept_id integer; admitted_from_concept_id integer;
  admitted_from_source_value varchar; discharged_to_concept_id integer; discharged_to_source_value
  varchar; preceding_visit_occurrence_id bigint
condition_occurrence: condition_occurrence_id! bigint; person_id! bigint; condition_concept_id!
  integer; condition_start_date! date; condition_start_datetime timestamp; condition_end_date date;
  condition_end_datetime timestamp; condition_type_concept_id! integer; condition_status_concept_id
  integer; stop_reason varchar; provider_id integer; visit_occurrence_id bigint; visit_detail_id
  bigint; condition_source_value varchar; condition_source_concept_id integer;
  condition_status_source_value varchar
measurement: measurement_id! bigint; person_id! bigint; measurement_concept_id! integer;
  measurement_date! date; measurement_datetime timestamp; measurement_time varchar;
  measurement_type_concept_id! integer; operator_concept_id integer; value_as_number numeric;
  value_as_concept_id integer; unit_concept_id integer; range_low numeric; range_high numeric;
  provider_id integer; visit_occurrence_id bigint; visit_detail_id bigint; measurement_source_value
  varchar; measurement_source_concept_id integer; unit_source_value varchar; unit_source_concept_id
  integer; value_source_value varchar; measurement_event_id bigint; meas_event_field_concept_id
  integer
note: note_id! bigint; person_id! bigint; note_date! date; note_datetime timestamp;
  note_type_concept_id! integer; note_class_concept_id! integer; note_title varchar; note_text!
  text; encoding_concept_id! integer; language_concept_id! integer; provider_id integer;
  visit_occurrence_id bigint; visit_detail_id bigint; note_source_value varchar; note_event_id
  bigint; note_event_field_concept_id integer
note_nlp: note_nlp_id! bigint; note_id! bigint; section_concept_id integer; snippet varchar;
  "offset" varchar; lexical_variant! varchar; note_nlp_concept_id integer;
  note_nlp_source_concept_id integer; nlp_system varchar; nlp_date! date; nlp_datetime timestamp;
  term_exists varchar(1); term_temporal varchar; term_modifiers varchar
concept: concept_id! integer; concept_name! varchar; domain_id! varchar; vocabulary_id! varchar;
  concept_class_id! varchar; standard_concept varchar(1); concept_code! varchar; valid_start_date!
  date; valid_end_date! date; invalid_reason varchar(1)
concept_ancestor: ancestor_concept_id! integer; descendant_concept_id! integer;
  min_levels_of_separation! integer; max_levels_of_separation! integer
cohort: cohort_definition_id! integer; subject_id! bigint; cohort_start_date! date; cohort_end_date!
  date
cohort_definition: cohort_definition_id! integer; cohort_definition_name! varchar;
  cohort_definition_description text; definition_type_concept_id! integer; cohort_definition_syntax
  text; subject_concept_id! integer; cohort_initiation_date date
cdm_source: cdm_source_name! varchar; cdm_source_abbreviation! varchar; cdm_holder! varchar;
  source_description text; source_documentation_reference varchar; cdm_etl_reference varchar;
  source_release_date! date; cdm_release_date! date; cdm_version varchar; cdm_version_concept_id!
  integer; vocabulary_version! varchar
"""

TABLES = dict(table.split(": ", 1) for table in re.split(r"\n(?=\w)", _MODEL.strip()))


def create_table(name: str) -> str:
    """Return the statement that creates a table, for both DuckDB and PostgreSQL.

    Examples
    --------
    >>> create_table("cohort")[:60]
    'CREATE TABLE cohort (cohort_definition_id integer NOT NULL, '
    """
    columns = []
    for column in TABLES[name].split(";"):
        title, kind = column.split()
        required = " NOT NULL" if title.endswith("!") else ""
        columns.append(f"{title.rstrip('!')} {kind}{required}")
    return f"CREATE TABLE {name} ({', '.join(columns)})"


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
