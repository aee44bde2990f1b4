import json
import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from unelisa.datamart import simulate_ehr, write_datamart

EXAMPLE = Path(__file__).parents[2] / "examples" / "ra.toml"


@pytest.fixture(scope="module")
def drawn():
    return simulate_ehr(1200, random_state=8)


@pytest.fixture(scope="module")
def stored(drawn, tmp_path_factory):
    file = tmp_path_factory.mktemp("datamart") / "ra.duckdb"
    write_datamart(drawn, file)
    return file


@pytest.fixture
def database(stored, tmp_path):
    file = tmp_path / "ra.duckdb"
    file.write_bytes(stored.read_bytes())
    return file


@pytest.fixture
def config(tmp_path):
    def write(**changes):
        text = EXAMPLE.read_text(encoding="utf-8")
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_from_a_database_to_a_cohort(run, database, drawn, tmp_path):
    out, page, cohort, told = (tmp_path / n for n in ("p.csv", "p.html", "c.csv", "p.json"))
    result = run(
        *("phenotype", database, "--config", EXAMPLE, "--out", out, "--report", page),
        *("--cohort", cohort, "--insert-cohort", "--json", told),
    )
    assert result.exit_code == 0, result.output
    assert "NLP counts" in result.stdout
    labels = pd.read_csv(out, index_col="person_id")
    assert labels.index.tolist() == drawn.counts.index.tolist()
    assert ((labels["label"] == 1) == (drawn.truth > 0)).mean() > 0.85
    members = pd.read_csv(cohort)
    assert members["subject_id"].tolist() == labels.index[labels["label"] == 1].tolist()
    assert (members["cohort_start_date"] <= members["cohort_end_date"]).all()
    with duckdb.connect(str(database), read_only=True) as connection:
        question = "SELECT subject_id FROM cohort WHERE cohort_definition_id = 714 ORDER BY 1"
        inserted = [person for (person,) in connection.execute(question).fetchall()]
    assert inserted == members["subject_id"].tolist()
    facts = json.loads(told.read_text())
    assert facts["patients"] == 1200
    assert facts["cases"] == len(members)
    assert facts["steps"][0]["what"] == "patients"


def test_neither_report_nor_figures_name_a_patient(run, database, drawn, tmp_path):
    page, told = tmp_path / "p.html", tmp_path / "p.json"
    run("phenotype", database, "--config", EXAMPLE, "--report", page, "--json", told)
    text = page.read_text(encoding="utf-8") + told.read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"(?<![\d.])\d+(?![\d.])", text)}
    assert 1200 in numbers
    assert not numbers & set(drawn.counts.index)


def test_reviewed_charts_count(run, database, drawn, tmp_path):
    gold, told = tmp_path / "gold.csv", tmp_path / "p.json"
    drawn.truth[drawn.reviewed].to_csv(gold)
    arguments = ("--config", EXAMPLE, "--gold", gold, "--json", told)
    assert run("phenotype", database, *arguments).exit_code == 0
    assert "reviewed charts" in json.loads(told.read_text())["ppv"]["basis"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('["ICD:714.0"', '["ICD:999.9"', "ICD:999.9"),
        ('["ICD:714.0"', '["ICD:x\'; DROP TABLE person; --"', "no patient has the anchor"),
        ('["ICD:714.0"', '["WHAT:714.0"', "cannot be understood"),
        ('utilization = "note_count"', 'utilization = "beds"', "note_count, visit_count"),
        ('["ICD:714.%", "NLP:%"]', '["ICD:714.%", "RX:%"]', "there is no table drug_exposure"),
        ('["ICD:714.%", "NLP:%"]', '["ICD:0%", "NLP:%"]', "matches 'ICD:0%'"),
        ("2015-12-31", "1999-12-31", "before it starts"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    refused, database, config, tmp_path, old, new, sentence
):
    file, before = config(change=(old, new)), database.read_bytes()
    out = tmp_path / "p.csv"
    told = refused("phenotype", database, "--config", file, "--out", out, "--insert-cohort")
    assert sentence in told
    assert not out.exists()
    assert database.read_bytes() == before


def test_a_patient_twice_is_refused(refused, database, tmp_path):
    with duckdb.connect(str(database)) as connection:
        connection.execute("INSERT INTO person SELECT * FROM person LIMIT 1")
    told = refused("phenotype", database, "--config", EXAMPLE, "--out", tmp_path / "p.csv")
    assert "more than once" in told
    assert not (tmp_path / "p.csv").exists()


def test_the_cohort_s_number_must_be_free(run, refused, database):
    assert run("phenotype", database, "--config", EXAMPLE, "--insert-cohort").exit_code == 0
    told = refused("phenotype", database, "--config", EXAMPLE, "--insert-cohort")
    assert "the cohort 714 has" in told


def test_bad_charts_are_refused(refused, database, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("a,b\n1,2\n")
    assert "needs the columns" in refused(
        "phenotype", database, "--config", EXAMPLE, "--gold", gold
    )
    gold.write_text("person_id,label\n1,1\n1,0\n")
    assert "more than once" in refused("phenotype", database, "--config", EXAMPLE, "--gold", gold)


def test_the_database_is_not_overwritten(refused, database):
    told = refused("phenotype", database, "--config", EXAMPLE, "--out", database)
    assert "is an input" in told
