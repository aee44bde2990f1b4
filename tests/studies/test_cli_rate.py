import json

import numpy as np
import pytest

from studies.rate import runs
from studies.records import format_archive


@pytest.fixture
def data(tmp_path):
    """A set of five voters, coded -1 and +1, as files in a folder of sets."""
    place = tmp_path / "data" / "toy"
    place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 80)
    votes = np.where(rng.random((80, 5)) < 0.8, truth[:, None], -truth[:, None])
    rows = [f"{i},v{s},{votes[i, s]}" for i in range(80) for s in range(5)]
    (place / "votes.csv").write_text("\n".join(["item,voter,vote", *rows, ""]))
    labels = [f"{i},{x}" for i, x in enumerate(truth)]
    (place / "truth.csv").write_text("\n".join(["item,label", *labels, ""]))
    return place.parent


def test_the_study_runs_writes_its_page_and_can_be_shown_again(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "simulate_models", lambda draws: [])
    docs, results = tmp_path / "docs", tmp_path / "results"
    some = ("--draws", 4, "--results", results, "--out", docs, "--json", tmp_path / "a.json")
    result = run("rate", "--data", data, *some)
    assert result.exit_code == 0, result.output
    assert "toy" in result.stdout
    page = (docs / "rate.md").read_text(encoding="utf-8")
    assert "on 1 sets of votes, 4 times 40 random items" in page
    archive = json.loads((docs / "study" / "rate.json").read_text())
    assert [row["set"] for row in archive["sets"]] == ["toy"]
    (docs / "rate.md").unlink()
    again = run("rate", "--from", docs / "study" / "rate.json", "--out", docs)
    assert again.exit_code == 0, again.output
    assert (docs / "rate.md").read_text(encoding="utf-8") == page
    text = (docs / "study" / "rate.json").read_text()
    assert text == format_archive(archive, "set", "model")


def test_no_sets_are_an_error(refused, tmp_path, monkeypatch):
    assert "is not a folder" in refused("rate", "--data", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNELISA_SETS", raising=False)
    assert "name their folder with --data" in refused("rate")
