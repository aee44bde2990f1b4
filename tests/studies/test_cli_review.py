import json

from studies.records import format_archive, make_archive


def test_a_stored_study_is_shown_and_written(run, refused, tmp_path, monkeypatch):
    curve = [0.8, 0.9, 0.95]
    row = {"set": "toy", "classes": 2, "items": 50, "labels": 20, "review": curve, "gain": curve}
    archive = make_archive(reviews=[{**row, "random": [[0.8, 0.85, 0.9]]}])
    path = tmp_path / "old.json"
    path.write_text(format_archive(archive, "set"))
    result = run("review", "--from", path, "--out", tmp_path, "--json", tmp_path / "a.json")
    assert result.exit_code == 0, result.output
    assert "toy" in result.stdout
    assert "| toy | 2 |" in (tmp_path / "review.md").read_text()
    assert json.loads((tmp_path / "study" / "review.json").read_text()) == archive
    assert "is not a folder" in refused("review", "--data", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNELISA_SETS", raising=False)
    assert "name their folder with --data" in refused("review")
