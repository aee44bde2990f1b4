import sys

import duckdb
import pandas as pd
import pytest

import unelisa as ue
from unelisa.errors import MissingExtraError, RecordsError
from unelisa.sources.omop_connection import open_database

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


def test_what_is_no_database_is_told(tmp_path):
    (tmp_path / "a.duckdb").write_text("not a database, of some length " * 200)
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "person.parquet").write_text("x")
    for name, sentence in {
        "absent.duckdb": "there is no database absent.duckdb",
        "a.duckdb": "cannot be opened as a DuckDB database",
        "folder": "the folder folder holds no .parquet, .csv, .csv.gz file",
        "bad": "person.parquet cannot be read as a table",
    }.items():
        with pytest.raises(RecordsError, match=sentence):
            ue.read_omop(tmp_path / name, ["ICD:1"])


def test_a_server_out_of_reach_is_told_without_the_password(tmp_path):
    address = f"postgresql://ann:secret@/cdm?host={tmp_path}"
    with pytest.raises(RecordsError, match="the PostgreSQL server cannot be reached") as error:
        ue.read_omop(address, ["ICD:1"])
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("statement", ["DROP TABLE person", "DELETE FROM person"])
def test_nothing_can_be_written_while_counting(tiny, statement):
    with open_database(tiny) as connection, pytest.raises(Exception, match=r"read.only"):
        connection.raw_sql(statement)
    assert len(ue.read_omop(tiny, ["ICD:714.0"])) == 3


@pytest.mark.parametrize("package", ["ibis", "psycopg"])
def test_a_missing_package_is_told_with_its_extra(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"unelisa\[omop\]"):
        ue.read_omop("postgresql://ann@host/cdm", ["ICD:1"])
