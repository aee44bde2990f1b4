"""Rules of simulated diseases, judged."""

import json

import numpy as np
import pytest

from studies.rules.runs import Place, collect_rules, run_rules
from studies.rules.worlds import SIMULATORS
from unelisa.ehr.counts import read_counts
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.rules.definition import apply_rules, parse_rule
from unelisa.ehr.rules.evaluation import QUANTITIES
from unelisa.errors import UnelisaWarning

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


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_world_has_its_prevalence_and_rules_that_mean_the_disease(name):
    world = SIMULATORS[name](0.1, 3, 3000)
    assert len(world.case) == len(world.counts)
    assert abs(world.case.mean() - 0.1) < 0.02
    table = read_counts(world.counts, world.utilization)
    assert [len(rules) for rules in world.rules.values()] == [3, 3, 6]
    for rules in world.rules.values():
        flags = apply_rules({key: parse_rule(text) for key, text in rules.items()}, table)
        assert (flags[world.case].mean(axis=0) > 1.1 * flags[~world.case].mean(axis=0)).all()
    flags = apply_rules({k: parse_rule(t) for k, t in world.rules["3 nested"].items()}, table)
    assert (flags[:, 1:] <= flags[:, :-1]).all()


def test_worlds_share_errors_and_hide_few_cases():
    world = SIMULATORS["diabetes"](0.02, 0, 6000)
    counts = world.counts.loc[~world.case, list(world.anchors)].to_numpy() > 0
    both = counts.all(axis=1).mean()
    assert both > 3 * np.prod(counts.mean(axis=0))
    world = SIMULATORS["lupus"](0.01, 7, 10_000)
    with pytest.warns(UnelisaWarning, match="review charts"):
        model = Phenotyper(list(world.anchors), world.utilization, random_state=0).fit(world.counts)
    chances = model.predict_proba(world.counts)[:, 1]
    silent = ~(world.counts[list(world.anchors)] > 0).any(axis=1).to_numpy()
    assert chances[silent].sum() <= 0.2 * chances.sum() * (1 + 1e-6)
