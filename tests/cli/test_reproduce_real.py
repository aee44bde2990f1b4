import json
from pathlib import Path

import pytest

from unelisa.cli.reproduce_real import choose_sets
from unelisa.cli.shared_data import VARIABLE
from unelisa.datasets import DATASETS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def data(tmp_path, crowd):
    votes, truth = crowd
    place = tmp_path / "data" / "crowd"
    place.mkdir(parents=True)
    header = ",".join(["item", *(f"w{s}" for s in range(9))])
    rows = [f"i{i}," + ",".join(map(str, row)) for i, row in enumerate(votes.values)]
    (place / "votes_wide.csv").write_text("\n".join([header, *rows, ""]))
    labels = [f"i{i},{sign}" for i, sign in enumerate(truth)]
    (place / "truth.csv").write_text("\n".join(["item,label", *labels, ""]))
    return place.parent


def test_rows_page_and_archive(run, data, tmp_path):
    out, results = tmp_path / "docs", tmp_path / "results"
    asked = ["--data", data, "--results", results, "--methods", "wawa,DawidSkene"]
    result = run("reproduce", "real", *asked, "--no-supervised", "--out", out)
    assert result.exit_code == 0, result.output
    assert "Mean ranks over 1 sets" in result.stdout
    assert "dawid-skene" in result.stdout
    assert "### crowd" in (out / "comparison.md").read_text()
    archive = json.loads((out / "study" / "real.json").read_text())
    assert [row["method"] for row in archive["rows"]] == ["dawid-skene", "wawa"]
    again = run("reproduce", "real", *asked, "--no-supervised", "--json", "-")
    assert json.loads(again.stdout) == archive


def test_a_folder_without_sets_is_refused(refused, tmp_path):
    told = refused("reproduce", "real", "--data", tmp_path, "--results", tmp_path / "r")
    assert "holds votes.csv and truth.csv" in told


def test_shared_data_first_then_fetched_sets(monkeypatch, data, tmp_path):
    monkeypatch.setenv(VARIABLE, str(data))
    assert list(choose_sets(None)) == ["crowd"]
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(data)  # nothing lies beside it
    assert list(choose_sets(None)) == list(DATASETS)


def test_the_page_is_made_from_the_archive_without_running_anything(run, tmp_path):
    asked = ("--from", DOCS / "study" / "real.json", "--out", tmp_path, "--results", tmp_path / "r")
    result = run("reproduce", "real", *asked)
    assert result.exit_code == 0, result.output
    for name in ("comparison.md", "study/real.json"):
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes()
    assert not (tmp_path / "r").exists()


def test_a_file_that_is_no_archive_is_refused(refused, data):
    votes = data / "crowd" / "votes_wide.csv"
    assert "no archive of this study" in refused("reproduce", "real", "--from", votes)
