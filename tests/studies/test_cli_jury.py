import json

import numpy as np
import pytest

from studies.jury import estimates, runs


@pytest.fixture
def data(tmp_path):
    """A panel of four judges as files in a folder of sets."""
    place = tmp_path / "data" / "llm_judges"
    place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 80)
    votes = np.where(rng.random((80, 4)) < 0.8, truth[:, None], -truth[:, None])
    rows = [f"{i},v{s},{votes[i, s]}" for i in range(80) for s in range(4)]
    (place / "votes.csv").write_text("\n".join(["item,voter,vote", *rows, ""]))
    labels = [f"{i},{x}" for i, x in enumerate(truth)]
    (place / "truth.csv").write_text("\n".join(["item,label", *labels, ""]))
    return place.parent


def test_the_study_runs_writes_its_page_and_can_be_shown_again(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "TIMES", (2,))
    monkeypatch.setattr(runs, "list_crowd_kit", tuple)  # whose import takes seconds
    monkeypatch.setattr(estimates, "PANEL_RESAMPLES", 5)
    docs, results = tmp_path / "docs", tmp_path / "results"
    result = run("jury", "--data", data, "--draws", 3, "--results", results, "--out", docs)
    assert result.exit_code == 0, result.output
    assert "llm_judges" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    page = (docs / "jury.md").read_text(encoding="utf-8")
    assert "| llm_judges | 2 | 80 | 4 |" in page
    archive = json.loads((docs / "study" / "jury.json").read_text())
    assert [row["set"] for row in archive["panels"]] == ["llm_judges"]
    (docs / "jury.md").unlink()
    again = run("jury", "--from", docs / "study" / "jury.json", "--out", docs)
    assert again.exit_code == 0, again.output
    assert (docs / "jury.md").read_text(encoding="utf-8") == page


def test_no_panels_are_an_error(refused, tmp_path, monkeypatch):
    assert "is not a folder" in refused("jury", "--data", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNELISA_SETS", raising=False)
    assert "name their folder with --data" in refused("jury")
