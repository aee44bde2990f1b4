from unelisa.jury import read_jury


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
    assert "scores other than 0 and 1" in told
    assert "judge 'strict'" in told
    assert told.endswith("pass cut=0.5")
    path = tmp_path / "feedback.jsonl"
    path.write_text(line)
    assert list(said(path, cut=0.5).values()) == ["pass"]
    assert "it has no 'key'" in refuse('{"run_id": 1, "key": null, "score": 1}')
    assert "found an object" in refuse('{"run_id": 1, "key": "a", "score": {"Xylophon7": 1}}')
