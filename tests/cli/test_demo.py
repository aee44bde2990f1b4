import pandas as pd
import pytest

from unelisa.aggregators import AGGREGATORS
from unelisa.cli.demo import breast_cancer_votes


@pytest.fixture
def shown(run, tmp_path):
    result = run("demo", "--out", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_demo_shows_two_comparisons_and_the_voters(shown, tmp_path):
    assert all(shown.count(f"\n{name} ") >= 2 for name in AGGREGATORS)
    assert "contrarian" in shown
    assert "Breast cancer" in shown
    assert "It found 100% of the true experts" in shown
    assert "unelisa fit" in shown.splitlines()[-1]


def test_the_demo_fits_80_columns(shown, tmp_path):
    lines = [line for line in shown.splitlines() if str(tmp_path) not in line]
    assert max(len(line) for line in lines) <= 80


def test_the_demo_leaves_labels_a_report_and_its_inputs(shown, run, tmp_path):
    folder = tmp_path / "demo"
    labels, truth = pd.read_csv(folder / "labels.csv"), pd.read_csv(folder / "truth.csv")
    assert (labels.label == truth.label).mean() > 0.95
    assert "Against the known truth" in (folder / "report.html").read_text()
    again = run("fit", folder / "votes.csv", "--out", tmp_path / "labels.csv")
    assert again.exit_code == 0
    assert (tmp_path / "labels.csv").read_text() == (folder / "labels.csv").read_text()


def test_breast_cancer_votes_are_30_rules_on_569_patients():
    known = breast_cancer_votes()
    assert known.votes.shape == (569, 30)
    assert known.votes.classes == ("benign", "malignant")
    assert (known.signs == 1).sum() == 212
