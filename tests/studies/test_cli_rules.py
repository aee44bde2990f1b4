import json

import pytest

from studies.records import format_archive, make_archive
from studies.rules import runs
from unelisa.ehr.rules.evaluation import QUANTITIES


@pytest.fixture
def quick(monkeypatch):
    """Worlds whose figures are stated, not computed."""

    def run_world(place, patients):
        table = [[0.5, 0.6, 0.7]] * len(QUANTITIES)
        ways = {"truth": table, "agreement": table, "records": [table] * 3, "charts": [table] * 3}
        judged = {"ppv": [0.9, 0.8, 1.0, 0.9], "error": 0.1, "platt": 0.1}
        labels = {n: {**judged, "flagged": 20, "drawn": 60} for n in ("none", "50", "100")}
        labels["silent"] = [0.1, 0.1]
        sets = [{"rules": "3 separate", **ways}]
        return {**place._asdict(), "reliable": True, "labels": labels, "sets": sets}

    monkeypatch.setattr(runs, "run_world", run_world)


def test_the_study_runs_writes_its_page_and_can_be_shown_again(run, quick, tmp_path):
    docs, results = tmp_path / "docs", tmp_path / "results"
    some = ("--part", "reporting", "--seeds", "0-1", "--results", results, "--out", docs)
    result = run("rules", *some)
    assert result.exit_code == 0, result.output
    assert "diabetes" in result.stdout
    page = (docs / "rules.md").read_text(encoding="utf-8")
    assert "| arthritis | 22% | 0 | .000, 1.00 (6 of 6) |" in page
    archive = json.loads((docs / "study" / "rules.json").read_text())
    assert len(archive["cells"]) == 9
    (docs / "rules.md").unlink()
    again = run("rules", "--from", docs / "study" / "rules.json", "--out", docs)
    assert again.exit_code == 0, again.output
    assert (docs / "rules.md").read_text(encoding="utf-8") == page
    assert (docs / "study" / "rules.json").read_text() == format_archive(archive, "part")


def test_unknown_parts_and_archives_are_refused(refused, tmp_path):
    assert "--part must be one of choosing, reporting" in refused("rules", "--part", "showing")
    file = tmp_path / "other.json"
    file.write_text(json.dumps(make_archive(sets=[])))
    assert "is not an archive of this study" in refused("rules", "--from", file)
