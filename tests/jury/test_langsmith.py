import pytest

from unelisa.errors import VotesWarning
from unelisa.jury import read_jury, read_preferences


def test_keys_are_judges_and_experiments_systems(logs, said):
    path = logs / "langsmith-feedback-v1.jsonl"
    assert said(path) == {
        ("exp-1 / a", "strict"): "pass",
        ("exp-1 / a", "kind"): "pass",
        ("exp-2 / b", "strict"): "fail",
        ("exp-2 / b", "kind by u7"): "pass",  # a person in the app
    }
    assert read_jury(path).systems["exp-2 / b"] == "exp-2"


def test_values_are_labels_where_there_is_no_score(tmp_path, said):
    path = tmp_path / "feedback.jsonl"
    path.write_text('{"run_id": 1, "key": "tone", "score": null, "value": "warm"}\n' * 1)
    assert said(path, coding=("cold", "warm")) == {("1", "tone"): "warm"}


def test_scores_need_a_cut(refuse, tmp_path, said):
    line = '{"run_id": "Xylophon7", "key": "strict", "score": 0.7}'
    told = refuse(line)
    assert "scores on a scale, seen from 0.7 to 0.7" in told
    assert told.endswith("pass cut=0.5")
    path = tmp_path / "feedback.jsonl"
    path.write_text(line)
    assert list(said(path, cut=0.5).values()) == ["pass"]
    assert "it has no 'key'" in refuse('{"run_id": 1, "key": null, "score": 1}')
    assert "found an object" in refuse('{"run_id": 1, "key": "a", "score": {"Xylophon7": 1}}')


def test_answers_to_one_example_and_corrections_and_failures(logs):
    with pytest.warns(VotesWarning, match="the evaluator failed"):
        jury = read_jury(logs / "langsmith-feedback-0.14.jsonl")
    experiments = [f"00000000-0000-0000-0000-0000000000{x}" for x in ("0a", "14")]
    assert jury.items.tolist() == [f"{x} / ex-1" for x in experiments]
    assert len(set(jury.questions.values())) == 1
    assert jury.gold == {f"{experiments[0]} / ex-1": "fail"}


def test_preference_groups_are_preferences(logs):
    found = read_preferences(logs / "langsmith-pairwise-0.14.jsonl")
    assert len(found.systems) == 2
    assert found.winner.tolist() == [0, 1]
