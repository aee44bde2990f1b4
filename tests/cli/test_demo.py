import json
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from typer.testing import CliRunner

import unelisa
from unelisa.aggregators import AGGREGATORS
from unelisa.cli import app
from unelisa.cli.demo import breast_cancer_votes, own_name

SOURCE = Path(unelisa.__file__).parent


class Demo(NamedTuple):
    shown: str
    folder: Path
    json: Path


@pytest.fixture(scope="module")
def demo(demo_folder) -> Demo:
    """The demo, run once for all tests."""
    shown = (demo_folder / "shown.txt").read_text(encoding="utf-8")
    return Demo(shown, demo_folder / "demo", demo_folder / "found.json")


def test_the_demo_shows_two_comparisons_and_the_voters_in_80_columns(demo):
    shown = demo.shown
    assert all(shown.count(f"\n{name} ") >= 2 for name in AGGREGATORS)
    assert "contrarian" in shown
    assert "Breast cancer" in shown
    assert "It found 100% of the true experts" in shown
    again = f"{own_name()} fit {demo.folder}/votes.csv --truth {demo.folder}/truth.csv"
    assert shown.splitlines()[-1] == f"Next: {again}"
    lines = [line for line in demo.shown.splitlines() if str(demo.folder) not in line]
    assert max(len(line) for line in lines) <= 80
    found = json.loads(demo.json.read_text())
    assert found.pop("unelisa") == unelisa.__version__
    assert {name: [row["method"] for row in rows] for name, rows in found.items()} == {
        "crowd": list(AGGREGATORS),
        "breast_cancer": list(AGGREGATORS),
    }


def test_the_demo_leaves_labels_and_its_rules_of_569_patients(demo, run, tmp_path):
    folder = demo.folder
    labels, truth = pd.read_csv(folder / "labels.csv"), pd.read_csv(folder / "truth.csv")
    assert (labels.label == truth.label).mean() > 0.95
    assert "Against the known truth" in (folder / "report.html").read_text()
    again = run("fit", folder / "votes.csv", "--out", tmp_path / "labels.csv")
    assert again.exit_code == 0
    assert (tmp_path / "labels.csv").read_text() == (folder / "labels.csv").read_text()
    known = breast_cancer_votes()
    assert known.votes.shape == (569, 30)
    assert known.votes.classes == ("benign", "malignant")
    assert (known.signs == 1).sum() == 212


def test_the_next_command_is_named_as_this_one_was_called(monkeypatch, tmp_path):
    program = tmp_path / "my tools" / "unelisa"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", "")
    assert own_name() == f"'{program}'"
    monkeypatch.setenv("PATH", str(program.parent))
    assert own_name() == "unelisa"
    monkeypatch.setattr(sys, "argv", [str(SOURCE / "__main__.py")])
    assert own_name() == f"{sys.executable} -m unelisa"


@pytest.fixture(scope="module")
def classes(tmp_path_factory) -> Demo:
    """The demo on five classes, run once for all tests here."""
    folder = tmp_path_factory.mktemp("classes")
    found = folder / "found.json"
    arguments = ["demo", "--classes", "5", "--out", str(folder), "--json", str(found)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return Demo(result.stdout, folder, found)


def test_the_demo_on_more_classes_compares_the_methods_that_take_them(classes):
    rows = json.loads(classes.json.read_text())["crowd"]
    assert [row["method"] for row in rows] == [
        n for n, c in AGGREGATORS.items() if c.takes.any_class
    ]
    best = max(row["accuracy"] for row in rows)
    assert next(row for row in rows if row["method"] == "latent-ising")["accuracy"] >= best - 0.02
    assert "macro F1" in classes.shown
    assert "The classes that voters confuse most: " in classes.shown
    lines = [line for line in classes.shown.splitlines() if str(classes.folder) not in line]
    assert max(len(line) for line in lines) <= 80
    folder = classes.folder
    labels, truth = pd.read_csv(folder / "labels.csv"), pd.read_csv(folder / "truth.csv")
    assert (labels.label == truth.label).mean() > 0.8
    assert "Hard pairs" in (folder / "report.html").read_text()
