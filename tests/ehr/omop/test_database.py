import gzip
import os
import re
import sys
from pathlib import Path

import duckdb
import ibis
import pandas as pd
import pytest

import unelisa as ue
from unelisa.ehr.omop.database import OmopTables, explain_engine, open_database
from unelisa.errors import MissingExtraError, RecordsError

ASKED = ["ICD:714.%", "NLP:%", "CONCEPT:10+", "LAB:21"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz"])
def test_a_folder_of_files_gives_the_same_counts(tiny_file, tmp_path, ending):
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    with duckdb.connect(str(tiny_file), read_only=True) as connection:
        for (table,) in connection.execute("SHOW TABLES").fetchall():
            rows = connection.table(table).df()
            if ending == "parquet":
                rows.to_parquet(folder / f"{table}.{ending}")
            else:
                rows.to_csv(folder / f"{table}.{ending}", index=False)
    pd.testing.assert_frame_equal(ue.read_omop(folder, ASKED), ue.read_omop(tiny_file, ASKED))


def test_codes_in_text_files_stay_text(tmp_path):
    (tmp_path / "person.csv").write_text("person_id\n1\n")
    (tmp_path / "condition_occurrence.csv").write_text(
        "person_id,condition_concept_id,condition_start_date,condition_source_value\n"
        "1,0,2001-01-01,714.10\n1,0,2001-01-02,0714\n"
    )
    table = ue.read_omop(tmp_path, ["ICD:%"], utilization=None)
    assert list(table) == ["ICD:0714", "ICD:714.10"]


def test_a_first_quote_may_come_late_in_a_text_file(tmp_path):
    rows = "".join(f"{i},1,2001-01-01,\n" for i in range(30_000))
    (tmp_path / "person.csv").write_text("person_id\n1\n")
    late = '30000,1,2001-01-02,"no, ""never"",\nhe said"\n'
    (tmp_path / "note.csv").write_text(f"note_id,person_id,note_date,note_text\n{rows}{late}")
    (tmp_path / "condition_occurrence.csv").write_text(
        "person_id,condition_concept_id,condition_start_date,condition_source_value\n"
        "1,0,2001-01-01,714.0\n"
    )
    table = ue.read_omop(tmp_path, ["ICD:714.0"])
    assert table.to_numpy().tolist() == [[1, 30_001]]


def test_a_vocabulary_may_be_separated_by_tabs_with_quotes_as_letters(tmp_path):
    (tmp_path / "person.csv").write_text("person_id\n1\n")
    (tmp_path / "CONCEPT.csv").write_text(
        'concept_id\tconcept_name\n11\t"Light-for-dates" baby\n12\tHeight 5"\n'
    )
    with gzip.open(tmp_path / "condition_occurrence.csv.gz", "wt") as file:
        file.write("person_id,condition_concept_id,condition_start_date\n1,11,2001-01-01\n")
    table = ue.read_omop(tmp_path, ["CONCEPT:%"], utilization=None)
    assert list(table) == ['CONCEPT:"light-for-dates" baby']


def test_a_torn_text_file_is_refused_without_showing_a_record(tmp_path):
    (tmp_path / "person.csv").write_text("person_id\n1\n")
    (tmp_path / "condition_occurrence.csv").write_text(
        "person_id,condition_concept_id,condition_start_date,condition_source_value\n"
        "1,0,2001-01-01,714.0\n1,0,2001-01-01\n1,0,2001-01-01,714.0,Smith\n"
    )
    with pytest.raises(RecordsError) as error:
        ue.read_omop(tmp_path, ["ICD:714.0"], utilization=None)
    assert str(error.value) == (
        "condition_occurrence.csv cannot be read as a table (InvalidInputException)"
    )


def test_tables_may_be_folders_of_parts_and_endings_in_capitals(tiny_file, tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    with duckdb.connect(str(tiny_file), read_only=True) as connection:
        conditions = connection.table("condition_occurrence").df()
        connection.table("person").df().to_csv(folder / "PERSON.CSV", index=False)
    (folder / "condition_occurrence.parquet").mkdir()
    for part, rows in enumerate((conditions[:3], conditions[3:])):
        rows.to_parquet(folder / "condition_occurrence.parquet" / f"part-{part}.parquet")
    asked = (["ICD:714.%"],)
    pd.testing.assert_frame_equal(
        ue.read_omop(folder, *asked, utilization=None),
        ue.read_omop(tiny_file, *asked, utilization=None),
    )


def test_a_path_without_a_database_is_refused(tmp_path):
    (tmp_path / "a.duckdb").write_text("not a database, of some length " * 200)
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "person.parquet").write_text("x")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "person.csv.gz").write_text("x")
    for name, sentence in {
        "absent.duckdb": "there is no database absent.duckdb",
        "a.duckdb": "cannot be opened as a DuckDB database",
        "folder": "the folder folder has no .parquet, .csv, .csv.gz file",
        "bad": "person.parquet cannot be read as a table",
        "torn": "person.csv.gz cannot be read as a table",
    }.items():
        with pytest.raises(RecordsError, match=sentence):
            ue.read_omop(tmp_path / name, ["ICD:1"])


def test_an_unreachable_server_is_reported(tmp_path):
    with pytest.raises(RecordsError, match=r"server cannot be reached: .*No such file"):
        ue.read_omop(f"postgresql://ann@/cdm?host={tmp_path}", ["ICD:1"])


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:secret@127.0.0.1:1/cdm",
        "postgresql://ann:secret%zz@127.0.0.1:1/cdm",
        "postgresql://ann:x@secret@127.0.0.1:1/cdm",
        "postgresql://ann:secret/x@127.0.0.1:1/cdm",
        "postgresql://127.0.0.1:1/cdm?password=secret",
        "mysql://ann:secret@127.0.0.1:1/cdm",
        "PostgreSQL://ann:secret@127.0.0.1:1/cdm",
        "postgresql:/ann:secret@127.0.0.1:1/cdm",
        "host=127.0.0.1 port=1 user=ann password=secret dbname=cdm",
        "host=127.0.0.1 password=secret " + "x" * 300,
        "jdbc:postgresql://127.0.0.1/cdm?user=ann&pw=secret",
        "jdbc:oracle:thin:ann/secret@//127.0.0.1:1521/cdm",
        "jdbc:sqlserver://127.0.0.1;user=ann;pwd=secret",
        "oracle+cx_oracle://ann/secret@127.0.0.1/cdm",
        "ann/secret@127.0.0.1:1521/cdm",
        "ann/secret@cdm",
        "Server=127.0.0.1;Database=cdm;Uid=ann;Pwd=secret",
    ],
)
def test_a_password_is_never_shown(address):
    said = "cannot be reached|neither a file nor a folder|driver of mysql is not installed"
    with pytest.raises(RecordsError, match=said) as e:
        ue.read_omop(address, ["ICD:1"])
    assert "secret" not in str(e.value)
    assert e.value.__suppress_context__ or e.value.__context__ is None


@pytest.mark.parametrize("statement", ["DROP TABLE person", "DELETE FROM person"])
def test_nothing_can_be_written_while_counting(tiny, statement):
    with open_database(tiny) as connection, pytest.raises(Exception, match=r"read.only"):
        connection.raw_sql(statement)
    assert len(ue.read_omop(tiny, ["ICD:714.0"])) == 3


@pytest.mark.parametrize("package", ["ibis", "psycopg"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"unelisa\[omop\]"):
        ue.read_omop("postgresql://ann@host/cdm", ["ICD:1"])


def change(file, *statements):
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_an_empty_database_or_a_missing_table_is_named_with_what_was_found(tiny_file, tmp_path):
    change(tiny_file, "DROP TABLE note_nlp")
    with pytest.raises(RecordsError) as error:
        ue.read_omop(tiny_file, ["NLP:%"])
    assert str(error.value) == (
        "there is no table note_nlp; found cohort, concept, concept_ancestor, "
        "condition_occurrence, drug_exposure, measurement, note, person; "
        "without mentions in notes, leave out the NLP: features"
    )
    change(tmp_path / "empty.duckdb")
    with pytest.raises(RecordsError, match=r"person; found none; .* its schema under \[cdm\]"):
        ue.read_omop(tmp_path / "empty.duckdb", ["ICD:1"])


@pytest.mark.parametrize(
    ("absent", "asked", "instead"),
    [
        ("note", {"features": ["ICD:714.0"]}, 'utilization = "visit_count", or "none"'),
        (
            "note",
            {"features": ["ICD:1"], "utilization": "visit_count"},
            'utilization = "note_count"',
        ),
        ("concept_ancestor", {"features": ["CONCEPT:10+"], "utilization": None}, "without +"),
        ("concept", {"features": ["CONCEPT:felty%"], "utilization": None}, "by number"),
        ("note", {"features": ["RX.era:31"], "utilization": None}, "RX: instead of RX.era:"),
    ],
)
def test_what_to_write_instead_of_a_missing_table_is_told(tiny_file, absent, asked, instead):
    change(tiny_file, f"DROP TABLE {absent}")
    with pytest.raises(RecordsError) as error:
        ue.read_omop(tiny_file, **asked)
    assert instead in str(error.value)


def move(database, schema, *tables):
    """Move tables into a schema of their own, on either engine."""
    with open_database(database, read_only=False) as connection:
        connection.raw_sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.raw_sql(f"CREATE SCHEMA {schema}")
        for table in tables:
            connection.raw_sql(f"CREATE TABLE {schema}.{table} AS SELECT * FROM {table}")  # noqa: S608
            connection.raw_sql(f"DROP TABLE {table}")


def test_the_vocabulary_may_have_a_schema_of_its_own(tiny):
    asked = {"features": ["CONCEPT:10+", "CONCEPT:%"], "utilization": None}
    together = ue.read_omop(tiny, **asked)
    move(tiny, "vocab", "concept", "concept_ancestor")
    # the schema that has the table is found, and where to name it is told
    with pytest.raises(RecordsError, match=r'schema = ".*vocab.* under \[vocabulary\]'):
        ue.read_omop(tiny, **asked)
    apart = ue.read_omop(tiny, **asked, vocabulary_schema="vocab")
    pd.testing.assert_frame_equal(apart, together)


def test_records_in_another_schema_are_found_and_the_schema_is_named(tiny_server, tiny_file):
    asked = {"features": ["ICD:714.0"], "utilization": None}
    for database, here in ((tiny_server, " in the schema public"), (tiny_file, "")):
        move(database, "records", "person", "condition_occurrence")
        with pytest.raises(RecordsError) as error:
            ue.read_omop(database, **asked)
        assert str(error.value).startswith(f"there is no table person{here}; found ")
        assert re.search(r'write schema = ".*records.* under \[cdm\]', str(error.value))
        assert len(ue.read_omop(database, **asked, schema="records")) == 3


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


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y%m%d", "%Y-%m-%d 00:00:00", " %Y-%m-%dT00:00:00Z", "number", "datetime"]
)
def test_dates_may_be_written_in_several_ways(tiny_file, form):
    kind = {"number": "integer", "datetime": "timestamp"}.get(form, "varchar")
    text = "%Y%m%d" if form == "number" else form
    written = f"strftime(condition_start_date, '{text}')::{kind}"
    if form == "datetime":
        written = "condition_start_date::timestamp"
    window = ("2001-01-01", "2001-12-31")
    asked = {"features": ["ICD:714.%"], "utilization": None, "window": window}
    before = ue.read_omop(tiny_file, **asked)
    change(
        tiny_file,
        f"ALTER TABLE condition_occurrence ALTER condition_start_date TYPE {kind} USING {written}",
    )
    pd.testing.assert_frame_equal(ue.read_omop(tiny_file, **asked), before)


def test_dates_as_text_are_read_on_a_server(tiny_server):
    asked = {"features": ["ICD:714.%"], "utilization": None, "window": ("2001-01-01", "2001-12-31")}
    before = ue.read_omop(tiny_server, **asked)
    alter = "ALTER TABLE condition_occurrence ALTER condition_start_date TYPE "
    for kind in (
        "varchar USING to_char(condition_start_date, 'YYYYMMDD')",
        "varchar USING to_char(condition_start_date::date, 'YYYY-MM-DD')",
        "timestamp USING condition_start_date::timestamp",
    ):
        with open_database(tiny_server, read_only=False) as connection:
            connection.raw_sql(alter + kind)
        pd.testing.assert_frame_equal(ue.read_omop(tiny_server, **asked), before)


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


def test_a_fault_of_the_program_is_not_blamed_on_the_records(tiny_file):
    connection = ibis.duckdb.connect(tiny_file)
    ue.read_omop(connection, ["ICD:714.0"])
    assert "person" in connection.list_tables()
    with pytest.raises(AttributeError), explain_engine("counting"):
        OmopTables.nothing  # noqa: B018


def write_folder(folder: Path, person: str) -> Path:
    folder.mkdir()
    (folder / "person.csv").write_text(f"person_id\n{person}\n")
    pd.DataFrame(
        {
            "person_id": [person],
            "condition_concept_id": [0],
            "condition_start_date": ["2001-01-01"],
            "condition_source_value": ["714.0"],
        }
    ).to_parquet(folder / "condition_occurrence.parquet")
    return folder


@pytest.mark.parametrize(
    ("name", "others"),
    [("ra[12]", ["ra1", "ra2"]), ("a*b", ["axb"]), ("q?", ["qq"]), ("x=1", []), ("{a,b}", ["a"])],
)
def test_a_folder_s_name_is_taken_literally(name, others, tmp_path):
    for other in others:
        write_folder(tmp_path / other, "9")
    table = ue.read_omop(write_folder(tmp_path / name, "1"), ["ICD:714.0"], utilization=None)
    assert table.index.tolist() == [1]
    assert table["ICD:714.0"].tolist() == [1]


def test_a_database_file_s_name_is_taken_literally(tiny_file, tmp_path, monkeypatch):
    for name in ("ra[12].duckdb", "sqlite:a.duckdb", ":memory:"):
        (tmp_path / name).write_bytes(tiny_file.read_bytes())
        monkeypatch.chdir(tmp_path)
        assert len(ue.read_omop(name, ["ICD:714.0"])) == 3


def test_a_pipe_among_the_files_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "person.csv")
    with pytest.raises(RecordsError, match=r"person\.csv is not a regular file"):
        ue.read_omop(tmp_path, ["ICD:714.0"])
    (tmp_path / "person.csv").unlink()
    (tmp_path / "person.parquet").mkdir()
    with pytest.raises(RecordsError, match=r"the folder person\.parquet has no"):
        ue.read_omop(tmp_path, ["ICD:714.0"])


FORBIDDEN = [
    "SELECT * FROM read_text('/etc/passwd')",
    "COPY person TO '{}/stolen.csv'",
    "ATTACH '{}/other.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
]


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("statement", FORBIDDEN)
def test_a_database_reaches_nothing_outside_of_its_file(tiny_file, tmp_path, statement, read_only):
    with open_database(tiny_file, read_only=read_only) as connection:
        with pytest.raises(duckdb.Error):
            connection.raw_sql(statement.format(tmp_path))
        assert len(connection.list_tables()) == 9
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.duckdb"]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_a_folder_s_tables_reach_nothing_outside_of_it(tmp_path, statement):
    folder = write_folder(tmp_path / "cdm", "1")
    with open_database(folder) as connection, pytest.raises(duckdb.Error):
        connection.raw_sql(statement.format(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["cdm"]


def test_a_view_of_another_file_is_refused_with_the_reason(tiny_file, tmp_path):
    (tmp_path / "other.csv").write_text("person_id\n5\n")
    change(
        tiny_file,
        "DROP TABLE person",
        f"CREATE VIEW person AS SELECT * FROM read_csv('{tmp_path}/other.csv')",  # noqa: S608
    )
    with pytest.raises(RecordsError, match="a view in it reads a file outside of it"):
        ue.read_omop(tiny_file, ["ICD:714.0"])


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [("double", "1", "1.5"), ("varchar", "'1.0'", "'1.5'"), ("decimal(10, 2)", "1", "1.5")],
)
def test_a_patient_is_a_whole_number(tiny_file, kind, right, wrong):
    change(
        tiny_file,
        "DROP TABLE person",
        f"CREATE TABLE person (person_id {kind})",
        f"INSERT INTO person VALUES ({right})",  # noqa: S608
    )
    assert ue.read_omop(tiny_file, ["ICD:714.0"]).index.tolist() == [1]
    change(tiny_file, f"INSERT INTO person VALUES ({wrong})")  # noqa: S608
    with pytest.raises(RecordsError, match="an identifier is not a whole number"):
        ue.read_omop(tiny_file, ["ICD:714.0"])


def test_records_of_a_patient_that_is_not_a_whole_number_are_not_given_to_another(tiny_file):
    change(
        tiny_file,
        "ALTER TABLE condition_occurrence ALTER person_id TYPE double",
        "UPDATE condition_occurrence SET person_id = 1.6 WHERE person_id = 1",
    )
    with pytest.raises(RecordsError, match="an identifier is not a whole number"):
        ue.read_omop(tiny_file, ["ICD:714.0"])
