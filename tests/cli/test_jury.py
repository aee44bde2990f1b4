"""Panels of judges on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

JUDGES = {"large": 0.9, "medium": 0.85, "other": 0.8, "fourth": 0.78, "guesses": 0.5}


@pytest.fixture
def panel(tmp_path):
    """Six judges, of whom two repeat each other, on two systems; scores from 0 to 1 besides."""
    rng = np.random.default_rng(1)
    lines = []
    for system, rate in (("model-a", 0.8), ("model-b", 0.5)):
        for i in range(200):
            good = rng.random() < rate
            said = {judge: good == (rng.random() < right) for judge, right in JUDGES.items()}
            said["copy"] = said["fourth"] == (rng.random() < 0.97)
            for judge, passed in said.items():
                label = "pass" if passed else "fail"
                row = {"item": f"q{i}", "judge": judge, "label": label, "system": system}
                lines.append({**row, "text": "Xylophon7"})
    path = tmp_path / "panel.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_it_prints_what_the_panel_is_worth(run, panel):
    result = run("jury", panel)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("6 judges worth ")
    assert "400 items, read as long." in result.stdout
    assert "Estimated pass rate" in result.stdout
    for judge in (*JUDGES, "copy"):
        assert judge in result.stdout
    assert "model-a" in result.stdout
    assert "The judges disagree on" in result.stdout
    told = " ".join(result.stdout.split())
    assert "model-a is ahead of model-b by" in told
    assert "question by question, on 200 questions" in told
    assert "can be dropped" in told
    assert "q17" not in result.stdout
    assert "Xylophon7" not in result.output


def test_items_are_named_on_request(run, panel):
    assert "judges against the others" in run("jury", panel, "--show-items").stdout


def test_every_output_at_once(run, panel, tmp_path):
    labels, page, found = (tmp_path / name for name in ("labels.csv", "page.html", "found.json"))
    result = run("jury", panel, "--out", labels, "--report", page, "--json", found)
    assert result.exit_code == 0, result.output
    assert labels.read_text().count("\n") == 401
    assert "The panel" in page.read_text()
    said = json.loads(found.read_text())
    assert said["n_judges"] == len(said["judges"]) == 6
    assert 2 < said["effective_judges"] < 6
    judge = {"name", "accuracy", "low", "high", "lean", "family"}
    assert all(judge <= row.keys() for row in said["judges"])
    assert {"share", "low", "high", "systems", "differences"} == said["pass_rate"].keys()
    (pair,) = said["pass_rate"]["differences"]
    assert (pair["better"], pair["worse"], pair["paired"]) == ("model-a", "model-b", 200)
    assert pair["low"] < pair["difference"] < pair["high"]
    cheaper = said["cheaper_panel"]
    assert "copy" in cheaper["drop"] or "fourth" in cheaper["drop"]
    assert cheaper["labels_kept"] >= 0.99
    assert (said["labels_needed"] is None) == said["reliable"]
    assert [row["system"] for row in said["pass_rate"]["systems"]] == ["model-a", "model-b"]
    assert said["reliable"] in (True, False)
    assert run("jury", panel, "--json", found, "--out", labels).exit_code == 0  # ours, replaced


def test_json_on_stdout_is_all_there_is(run, panel):
    assert json.loads(run("jury", panel, "--json", "-").stdout)["source"] == "long"


def test_gold_labels_come_from_a_file(run, refused, panel, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"model-a / q{i},pass\n" for i in range(15)))
    out = tmp_path / "labels.csv"
    assert run("jury", panel, "--gold", gold, "--out", out).exit_code == 0
    labels = pd.read_csv(out).set_index("item")
    known = labels.loc[[f"model-a / q{i}" for i in range(15)]]
    assert (known.label == "pass").all()
    assert (known.probability == 1).all()
    gold.write_text("item,label\nelsewhere,pass\n")
    assert "none of the items" in refused("jury", panel, "--gold", gold)


def test_two_judges_are_not_to_be_trusted(run, tmp_path):
    path = tmp_path / "two.csv"
    rows = [f"i{i},{judge},{i % 2}\n" for i in range(40) for judge in ("x", "y")]
    path.write_text("item,judge,label\n" + "".join(rows))
    result = run("jury", path)
    assert result.exit_code == 0, result.output
    assert "Do not trust this panel" in result.stdout
    assert "labels of random items would tell how often" in " ".join(result.stdout.split())


def test_options_are_spelled_as_options(refused, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"run_id": "Xylophon7", "key": "strict", "score": 0.7}\n')
    told = refused("jury", path)
    assert told.endswith("pass --cut 0.5")
    assert "Xylophon7" not in told
    path.write_text('{"item": 1, "judge": 2, "label": 3, "run_id": 1, "key": "k", "score": 0}\n')
    assert refused("jury", path).endswith("pass --source langsmith, or --source long")
    assert "there is no source 'x'" in refused("jury", path, "--source", "x")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"eval": {}, "samples": 7}', "PK\x03\x04"])
def test_bad_logs_give_one_sentence(content, refused, tmp_path):
    path = tmp_path / "log.eval"
    path.write_text(content)
    assert "log.eval" in refused("jury", path)


def test_an_output_is_not_an_input(refused, panel):
    assert "is an input" in refused("jury", panel, "--json", panel)
