import json

import pytest

from unelisa.cli import reproduce_real
from unelisa.datasets import DATASETS


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
    monkeypatch.setattr(reproduce_real, "SHARED", data)
    assert list(reproduce_real.choose_sets(None)) == ["crowd"]
    monkeypatch.setattr(reproduce_real, "SHARED", tmp_path / "nowhere")
    assert list(reproduce_real.choose_sets(None)) == list(DATASETS)
