import json

import pandas as pd

from unelisa.jury import read_jury

VOTES = {
    ("a", "strict"): "pass",
    ("a", "kind"): "pass",
    ("b", "strict"): "fail",
    ("b", "kind"): "pass",
    ("c", "kind"): "fail",  # N: no answer, so the strict one abstains
}


def test_scorers_of_a_log_are_judges(logs, said):
    assert said(logs / "inspect-log-v2.json") == VOTES
    jury = read_jury(logs / "inspect-log-v2.json")
    assert set(jury.systems.values()) == {"openai/gpt-4o-mini"}
    assert jury.source == "inspect"
    assert jury.gold == {}


def test_a_table_of_samples_says_the_same_as_a_file_and_as_a_frame(logs, said, tmp_path):
    path = logs / "inspect-samples_df-0.3.csv"
    assert said(path) == VOTES
    frame = pd.read_csv(path)
    assert said(frame) == VOTES
    frame.to_parquet(tmp_path / "samples.parquet")
    assert said(tmp_path / "samples.parquet") == VOTES


def test_partial_is_a_class_between_unless_a_cut_decides(logs, tmp_path, said):
    log = json.loads((logs / "inspect-log-v2.json").read_text())
    log["samples"][2]["scores"]["strict"]["value"] = "P"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    jury = read_jury(path)
    assert jury.classes == ("fail", "partial", "pass")
    assert jury.ordered
    assert said(path, cut=0.5)["c", "strict"] == "pass"
    assert said(path, cut=0.6)["c", "strict"] == "fail"


def test_a_scorer_with_several_values_is_several_judges_and_epochs_are_items(tmp_path, said):
    score = {"value": {"style": 1, "facts": 0}}
    samples = [{"id": 1, "epoch": epoch, "scores": {"grader": score}} for epoch in (1, 2)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {}, "samples": samples}))
    votes = {"grader/style": "pass", "grader/facts": "fail"}
    items = ("1", "1 epoch 2")
    assert said(path) == {(i, judge): label for i in items for judge, label in votes.items()}


def test_several_systems_keep_their_items_apart(logs, tmp_path):
    log = json.loads((logs / "inspect-log-v2.json").read_text())
    log["eval"]["model"] = "other"
    (tmp_path / "other.json").write_text(json.dumps(log))
    jury = read_jury([logs / "inspect-log-v2.json", tmp_path / "other.json"])
    assert jury.n_items == 6
    assert jury.systems["other / a"] == "other"


def test_parts_of_another_kind_are_named(refuse):
    assert "'samples' must be a list" in refuse('{"eval": {}, "samples": 3}')
    assert "every part of 'samples'" in refuse('{"eval": {}, "samples": ["Xylophon7"]}')
    assert "'scores' must be an object" in refuse(
        '{"eval": {}, "samples": [{"id": 1, "scores": []}]}'
    )
    assert "it has no 'id'" in refuse('{"eval": {}, "samples": [{"scores": {"a": {"value": 1}}}]}')
    assert "found a list" in refuse(
        '{"eval": {}, "samples": [{"id": 1, "scores": {"a": {"value": ["Xylophon7"]}}}]}'
    )
    assert "no verdicts" in refuse('{"eval": {}, "samples": []}')
