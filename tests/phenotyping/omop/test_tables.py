import duckdb
import ibis
import pytest

import unelisa as ue
from unelisa.errors import RecordsError
from unelisa.sources.omop_tables import OmopTables, explain_engine


def change(file, *statements):
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_missing_table_is_named_with_what_was_found(tiny_file):
    change(tiny_file, "DROP TABLE note_nlp")
    with pytest.raises(RecordsError) as error:
        ue.read_omop(tiny_file, ["NLP:%"])
    assert str(error.value) == (
        "there is no table note_nlp; found cohort, concept, concept_ancestor, "
        "condition_occurrence, drug_exposure, measurement, note, person"
    )


def test_a_missing_column_is_named_with_what_was_found(tiny_file):
    change(
        tiny_file,
        "ALTER TABLE note_nlp DROP COLUMN term_exists",
        "ALTER TABLE note_nlp DROP COLUMN term_modifiers",
    )
    with pytest.raises(
        RecordsError, match="no column term_exists and no term_modifiers; found"
    ) as e:
        ue.read_omop(tiny_file, ["NLP:%"])
    assert "lexical_variant" in str(e.value)


def test_a_text_file_without_a_header_does_not_show_its_first_record(tmp_path):
    (tmp_path / "person.csv").write_text("person_id\n1\n")
    (tmp_path / "condition_occurrence.csv").write_text("1,0,2001-01-01,M05,Smith\n")
    with pytest.raises(RecordsError, match="no condition_source_value; found none"):
        ue.read_omop(tmp_path, ["ICD:714.0"])
    (tmp_path / "person.csv").write_text("patient_id,surname\n1,Smith\n")
    with pytest.raises(RecordsError, match="no column person_id; found patient_id$"):
        ue.read_omop(tmp_path, ["ICD:714.0"])


def test_an_empty_database_is_told(tmp_path):
    change(tmp_path / "empty.duckdb")
    with pytest.raises(RecordsError, match="there is no table person; found none"):
        ue.read_omop(tmp_path / "empty.duckdb", ["ICD:1"])


@pytest.mark.parametrize("schema", ['cdm"; DROP TABLE person; --', "a b", "", "a.b.c", "1a"])
def test_a_schema_is_a_plain_name(tiny_file, schema):
    with pytest.raises(RecordsError, match="plain name"):
        ue.read_omop(tiny_file, ["ICD:714.0"], schema=schema)


def test_names_may_be_in_capitals(tiny_file):
    change(
        tiny_file,
        "CREATE SCHEMA big",
        'CREATE TABLE big."PERSON" AS SELECT person_id AS "PERSON_ID" FROM person',
        'CREATE TABLE big."CONDITION_OCCURRENCE" AS SELECT person_id AS "PERSON_ID", '
        'condition_concept_id AS "CONDITION_CONCEPT_ID", condition_start_date AS '
        '"CONDITION_START_DATE", condition_source_value AS "CONDITION_SOURCE_VALUE" '
        "FROM condition_occurrence",
    )
    table = ue.read_omop(tiny_file, ["ICD:714.0"], schema="big", utilization=None)
    assert table["ICD:714.0"].tolist() == [2, 0, 0]


def test_times_are_dates(tiny_file):
    change(
        tiny_file,
        "ALTER TABLE condition_occurrence ALTER condition_start_date TYPE timestamp",
        "UPDATE condition_occurrence SET condition_start_date = "
        "condition_start_date + INTERVAL 3 HOUR WHERE condition_occurrence_id = 2",
    )
    table = ue.read_omop(tiny_file, ["ICD:714.0"], utilization=None)
    assert table["ICD:714.0"].tolist() == [2, 0, 0]


def test_an_engine_s_message_is_left_out_because_it_quotes_records(tiny_file):
    change(
        tiny_file,
        "ALTER TABLE condition_occurrence ALTER condition_start_date TYPE varchar",
        "UPDATE condition_occurrence SET condition_start_date = 'Mrs Smith'",
    )
    with pytest.raises(RecordsError, match="failed while counting ICD counts") as error:
        ue.read_omop(tiny_file, ["ICD:714.0"])
    assert "Smith" not in str(error.value)
    assert error.value.__suppress_context__


def test_a_fault_of_the_program_is_not_blamed_on_the_records():
    with pytest.raises(AttributeError), explain_engine("counting"):
        OmopTables.nothing  # noqa: B018


def test_an_open_connection_serves_and_stays_open(tiny_file):
    connection = ibis.duckdb.connect(tiny_file)
    ue.read_omop(connection, ["ICD:714.0"])
    assert "person" in connection.list_tables()
