import gzip
import json

import pytest

from studies.records import format_archive
from unelisa.simulation.crowds import simulate_classes


@pytest.fixture
def data(tmp_path):
    """A set of three classes as files, in a folder of sets."""
    place = tmp_path / "data" / "toy"
    place.mkdir(parents=True)
    drawn = simulate_classes(3, 8, 60, random_state=0)
    with gzip.open(place / "votes.csv.gz", "wt") as file:
        file.write("item,voter,vote\n")
        for i, said in enumerate(drawn.votes.name_codes(drawn.votes.values)):
            file.writelines(f"{i},v{s},{x}\n" for s, x in enumerate(said) if x is not None)
    truth = [f"{i},{x}" for i, x in enumerate(drawn.votes.name_codes(drawn.truth))]
    (place / "truth.csv").write_text("\n".join(["item,label", *truth, ""]))
    return place.parent


def test_the_study_runs_writes_its_page_and_can_be_shown_again(run, data, tmp_path):
    docs, results = tmp_path / "docs", tmp_path / "results"
    some = ("--methods", "majority-vote,dawid-skene", "--results", results)
    result = run("classes", "--data", data, *some, "--out", docs, "--json", tmp_path / "a.json")
    assert result.exit_code == 0, result.output
    assert "Means over 1 sets" in result.stdout
    page = (docs / "classes.md").read_text()
    assert "| toy | 3 | no | 60 | 60 | 8 |" in page
    archive = json.loads((docs / "study" / "classes.json").read_text())
    assert len(archive["rows"]) == 2
    (docs / "classes.md").unlink()
    again = run("classes", "--from", docs / "study" / "classes.json", "--out", docs)
    assert again.exit_code == 0, again.output
    assert (docs / "classes.md").read_text() == page
    assert (docs / "study" / "classes.json").read_text() == format_archive(archive, "set")


def test_no_sets_are_an_error(refused, tmp_path, monkeypatch):
    assert "is not a folder" in refused("classes", "--data", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNELISA_SETS", raising=False)
    assert "name their folder with --data" in refused("classes")
