import json

import pytest

from studies.rules.runs import Place, collect_rules, run_rules
from unelisa.ehr.rules.evaluation import QUANTITIES

PLACE = Place("choosing", "diabetes", 0.22, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rules")
    run_rules([PLACE], place, patients=2500)
    return place


def test_a_world_gives_figures_in_every_way_and_is_run_once(folder):
    (line,) = (folder / "worlds.jsonl").read_text().splitlines()
    world = json.loads(line)
    assert [one["rules"] for one in world["sets"]] == ["3 separate", "3 nested", "6"]
    for one in world["sets"]:
        n = len(one["truth"][0])
        assert [len(row) for row in one["agreement"]] == [n] * len(QUANTITIES)
        for way in ("records", "charts"):
            assert [len(part) for part in one[way]] == [len(QUANTITIES)] * 3
    labels = world["labels"]
    assert len(labels["none"]["ppv"]) == 4  # the last is the truth
    assert all(0 <= x <= 1 for x in labels["silent"])
    assert labels["50"]["flagged"] >= 5
    run_rules([PLACE], folder, patients=2500)
    assert (folder / "worlds.jsonl").read_text().splitlines() == [line]


def test_cells_are_means_over_what_is_told(folder):
    archive = collect_rules(folder)
    cell = archive["cells"][0]
    world = json.loads((folder / "worlds.jsonl").read_text())
    value, low, high = (part[1] for part in world["sets"][0]["records"])
    truth = world["sets"][0]["truth"][1]
    told = [k for k, x in enumerate(value) if x is not None]
    found = cell["figures"]["specificity"]["records"]
    assert found["told"] == len(told)
    assert found["held"] == sum(low[k] <= truth[k] <= high[k] for k in told)
    error = sum(abs(value[k] - truth[k]) for k in told) / max(len(told), 1)
    assert found["error"] == (pytest.approx(error, abs=1e-4) if told else None)
    (row,) = archive["labels"]
    value, low, high, true = world["labels"]["none"]["ppv"]
    assert row["none"] == {
        "ppv": [value, low, high, true],
        "held": int(low <= true <= high),
        "error": world["labels"]["none"]["error"],
    }
    again = collect_rules(folder, {"cells": [{**cell, "worlds": 99}, {**cell, "part": "old"}]})
    assert [one["worlds"] for one in again["cells"][:2]] == [1, 1]
