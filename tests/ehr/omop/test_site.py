"""A server as sites have it: records, vocabulary and results each in a schema of its own."""

import json
from pathlib import Path

import pandas as pd
import psycopg
import pytest
from typer.testing import CliRunner

from unelisa.cli import app

EXAMPLE = Path(__file__).parents[3] / "examples" / "ra.toml"
APART = """
[cdm]
schema = "records"
[vocabulary]
schema = "vocab"
[results]
schema = "results"
"""


@pytest.fixture
def site(server):
    with psycopg.connect(server, autocommit=True) as connection:
        for schema in ("records", "vocab", "results"):
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            connection.execute(f"CREATE SCHEMA {schema}")
        vocabulary = ("concept", "concept_ancestor")
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'cdm'"
        ).fetchall()
        for (table,) in tables:
            place = "vocab" if table in vocabulary else "records"
            if table != "cohort":
                connection.execute(f"CREATE VIEW {place}.{table} AS SELECT * FROM cdm.{table}")  # noqa: S608
        connection.execute("CREATE TABLE results.cohort AS SELECT * FROM cdm.cohort WHERE false")
    return server


def test_a_cohort_goes_into_the_results_schema(site, drawn, tmp_path):
    config, out, told = tmp_path / "ra.toml", tmp_path / "p.csv", tmp_path / "p.json"
    text = EXAMPLE.read_text(encoding="utf-8") + APART
    config.write_text(text.replace("first_day = 2000-01-01", 'index = ["ICD:714.%"]\nafter = 3000'))
    command = ["phenotype", site, "--config", config, "--out", out, "--json", told]
    result = CliRunner().invoke(app, [*map(str, command), "--insert-cohort"])
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(out, index_col="person_id")
    truth = drawn.truth.loc[labels.index] > 0
    assert ((labels["label"] == 1) == truth).mean() > 0.8
    with psycopg.connect(site) as connection:
        found = connection.execute("SELECT subject_id FROM results.cohort ORDER BY 1").fetchall()
    assert [person for (person,) in found] == labels.index[labels["label"] == 1].tolist()
    groups = {row["name"] for row in json.loads(told.read_text())["groups"]}
    assert {"age in years", "female", "note_count"} <= groups
    again = CliRunner().invoke(app, [*map(str, command), "--force", "--insert-cohort"])
    assert again.exit_code == 2
    assert "the cohort 714 already has" in " ".join(again.stderr.split())
