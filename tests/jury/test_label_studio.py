import json

import pytest

from unelisa.errors import VotesWarning
from unelisa.jury import read_jury


def test_annotators_and_models_vote_and_ground_truth_is_gold(logs, said):
    path = logs / "label-studio-1.20.json"
    assert said(path) == {
        ("1", "7"): "good",
        ("1", "kind@example.com"): "good",
        ("1", "llm-v1"): "bad",
        ("2", "kind@example.com"): "bad",  # 7 skipped the task
    }
    jury = read_jury(path)
    assert jury.gold == {"1": "good"}
    assert jury.systems == {"1": "model 1", "2": "model 1"}


@pytest.fixture
def tasks(logs):
    return json.loads((logs / "label-studio-1.20.json").read_text())


def test_one_of_several_questions_is_declared(tasks, refuse, tmp_path, said):
    other = {"from_name": "tone", "type": "choices", "value": {"choices": ["warm", "Xylophon7"]}}
    tasks[0]["annotations"][0]["result"].append(other)
    told = refuse(json.dumps(tasks))
    assert told.endswith("pass question='verdict', or question='tone'")
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    assert said(tmp_path / "tasks.json", question="verdict")["1", "7"] == "good"
    assert "several options at once" in refuse(json.dumps(tasks), question="tone")
    (tmp_path / "both.json").write_text(json.dumps(tasks))
    assert said(tmp_path / "both.json", question="tone: warm") == {("1", "7"): "pass"}


def test_a_class_that_only_gold_names_is_a_class(tasks, tmp_path):
    tasks[0]["annotations"][2]["result"][0]["value"]["choices"] = ["fair"]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    jury = read_jury(tmp_path / "tasks.json")
    assert jury.classes == ("bad", "fair", "good")
    assert jury.gold == {"1": "fair"}


def test_parts_of_another_kind_are_named(tasks, refuse):
    tasks[0]["annotations"][0]["result"] = "Xylophon7"
    assert "'result' must be a list" in refuse(json.dumps(tasks))
    assert "it has no 'completed_by'" in refuse('[{"id": 1, "data": {}, "annotations": [{}]}]')
    assert "'annotations' must be a list" in refuse('[{"id": 1, "data": {}, "annotations": 7}]')
    assert "two different gold labels" in refuse(
        json.dumps([{"id": 1, "data": {}, "annotations": [gold_label("good"), gold_label("bad")]}])
    )


def gold_label(label):
    result = {"from_name": "q", "value": {"choices": [label]}}
    return {"completed_by": 1, "ground_truth": True, "result": [result]}


def test_an_accepted_prediction_is_no_independent_vote(tasks, tmp_path):
    tasks[0]["predictions"][0]["id"] = 5
    first = tasks[0]["annotations"][0]
    first.update(parent_prediction=5, result=tasks[0]["predictions"][0]["result"])
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    with pytest.warns(VotesWarning, match="a prediction was accepted"):
        jury = read_jury(tmp_path / "tasks.json")
    assert jury.failures == {"7": 1}


@pytest.mark.parametrize(
    ("value", "label"),
    [({"number": 1}, "pass"), ({"rating": 0}, "fail"), ({"taxonomy": [["a", "b"]]}, "a / b")],
)
def test_numbers_stars_and_trees(value, label, said, tmp_path):
    result = [{"from_name": "q", "value": value}]
    task = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": result}]}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    coding = "auto" if label in ("pass", "fail") else ("a / b", "c")
    assert said(tmp_path / "tasks.json", coding=coding) == {("1", "1"): label}


def test_minimal_exports(said, tmp_path):
    rows = [
        {
            "text": "Xylophon7",
            "id": 1,
            "q": label,
            "annotator": who,
            "annotation_id": who,
            "lead_time": 1,
        }
        for who, label in ((1, "good"), (2, "bad"))
    ]
    (tmp_path / "min.json").write_text(json.dumps(rows))
    assert said(tmp_path / "min.json") == {("1", "1"): "good", ("1", "2"): "bad"}
