import json

from studies.worth import runs


def test_the_study_runs_writes_its_page_and_can_be_shown_again(run, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "CROWDS", range(100, 101))
    monkeypatch.setattr(runs, "SEEN_WORLDS", range(0))
    monkeypatch.setattr(runs, "KINDS", {"few voters": ""})
    sets, docs = tmp_path / "data", tmp_path / "docs"
    place = sets / "toy"
    place.mkdir(parents=True)
    said = [(i, s, 1 if (i + (s == i % 3)) % 2 else -1) for i in range(60) for s in range(4)]
    rows = [f"{i},v{s},{vote}" for i, s, vote in said]
    (place / "votes.csv").write_text("\n".join(["item,voter,vote", *rows, ""]))
    labels = [f"{i},{1 if i % 2 else -1}" for i in range(60)]
    (place / "truth.csv").write_text("\n".join(["item,label", *labels, ""]))
    result = run("worth", "--data", sets, "--results", tmp_path / "results", "--out", docs)
    assert result.exit_code == 0, result.output
    page = (docs / "worth.md").read_text(encoding="utf-8")
    assert "| Real votes | 1 |" in page
    archive = json.loads((docs / "study" / "worth.json").read_text())
    assert {row["part"] for row in archive["voters"]} == {"model", "set", "gold"}
    (docs / "worth.md").unlink()
    again = run("worth", "--from", docs / "study" / "worth.json", "--out", docs)
    assert again.exit_code == 0, again.output
    assert (docs / "worth.md").read_text(encoding="utf-8") == page
    assert "is not a folder" in refused("worth", "--data", tmp_path / "none")
