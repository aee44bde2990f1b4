"""The tables of the OMOP common data model 5.4 that the datamart fills, as SQL.

Names, order and types of the columns follow the published model; record identifiers have 64 bits,
which the model allows. A column marked ! is required.
"""

import re

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
