import json

import pytest

from unelisa.cli.shared_data import VARIABLE


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)  # nothing lies beside it
    return ("--patients", 1500, "--splits", 2, "--no-rare", "--results", tmp_path / "results")


def test_table_page_figure_and_archive(run, asked, tmp_path):
    out = tmp_path / "docs"
    result = run("reproduce", "ehr", "--seeds", "3", *asked, "--out", out)
    assert result.exit_code == 0, result.output
    assert "ra-3" in result.stdout
    assert "Phenotyper" in result.stdout
    assert "### Seed 3" in (out / "phenotyping_study.md").read_text()
    assert (out / "images" / "ehr-ra-3.svg").stat().st_size > 1000
    archive = json.loads((out / "study" / "ehr.json").read_text())
    assert [facts["set"] for facts in archive["sets"]] == ["ra-3"]
    again = run("reproduce", "ehr", "--seeds", "3", *asked, "--json", "-")
    assert json.loads(again.stdout) == archive


def test_bad_seeds_and_folders_are_refused(refused, asked, tmp_path):
    for seeds in ("a", "1,1", "-2"):
        assert "different whole numbers" in refused("reproduce", "ehr", f"--seeds={seeds}", *asked)
    told = refused("reproduce", "ehr", "--seeds", "3", *asked, "--data", tmp_path)
    assert "holds no features.csv.gz and truth.csv" in told


def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(refused, asked, tmp_path):
    (tmp_path / "taken").write_text("")
    told = refused("reproduce", "ehr", *asked, "--out", tmp_path / "taken")
    assert "cannot be made a folder" in told
    assert not list((tmp_path / "results").iterdir())
