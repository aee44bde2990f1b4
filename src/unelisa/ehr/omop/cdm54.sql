-- The tables of the OMOP common data model 5.4 that a simulated datamart fills, for DuckDB and PostgreSQL.
CREATE TABLE person (
  person_id bigint NOT NULL,
  gender_concept_id integer NOT NULL,
  year_of_birth integer NOT NULL,
  month_of_birth integer,
  day_of_birth integer,
  birth_datetime timestamp,
  race_concept_id integer NOT NULL,
  ethnicity_concept_id integer NOT NULL,
  location_id integer,
  provider_id integer,
  care_site_id integer,
  person_source_value varchar,
  gender_source_value varchar,
  gender_source_concept_id integer,
  race_source_value varchar,
  race_source_concept_id integer,
  ethnicity_source_value varchar,
  ethnicity_source_concept_id integer
);
CREATE TABLE observation_period (
  observation_period_id bigint NOT NULL,
  person_id bigint NOT NULL,
  observation_period_start_date date NOT NULL,
  observation_period_end_date date NOT NULL,
  period_type_concept_id integer NOT NULL
);
CREATE TABLE visit_occurrence (
  visit_occurrence_id bigint NOT NULL,
  person_id bigint NOT NULL,
  visit_concept_id integer NOT NULL,
  visit_start_date date NOT NULL,
  visit_start_datetime timestamp,
  visit_end_date date NOT NULL,
  visit_end_datetime timestamp,
  visit_type_concept_id integer NOT NULL,
  provider_id integer,
  care_site_id integer,
  visit_source_value varchar,
  visit_source_concept_id integer,
  admitted_from_concept_id integer,
  admitted_from_source_value varchar,
  discharged_to_concept_id integer,
  discharged_to_source_value varchar,
  preceding_visit_occurrence_id bigint
);
CREATE TABLE condition_occurrence (
  condition_occurrence_id bigint NOT NULL,
  person_id bigint NOT NULL,
  condition_concept_id integer NOT NULL,
  condition_start_date date NOT NULL,
  condition_start_datetime timestamp,
  condition_end_date date,
  condition_end_datetime timestamp,
  condition_type_concept_id integer NOT NULL,
  condition_status_concept_id integer,
  stop_reason varchar,
  provider_id integer,
  visit_occurrence_id bigint,
  visit_detail_id bigint,
  condition_source_value varchar,
  condition_source_concept_id integer,
  condition_status_source_value varchar
);
CREATE TABLE measurement (
  measurement_id bigint NOT NULL,
  person_id bigint NOT NULL,
  measurement_concept_id integer NOT NULL,
  measurement_date date NOT NULL,
  measurement_datetime timestamp,
  measurement_time varchar,
  measurement_type_concept_id integer NOT NULL,
  operator_concept_id integer,
  value_as_number numeric,
  value_as_concept_id integer,
  unit_concept_id integer,
  range_low numeric,
  range_high numeric,
  provider_id integer,
  visit_occurrence_id bigint,
  visit_detail_id bigint,
  measurement_source_value varchar,
  measurement_source_concept_id integer,
  unit_source_value varchar,
  unit_source_concept_id integer,
  value_source_value varchar,
  measurement_event_id bigint,
  meas_event_field_concept_id integer
);
CREATE TABLE note (
  note_id bigint NOT NULL,
  person_id bigint NOT NULL,
  note_date date NOT NULL,
  note_datetime timestamp,
  note_type_concept_id integer NOT NULL,
  note_class_concept_id integer NOT NULL,
  note_title varchar,
  note_text text NOT NULL,
  encoding_concept_id integer NOT NULL,
  language_concept_id integer NOT NULL,
  provider_id integer,
  visit_occurrence_id bigint,
  visit_detail_id bigint,
  note_source_value varchar,
  note_event_id bigint,
  note_event_field_concept_id integer
);
CREATE TABLE note_nlp (
  note_nlp_id bigint NOT NULL,
  note_id bigint NOT NULL,
  section_concept_id integer,
  snippet varchar,
  "offset" varchar,
  lexical_variant varchar NOT NULL,
  note_nlp_concept_id integer,
  note_nlp_source_concept_id integer,
  nlp_system varchar,
  nlp_date date NOT NULL,
  nlp_datetime timestamp,
  term_exists varchar(1),
  term_temporal varchar,
  term_modifiers varchar
);
CREATE TABLE concept (
  concept_id integer NOT NULL,
  concept_name varchar NOT NULL,
  domain_id varchar NOT NULL,
  vocabulary_id varchar NOT NULL,
  concept_class_id varchar NOT NULL,
  standard_concept varchar(1),
  concept_code varchar NOT NULL,
  valid_start_date date NOT NULL,
  valid_end_date date NOT NULL,
  invalid_reason varchar(1)
);
CREATE TABLE concept_ancestor (
  ancestor_concept_id integer NOT NULL,
  descendant_concept_id integer NOT NULL,
  min_levels_of_separation integer NOT NULL,
  max_levels_of_separation integer NOT NULL
);
CREATE TABLE cohort (
  cohort_definition_id integer NOT NULL,
  subject_id bigint NOT NULL,
  cohort_start_date date NOT NULL,
  cohort_end_date date NOT NULL
);
CREATE TABLE cohort_definition (
  cohort_definition_id integer NOT NULL,
  cohort_definition_name varchar NOT NULL,
  cohort_definition_description text,
  definition_type_concept_id integer NOT NULL,
  cohort_definition_syntax text,
  subject_concept_id integer NOT NULL,
  cohort_initiation_date date
);
CREATE TABLE cdm_source (
  cdm_source_name varchar NOT NULL,
  cdm_source_abbreviation varchar NOT NULL,
  cdm_holder varchar NOT NULL,
  source_description text,
  source_documentation_reference varchar,
  cdm_etl_reference varchar,
  source_release_date date NOT NULL,
  cdm_release_date date NOT NULL,
  cdm_version varchar,
  cdm_version_concept_id integer NOT NULL,
  vocabulary_version varchar NOT NULL
);
