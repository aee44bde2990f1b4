import json

import pandas as pd
import pytest

import unelisa as ue
from unelisa.cli.simulate_ehr import expect_rows


def test_a_database_and_its_truth_are_written(run, tmp_path):
    out = tmp_path / "ra.duckdb"
    result = run("simulate", "ehr", "--patients", 60, "--out", out, "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "60 patients" in result.stdout
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ra.duckdb", "ra.truth.csv"]
    drawn = ue.simulate_ehr(60, random_state=3)
    truth = pd.read_csv(tmp_path / "ra.truth.csv", index_col="person_id")
    assert truth["label"].tolist() == drawn.truth.tolist()
    assert truth.index[truth["reviewed"] == 1].tolist() == drawn.reviewed.tolist()
    counts = ue.read_omop(out, ["ICD:714.0", "NLP:synovitis"])
    assert (counts == drawn.counts[counts.columns]).all(axis=None)


def test_machines_get_what_was_drawn(run, tmp_path):
    out = tmp_path / "ra.duckdb"
    result = run("simulate", "ehr", "--patients", 500, "--out", out, "--json", "-")
    found = json.loads(result.stdout)
    drawn = ue.simulate_ehr(500, random_state=0)
    assert (found["patients"], found["cases"]) == (500, (drawn.truth > 0).sum())
    assert found["rows"]["person"] == 500
    assert sum(found["rows"].values()) == pytest.approx(expect_rows(drawn), rel=0.05)


def test_too_few_patients_leave_nothing(refused, tmp_path):
    out = tmp_path / "ra.duckdb"
    assert "at least 20" in refused("simulate", "ehr", "--patients", 3, "--out", out)
    assert not list(tmp_path.iterdir())


def test_votes_can_still_be_simulated(run, tmp_path):
    assert run("simulate", "--out", tmp_path / "x", "--items", 30).exit_code == 0
    assert (tmp_path / "x" / "votes.csv").exists()
