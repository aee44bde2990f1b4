import json

import numpy as np
import pytest

from studies.records import format_archive, make_archive

ROW = {"items": 100, "voters": 5, "whole": [500, 0.9, 0.1]}
ROWS = [
    {"set": "toy", "policy": policy, "seed": 0, **ROW, "curve": [[100, 0.6, 0.5], [200, last, 0.4]]}
    for policy, last in (("ours", 0.8), ("random", 0.7))
]


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "replay.json"
    path.write_text(format_archive(make_archive(replays=ROWS), "set"))
    return path


def test_a_stored_study_is_shown_and_written_again(run, stored, tmp_path):
    docs = tmp_path / "docs"
    result = run("replay", "--from", stored, "--out", docs)
    assert result.exit_code == 0, result.output
    assert "+0.0500" in result.stdout
    assert "rank 1 of 2" in (docs / "replay.md").read_text()
    assert (docs / "images" / "replay.svg").is_file()
    assert (docs / "study" / "replay.json").read_text() == stored.read_text()


def test_a_world_is_replayed_beside_sets(run, tmp_path):
    data = tmp_path / "shared"
    rng = np.random.default_rng(0)
    for folder, name, labels in (
        ("data", "bluebirds", "1"),
        ("data", "llm_judges", "1"),
        ("data", "magic_ensemble", "1"),
        ("data_k", "care_civilcomments", "a,b"),
        ("data_k", "triviaqa_judges_v1", "a,b"),
        ("data_k", "dog", "a,b,c"),
    ):
        place = data / folder / name
        place.mkdir(parents=True)
        said = labels.split(",") if folder == "data_k" else ["-1", "1"]
        truth = "\n".join(f"{i},{rng.choice(said)}" for i in range(12))
        (place / "truth.csv").write_text(f"item,label\n{truth}\n")
        suffix = "votes.csv" if folder == "data" else "votes.csv.gz"
        (place / suffix).write_bytes(b"")
    some = ("--sets", "copies", "--policies", "random", "--seeds", "0")
    found = tmp_path / "a.json"
    result = run("replay", "--data", data, *some, "--results", tmp_path / "r", "--json", found)
    assert result.exit_code == 0, result.output
    rows = json.loads(found.read_text())["replays"]
    assert [(row["set"], row["policy"]) for row in rows] == [("copies", "random")]
    assert rows[0]["curve"][0][0] == rows[0]["items"] <= 500


def test_no_sets_are_an_error(refused, tmp_path):
    assert "name the folder of data and data_k" in refused("replay", "--data", tmp_path)
